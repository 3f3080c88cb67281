"""Where the limits could lie: how near the nearest pages of a log were, and what labels say."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from functools import partial

from scrapy_simdedup.logs.export import decisions
from scrapy_simdedup.logs.labels import Labels, Score, Untunable, cases, score
from scrapy_simdedup.logs.measures import (
    CONTAINMENT,
    COPIES,
    DISTANCE,
    ENOUGH,
    JUDGED,
    RESEMBLANCE,
    Bins,
    InForce,
    Measure,
    Row,
    count_in_bins,
    gap_between,
    limits_in_force,
    widest,
)

_BAR = 24


def tune(connection: sqlite3.Connection, run: int | None, labels: Labels | None) -> Iterator[str]:
    """Return the report on a log, or on one run of it, line by line.

    Raises NoSuchRun, and Untunable where no labelled page is in the log.
    """
    in_force = limits_in_force(connection, run)
    deciding = in_force.deciding or (RESEMBLANCE, CONTAINMENT)
    rows = [row for row in decisions(connection, run=run) if row["status"] in JUDGED]
    # Two addresses that led to one page: no limit was asked.
    rows = [row for row in rows if row["method"] != "same-page"]
    without = sum(row["resemblance"] is None for row in rows)
    for measure in (RESEMBLANCE, DISTANCE):
        yield from _histogram(measure, _counts(measure, rows), in_force.of(measure))
        yield ""
    yield f"{len(rows)} decisions, {without} of them without a candidate"
    yield ""
    if labels is None:
        yield from _by_gap(deciding[0], _counts(deciding[0], rows))
    else:
        yield from _by_labels(deciding, rows, labels, in_force)


def _histogram(measure: Measure, bins: Bins, limits: Sequence[int]) -> Iterator[str]:
    highest = max(*bins.kept, *bins.copies, 1)
    marks = {measure.bin_of(limit): measure.shown(limit) for limit in limits}
    yield f"nearest {measure.column:<13}{'kept':<{_BAR + 9}}duplicates"
    for place, counts in enumerate(zip(bins.kept, bins.copies, strict=True)):
        bars = (f"{count:7} {_bar(count, highest):<{_BAR}}" for count in counts)
        mark = f"<- {measure.setting} {marks[place]}" if place in marks else ""
        yield f"{_bin_name(measure, place):<13} {' '.join(bars)} {mark}"


def _counts(measure: Measure, rows: Sequence[Row]) -> Bins:
    values = ((measure.of(row), row["status"] in COPIES) for row in rows)
    return count_in_bins(measure, ((units, copy, 1) for units, copy in values if units is not None))


def _bar(count: int, highest: int) -> str:
    return "#" * (max(1, round(_BAR * count / highest)) if count else 0)


def _bin_name(measure: Measure, place: int) -> str:
    low = place * measure.width
    if measure.scale > 1:
        return f"{low / measure.scale:.2f} - {(low + measure.width) / measure.scale:.2f}"
    high = min(low + measure.width - 1, 64)
    return f"{low} - {high}" if high > low else str(low)


def _by_gap(measure: Measure, bins: Bins) -> Iterator[str]:
    """Suggest the middle of the emptiest gap between kept pages and duplicates."""
    if bins.total < ENOUGH:
        yield f"keep the current limits: fewer than {ENOUGH} decisions had a candidate"
        return
    gap = gap_between(measure, bins)
    if gap is None:
        yield "keep the current limits: there is no gap between kept pages and duplicates"
        return
    yield f"the emptiest gap is {measure.shown(gap.start)} to {measure.shown(gap.stop)}"
    yield f"{measure.setting} = {measure.shown((gap.start + gap.stop) / 2)}"


def _by_labels(
    deciding: Sequence[Measure], rows: Sequence[Row], labels: Labels, in_force: InForce
) -> Iterator[str]:
    """Score each limit against the labels, and suggest the best of a measure that decides.

    The limits that judged work together: where they did better than any limit does by itself,
    they are to be kept.
    """
    judged = cases(rows, labels)
    listed = {url for pair in labels.pairs for url in pair}
    if not any(case.row["url"] in listed for case in judged):
        raise Untunable("none of the labelled pages is in the log of decisions")
    wanted = sum(case.wanted for case in judged)
    whole = score(judged, lambda row: row["status"] in COPIES)
    yield f"{wanted} pages copy a kept page by the labels"
    yield (
        f"as judged: recall {whole.recall:.3f}, precision {whole.precision:.3f}, F1 {whole.f1:.3f}"
    )
    yield "each limit by itself:"
    scores: dict[Measure, list[Score]] = {}
    for measure in (RESEMBLANCE, CONTAINMENT, DISTANCE):
        scores[measure] = [
            score(judged, partial(measure.near, limit=limit)) for limit in measure.grid
        ]
        yield ""
        yield f"{measure.column:<12} {'recall':>7} {'precision':>10} {'F1':>7}"
        for limit, got in zip(measure.grid, scores[measure], strict=True):
            mark = "<- current" if limit in in_force.of(measure) else ""
            yield (
                f"{measure.shown(limit):<12} {got.recall:7.3f} {got.precision:10.3f}"
                f" {got.f1:7.3f} {mark}"
            )
    yield ""
    if not wanted:
        yield "keep the current limits: no page of the log copies another one by the labels"
        return
    # Of equally good measures the first.
    measure = max(deciding, key=lambda each: max(got.f1 for got in scores[each]))
    best = max(got.f1 for got in scores[measure])
    if whole.f1 > best:
        yield "keep the current limits: together they do better than any limit by itself"
        return
    run = widest([got.f1 == best for got in scores[measure]])
    middle = (measure.grid[run.start] + measure.grid[run.stop - 1]) / 2
    yield f"{measure.setting} = {measure.shown(middle)}"
