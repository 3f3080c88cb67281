"""Where the limits could lie: how near the nearest pages of a log were, and what labels say."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from scrapy_simdedup.config import Config
from scrapy_simdedup.logs.export import decisions
from scrapy_simdedup.logs.labels import Labels, Score, Untunable, cases, score

# Fewer decisions with a candidate say too little.
_ENOUGH = 50

# Between two heaps the lowest bins must hold at most this share of the smaller one's highest.
_LOW = 0.25

_BAR = 24
_JUDGED = ("unique", "duplicate", "revisit", "orphaned")
_COPIES = ("duplicate", "orphaned")

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Measure:
    """A column of the log, in whole units of which ``scale`` make one, and its setting.

    ``width`` and ``bins`` shape the histogram, ``grid`` holds the limits to score, all in
    units. ``rising`` tells that nearer pages measure more.
    """

    column: str
    setting: str
    scale: int
    width: int
    bins: int
    grid: Sequence[int]
    rising: bool = True

    def of(self, row: Row) -> int | None:
        """Return what a decision measured, in units; None where it had no candidate."""
        value = row[self.column]
        return None if value is None else round(value * self.scale)

    def near(self, row: Row, limit: int) -> bool:
        """Tell whether a decision's nearest page is within a limit."""
        value = self.of(row)
        return value is not None and (value >= limit if self.rising else value <= limit)

    def bin_of(self, units: int) -> int:
        """Return the bin of a value."""
        return min(units // self.width, self.bins - 1)

    def shown(self, units: float) -> str:
        """Return a value as it is written in a setting."""
        return f"{units / self.scale:g}" if self.scale > 1 else str(int(units))


_SHARES = range(1000, 9001, 500)
RESEMBLANCE = Measure("resemblance", "SIMDEDUP_MIN_RESEMBLANCE", 10_000, 500, 20, _SHARES)
CONTAINMENT = Measure("containment", "SIMDEDUP_MIN_CONTAINMENT", 10_000, 500, 20, _SHARES)
DISTANCE = Measure("distance", "SIMDEDUP_MAX_DISTANCE", 1, 2, 33, range(25), rising=False)


def tune(connection: sqlite3.Connection, run: int | None, labels: Labels | None) -> Iterator[str]:
    """Return the report on a log, or on one run of it, line by line.

    Raises Untunable where there is no such run, or no labelled page is in the log.
    """
    config, bits = _limits(connection, run)
    rows = [row for row in decisions(connection, run=run) if row["status"] in _JUDGED]
    # Two addresses that led to one page: no limit was asked.
    rows = [row for row in rows if row["method"] != "same-page"]
    without = sum(row["resemblance"] is None for row in rows)
    limits = {
        RESEMBLANCE: [round(config.min_resemblance * RESEMBLANCE.scale)],
        CONTAINMENT: [round(config.min_containment * CONTAINMENT.scale)],
        DISTANCE: bits,
    }
    for measure in (RESEMBLANCE, DISTANCE):
        yield from _histogram(measure, rows, limits[measure])
        yield ""
    yield f"{len(rows)} decisions, {without} of them without a candidate"
    yield ""
    # What decides: without verification it is the distance alone.
    deciding = (RESEMBLANCE, CONTAINMENT) if config.limits.verified else (DISTANCE,)
    if labels is None:
        yield from _by_gap(deciding[0], rows)
    else:
        yield from _by_labels(deciding, rows, labels, limits)


def _limits(connection: sqlite3.Connection, run: int | None) -> tuple[Config, list[int]]:
    """Return the limits of a run (of the newest that judged), and its bit limits as logged."""
    if run is None:
        run = connection.execute(
            "SELECT max(run) FROM decisions WHERE max_distance IS NOT NULL"
        ).fetchone()[0]
        if run is None:
            return Config(), []
    row = connection.execute("SELECT settings FROM runs WHERE id = ?", (run,)).fetchone()
    if row is None:
        raise Untunable(f"there is no run {run} in this index")
    settings = json.loads(row[0] or "{}")
    names = (RESEMBLANCE.setting, CONTAINMENT.setting)
    config = Config.from_settings({name: settings.get(name) for name in names})
    logged = connection.execute(
        "SELECT DISTINCT max_distance FROM decisions"
        " WHERE run = ? AND max_distance >= 0 ORDER BY 1",
        (run,),
    )
    return config, [bits for (bits,) in logged]


def _histogram(measure: Measure, rows: Sequence[Row], limits: Sequence[int]) -> Iterator[str]:
    kept, copies = _counts(measure, rows)
    highest = max(*kept, *copies, 1)
    marks = {measure.bin_of(limit): measure.shown(limit) for limit in limits}
    yield f"nearest {measure.column:<13}{'kept':<{_BAR + 9}}duplicates"
    for place in range(measure.bins):
        bars = (
            f"{count:7} {_bar(count, highest):<{_BAR}}" for count in (kept[place], copies[place])
        )
        mark = f"<- {measure.setting} {marks[place]}" if place in marks else ""
        yield f"{_bin_name(measure, place):<13} {' '.join(bars)} {mark}"


def _counts(measure: Measure, rows: Sequence[Row]) -> tuple[list[int], list[int]]:
    kept, copies = [0] * measure.bins, [0] * measure.bins
    for row in rows:
        units = measure.of(row)
        if units is not None:
            (copies if row["status"] in _COPIES else kept)[measure.bin_of(units)] += 1
    return kept, copies


def _bar(count: int, highest: int) -> str:
    return "#" * (max(1, round(_BAR * count / highest)) if count else 0)


def _bin_name(measure: Measure, place: int) -> str:
    low = place * measure.width
    if measure.scale > 1:
        return f"{low / measure.scale:.2f} - {(low + measure.width) / measure.scale:.2f}"
    high = min(low + measure.width - 1, 64)
    return f"{low} - {high}" if high > low else str(low)


def _by_gap(measure: Measure, rows: Sequence[Row]) -> Iterator[str]:
    """Suggest the middle of the emptiest gap between kept pages and duplicates."""
    kept, copies = _counts(measure, rows)
    if sum(kept) + sum(copies) < _ENOUGH:
        yield f"keep the current limits: fewer than {_ENOUGH} decisions had a candidate"
        return
    gap = emptiest(kept, copies) if measure.rising else emptiest(copies, kept)
    if gap is None:
        yield "keep the current limits: there is no gap between kept pages and duplicates"
        return
    middle = (gap.start + gap.stop) * measure.width / 2
    yield f"the emptiest gap is {measure.shown(gap.start * measure.width)} to " + measure.shown(
        gap.stop * measure.width
    )
    yield f"{measure.setting} = {measure.shown(middle)}"


def emptiest(left: Sequence[int], right: Sequence[int]) -> range | None:
    """Return the widest run of lowest bins between the modes of two histograms, or None.

    Of equal modes those count that are nearest to each other; there is no gap where the lowest
    bins are not low, or the modes are the wrong way round.
    """
    peaks = max(left), max(right)
    from_bin = max(place for place, count in enumerate(left) if count == peaks[0])
    to_bin = right.index(peaks[1])
    between = [one + other for one, other in zip(left, right, strict=True)][from_bin + 1 : to_bin]
    if not between or not all(peaks) or min(between) > _LOW * min(peaks):
        return None
    run = _widest([count == min(between) for count in between])
    return range(from_bin + 1 + run.start, from_bin + 1 + run.stop)


def _widest(chosen: Sequence[bool]) -> range:
    """Return the widest run of true places; of equal ones the first."""
    best, start = range(0), 0
    for place, yes in enumerate(chosen):
        if not yes:
            start = place + 1
        elif place + 1 - start > len(best):
            best = range(start, place + 1)
    return best


def _by_labels(
    deciding: Sequence[Measure],
    rows: Sequence[Row],
    labels: Labels,
    limits: Mapping[Measure, Sequence[int]],
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
    whole = score(judged, lambda row: row["status"] in _COPIES)
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
            mark = "<- current" if limit in limits[measure] else ""
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
    run = _widest([got.f1 == best for got in scores[measure]])
    middle = (measure.grid[run.start] + measure.grid[run.stop - 1]) / 2
    yield f"{measure.setting} = {measure.shown(middle)}"
