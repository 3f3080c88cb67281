"""Where the limits could lie: how near the nearest pages of a log were, and what labels say."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from scrapy_simdedup.logs.export import decisions
from scrapy_simdedup.logs.labels import Labels, Score, Untunable, cases, score
from scrapy_simdedup.logs.measures import (
    CONTAINMENT,
    COPIES,
    DISTANCE,
    ENOUGH,
    RESEMBLANCE,
    Bins,
    InForce,
    Measure,
    Row,
    gap_between,
    limits_in_force,
    widest,
)
from scrapy_simdedup.logs.tally import MEASURES, Tally, judged

_BAR = 24


def tune(
    connection: sqlite3.Connection,
    run: int | None,
    labels: Labels | None,
    passed: Callable[[int], object] | None = None,
) -> Iterator[str]:
    """Return the report on a log, or on one run of it, line by line.

    ``passed`` is told how much of the log lies behind. Raises NoSuchRun, and Untunable where no
    labelled page is in the log.
    """
    in_force = limits_in_force(connection, run)
    deciding = in_force.deciding
    tally = Tally(deciding[0])
    rows = tally.counting(judged(decisions(connection, run=run, passed=passed)))
    # Labels are asked of each page; the rest only needs adding up.
    held = [row for row in rows if labels is not None]
    yield f"{tally.decisions:,} decisions, {tally.without:,} of them without a candidate"
    if tally.decisions > tally.without:
        yield "how near the nearest kept page was, for pages that were kept and for duplicates:"
    yield ""
    for measure in MEASURES:
        yield from _histogram(measure, tally.bins(measure), in_force.of(measure))
        if measure is DISTANCE and DISTANCE not in deciding:
            yield "the distance only proposes pages: resemblance and containment decide"
        yield ""
    yield from _nearest(deciding[0], tally.nearest())
    if labels is None:
        yield from _by_gap(deciding[0], tally.bins(deciding[0]))
    else:
        yield from _by_labels(held, labels, in_force)


def _nearest(measure: Measure, rows: Sequence[Row]) -> Iterator[str]:
    if not rows:
        return
    yield f"nearest to the limit, by {measure.column} (scrapy simdedup explain A B tells more):"
    for row in rows:
        units = measure.of(row)
        assert units is not None
        status = "duplicate" if row["status"] in COPIES else "kept"
        yield f"{measure.shown(units):<7}{status:<10} A {row['nearest']}"
        yield f"{'':17} B {row['url']}"
    yield ""


def _histogram(measure: Measure, bins: Bins, limits: Sequence[int]) -> Iterator[str]:
    highest = max(*bins.kept, *bins.copies, 1)
    marks = {measure.bin_of(limit): measure.shown(limit) for limit in limits}
    counts = list(zip(bins.kept, bins.copies, strict=True))
    if not measure.rising:
        # Far from any page there is nothing to see.
        last = max((place for place, both in enumerate(counts) if any(both)), default=0)
        counts = counts[: max(last, *marks, 0) + 2]
    yield f"nearest {measure.column:<13}{'kept':<{_BAR + 9}}duplicates"
    for place, both in enumerate(counts):
        bars = (f"{count:7,} {_bar(count, highest):<{_BAR}}" for count in both)
        mark = f"<- {measure.setting} {marks[place]}" if place in marks else ""
        yield f"{_bin_name(measure, place):<13} {' '.join(bars)} {mark}"


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


def _by_labels(rows: Sequence[Row], labels: Labels, in_force: InForce) -> Iterator[str]:
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
    measure = max(in_force.deciding, key=lambda each: max(got.f1 for got in scores[each]))
    best = max(got.f1 for got in scores[measure])
    if whole.f1 > best:
        yield "keep the current limits: together they do better than any limit by itself"
        return
    run = widest([got.f1 == best for got in scores[measure]])
    middle = (measure.grid[run.start] + measure.grid[run.stop - 1]) / 2
    yield f"{measure.setting} = {measure.shown(middle)}"
