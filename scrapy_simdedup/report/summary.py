"""The first lines of a report: what happened, in sentences and in a few numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from scrapy_simdedup.config import Config
from scrapy_simdedup.report.counts import Run, Tally
from scrapy_simdedup.report.data import Report
from scrapy_simdedup.report.meanings import VERDICTS
from scrapy_simdedup.report.words import day, duration, form, moment, number, plural, share, visible

_DONE = {
    "tag": "Nothing was dropped: copies were only tagged.",
    "drop-items": "Copies lost their items; their links were followed.",
    "drop": "Copies were dropped, and their links with them.",
}
_DONE_TO_ITEMS = {"drop": "Items that are copies were dropped.", "tag": "No item was dropped."}


@dataclass(frozen=True)
class Verdict:
    """A line of the table of verdicts; ``x`` and ``width`` are its part of the bar, in percent."""

    status: str
    label: str
    meaning: str
    count: str
    share: str
    x: float
    width: float


def headline(kind: str, tally: Tally) -> str:
    """Say how many were copies: ``212 of 600 pages were copies``."""
    if not tally.judged:
        return f"No {kind} was judged"
    if not tally.copies:
        return (
            f"None of {plural(tally.judged, kind)} was a copy"
            if tally.judged > 1
            else (f"The only {kind} was no copy")
        )
    verb = form(tally.copies, "was")
    what = "a copy" if tally.copies == 1 else "copies"
    return f"{number(tally.copies)} of {plural(tally.judged, kind)} {verb} {what}"


def verdicts(tally: Tally) -> list[Verdict]:
    """Return the verdicts that occur, as lines of a table and parts of a bar."""
    found = []
    x = 0.0
    for status, (label, meaning) in VERDICTS.items():
        count = tally.counts[status]
        if count:
            width = 100 * count / tally.total
            told = share(count, tally.total)
            found.append(Verdict(status, label, meaning, number(count), told, x, width))
            x += width
    return found


def lead(report: Report) -> Iterator[str]:
    """Return sentences on whose decisions these are, and what came of them."""
    yield _whose(report)
    skipped = report.tally.counts["skipped"]
    if skipped:
        more = " more" if report.tally.judged else ""
        yield f"{number(skipped)}{more} {form(skipped, 'was')} skipped."
    if len(report.kinds) > 1:
        rest = list(report.kinds.items())[1:]
        yield from (f"{headline(kind, tally)}." for kind, tally in rest)
    if report.tally.copies:
        yield from _done(report)


def _whose(report: Report) -> str:
    runs = report.runs
    if not runs:
        return ""
    newest = runs[0]
    if len(runs) > 1:
        spiders = len(report.spiders)
        whose = f" of {spiders} spiders" if spiders > 1 else _of(newest)
        first, last = day(runs[-1].started), day(newest.started)
        when = f"on {last}" if first == last else f"from {first} to {last}"
        return f"{plural(len(runs), 'run')}{whose}, {when}; a page counts in each that met it."
    took = f", {duration(newest.took)} long" if newest.took is not None else ""
    return f"Run {newest.id}{_of(newest)}, {moment(newest.started)}{took}."


def _of(run: Run) -> str:
    return f" of {visible(run.spider)}" if run.spider else ""


def _done(report: Report) -> Iterator[str]:
    for kind, name, default, told in (
        ("page", "SIMDEDUP_ACTION", Config().action, _DONE),
        ("item", "SIMDEDUP_ITEM_ACTION", Config().item_action, _DONE_TO_ITEMS),
    ):
        if kind not in report.kinds or not report.kinds[kind].copies:
            continue
        actions = {str(run.settings.get(name, default)) for run in report.runs}
        if len(actions) == 1:
            yield told.get(actions.pop(), "")
        elif actions:
            yield f"What was done to copies changed from run to run ({name})."


def settings_of(run: Run) -> list[tuple[str, str]]:
    """Return the settings of a run that were not the defaults, as they are written."""
    return [
        (visible(name), visible(json.dumps(value, ensure_ascii=False)))
        for name, value in sorted(run.settings.items())
    ]


def versions_of(run: Run) -> str:
    """Return the packages that shaped a run's texts, with their versions."""
    return ", ".join(f"{visible(str(name))} {visible(str(v))}" for name, v in run.versions.items())
