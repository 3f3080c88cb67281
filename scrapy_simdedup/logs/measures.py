"""What the log measures: how near the nearest page was, in bins, and the limits in force."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from scrapy_simdedup.config import Config
from scrapy_simdedup.exceptions import SimDedupError
from scrapy_simdedup.methods.base import Limits

# Fewer decisions with a candidate say too little.
ENOUGH = 50

#: What was held against limits, and which of it they called copies.
JUDGED = ("unique", "duplicate", "revisit", "orphaned")
COPIES = ("duplicate", "orphaned")

# Between two heaps the lowest bins must hold at most this share of the smaller one's highest.
_LOW = 0.25

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


class NoSuchRun(SimDedupError):
    """An index has no run of that number."""


@dataclass(frozen=True)
class InForce:
    """The limits and methods of a run; its bit limits as they were logged, smallest first."""

    limits: Limits
    methods: tuple[str, ...]
    bits: tuple[int, ...] = ()

    def of(self, measure: Measure) -> list[int]:
        """Return the limits on a measure, in units."""
        if measure.column == DISTANCE.column:
            return list(self.bits)
        limit = getattr(self.limits, measure.column)
        return [round(limit * measure.scale)]

    @property
    def deciding(self) -> tuple[Measure, ...]:
        """What decides: without verification it is the distance alone."""
        verified = self.limits.verified and self.methods != ("classic",)
        return (RESEMBLANCE, CONTAINMENT) if verified else (DISTANCE,)

    @property
    def measured(self) -> bool:
        """Whether the log measures what decides: segments and keywords are not in it."""
        return not {"simhash", "sketch", "classic"}.isdisjoint(self.methods)


def limits_in_force(connection: sqlite3.Connection, run: int | None) -> InForce:
    """Return the limits of a run, or of the newest that judged. Raises NoSuchRun."""
    asked = run
    if run is None:
        run = connection.execute(
            "SELECT max(run) FROM decisions WHERE max_distance IS NOT NULL"
        ).fetchone()[0]
    row = connection.execute("SELECT settings FROM runs WHERE id = ?", (run,)).fetchone()
    if row is None and asked is not None:
        raise NoSuchRun(f"there is no run {run} in this index")
    logged = connection.execute(
        "SELECT DISTINCT max_distance FROM decisions"
        " WHERE run = ? AND max_distance >= 0 ORDER BY 1",
        (run,),
    )
    return replace(recorded(row and row[0]), bits=tuple(bits for (bits,) in logged))


def recorded(settings: str | None) -> InForce:
    """Return the limits and methods of a run by the record of its settings, without bits."""
    given = read_object(settings)
    names = (RESEMBLANCE.setting, CONTAINMENT.setting, "SIMDEDUP_METHODS")
    config = Config.from_settings({name: given.get(name) for name in names})
    return InForce(config.limits, config.methods)


def read_object(written: str | None) -> dict[str, Any]:
    """Read what should be a JSON object; what is none is empty."""
    try:
        found = json.loads(written or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


@dataclass(frozen=True)
class Bins:
    """A histogram of a measure: how many kept pages and how many copies lie in each bin."""

    kept: list[int]
    copies: list[int]

    @property
    def total(self) -> int:
        """How many decisions had a candidate."""
        return sum(self.kept) + sum(self.copies)


def count_in_bins(measure: Measure, counts: Iterable[tuple[int, bool, int]]) -> Bins:
    """Count values into bins: each in units, whether it is a copy's, and how often it comes."""
    bins = Bins([0] * measure.bins, [0] * measure.bins)
    for units, copy, number in counts:
        (bins.copies if copy else bins.kept)[measure.bin_of(units)] += number
    return bins


def gap_between(measure: Measure, bins: Bins) -> range | None:
    """Return the emptiest gap between kept pages and copies, in units, or None."""
    low, high = (bins.kept, bins.copies) if measure.rising else (bins.copies, bins.kept)
    gap = emptiest(low, high)
    return gap and range(gap.start * measure.width, gap.stop * measure.width)


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
    run = widest([count == min(between) for count in between])
    return range(from_bin + 1 + run.start, from_bin + 1 + run.stop)


def widest(chosen: Sequence[bool]) -> range:
    """Return the widest run of true places; of equal ones the first."""
    best, start = range(0), 0
    for place, yes in enumerate(chosen):
        if not yes:
            start = place + 1
        elif place + 1 - start > len(best):
            best = range(start, place + 1)
    return best
