"""What a reader wants to know first: whether the limit is right, and what is worth a look."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from scrapy_simdedup.crawl.alarms import ENOUGH_PAGES, MANY_COPIES, MOST
from scrapy_simdedup.logs.measures import ENOUGH, InForce, gap_between
from scrapy_simdedup.report.close import CloseCalls
from scrapy_simdedup.report.clusters import Cluster
from scrapy_simdedup.report.counts import Reason, Run, Tally
from scrapy_simdedup.report.log import host_of
from scrapy_simdedup.report.nearness import Histogram
from scrapy_simdedup.report.words import form, number, plural, share, visible

# From this share on it is worth to know why so much was not judged.
_MANY_SKIPPED = 0.25


@dataclass(frozen=True)
class Answer:
    """Whether the limit is right: in a few words, and why."""

    state: Literal["good", "look", "unsure"]
    title: str
    text: str


@dataclass(frozen=True)
class Hint:
    """Something to look at, the section that shows it, and the decisions to filter for."""

    text: str
    section: str
    label: str = ""


def limit_right(histogram: Histogram, calls: CloseCalls, in_force: InForce) -> Answer:
    """Say whether the limit that decides lies where it should, as far as a log can tell."""
    bins, total = histogram.bins, histogram.bins.total
    if not histogram.decides or not histogram.limits:
        why = "The chosen methods compare sentences or keywords, which the log does not measure."
        return Answer("unsure", "The log cannot tell", why)
    if not total:
        why = "No page came near enough to another one to be compared with it."
        return Answer("unsure", "Nothing to tell by yet", why)
    outside, inside = calls.outside, calls.inside
    close = _close(outside, inside)
    if total < ENOUGH:
        why = f"Only {plural(total, 'page')} had another one to be compared with. {close}"
        return Answer("unsure", "Few to tell by", why)
    if not sum(bins.kept):
        why = f"No page that was kept came near another one. {close}"
        return Answer("look" if inside else "good", "Copies stand apart", why)
    if not sum(bins.copies):
        why = f"There was no copy. {close}"
        return Answer("look" if outside else "good", "No copies found", why)
    return _by_gap(histogram, close, in_force)


def _by_gap(histogram: Histogram, close: str, in_force: InForce) -> Answer:
    measure, limits = histogram.measure, histogram.limits
    gap = gap_between(measure, histogram.bins)
    if gap is None:
        why = f"Kept pages and copies are not clearly apart. {close}"
        return Answer("look", "There is no clear gap", why)
    what = _gap_in_words(histogram, gap)
    shown = ", ".join(measure.shown(limit) for limit in limits)
    # Bits up to the limit are near, shares from the limit on.
    if all(gap.start <= limit + (not measure.rising) <= gap.stop for limit in limits):
        why = f"{what}, and there is the limit, {shown}. {close}"
        return Answer("good", "The limit lies in the gap", why)
    why = f"{what}, but the limit, {shown}, is elsewhere."
    # The limits of ``classic`` are its own.
    if len(limits) == 1 and (measure.rising or "simhash" in in_force.methods):
        why += f" Try {measure.setting} = {measure.shown((gap.start + gap.stop) / 2)}."
    return Answer("look", "The limit may be off", why)


def _gap_in_words(histogram: Histogram, gap: range) -> str:
    measure, bins = histogram.measure, histogram.bins
    places = range(measure.bin_of(gap.start), measure.bin_of(gap.stop - 1) + 1)
    there = sum(bins.kept[place] + bins.copies[place] for place in places)
    pages = f"only {plural(there, 'page')}" if there else "no page"
    verb = "lie" if there > 1 else "lies"
    if measure.rising:
        ends = f"a {measure.column} of {measure.shown(gap.start)} and {measure.shown(gap.stop)}"
    else:
        ends = f"{gap.start - 1} and {gap.stop} bits"
    return f"Between {ends} {verb} {pages}"


def _close(outside: int, inside: int) -> str:
    if not outside and not inside:
        return "Nothing lies close to the limits."
    return (
        f"Close to the limits {form(outside + inside, 'is')} {number(outside)} kept and"
        f" {plural(inside, 'copy')}."
    )


def hints(
    tally: Tally,
    runs: Sequence[Run],
    clusters: Sequence[Cluster],
    reasons: Sequence[Reason],
    calls: CloseCalls,
) -> Iterator[Hint]:
    """Return what is worth a look, the most pressing first."""
    counts = tally.counts
    if orphaned := counts["orphaned"]:
        yield Hint(
            f"{plural(orphaned, 'page')} to crawl again: the originals were not stored", "orphans"
        )
    if errors := counts["error"]:
        yield Hint(f"{plural(errors, 'error')}, passed on unjudged", "reasons")
    died = sum(run.status == "died" for run in runs)
    if died:
        yield Hint(f"{plural(died, 'run')} died; what was open was released", "runs")
    if clusters and clusters[0].size >= MANY_COPIES:
        first = clusters[0]
        host = host_of(first.original)
        whose = f"{first.kind} of {visible(host)}" if host else first.kind
        yield Hint(
            f"{number(first.size)} copies of one {whose}: a login wall, a notice, a template?",
            "clusters",
        )
    if tally.judged >= ENOUGH_PAGES and tally.copies > MOST * tally.judged:
        yield Hint(
            f"{share(tally.copies, tally.judged)} of what was judged were copies", "nearness"
        )
    if calls.outside:
        yield Hint(f"{plural(calls.outside, 'page')} kept just outside the limits", "close", "kept")
    if calls.inside:
        yield Hint(f"{plural(calls.inside, 'copy')} just inside the limits", "close", "copies")
    doubtful = sum(each.count for each in reasons if each.status == "duplicate")
    if doubtful:
        yield Hint(
            f"{plural(doubtful, 'copy')} whose text may be the wrong one; tagged, never dropped",
            "reasons",
        )
    if counts["skipped"] > _MANY_SKIPPED * tally.total:
        why = next(each.reason for each in reasons if each.status == "skipped")
        yield Hint(
            f"{share(counts['skipped'], tally.total)} skipped, most of them as {why}", "reasons"
        )
