"""Decisions over time: run by run, and within a run."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from scrapy_simdedup.logs.measures import COPIES
from scrapy_simdedup.report.counts import Run
from scrapy_simdedup.report.words import read_time

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400

#: Round lengths of time, in seconds, such as a bar may stand for.
WIDTHS = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30),
    *(n * _MINUTE for n in (1, 2, 5, 10, 15, 30)),
    *(n * _HOUR for n in (1, 2, 3, 6, 12)),
    *(n * _DAY for n in (1, 2, 7, 14, 28, 91, 182, 364)),
)
_MOST_BARS = 48

KEPT = ("unique", "revisit")


@dataclass(frozen=True)
class Slice:
    """What was decided in a run, or in a part of one: ``start`` is its number, or in seconds."""

    start: float
    kept: int
    copies: int
    other: int


@dataclass(frozen=True)
class Course:
    """A run in slices of ``width`` seconds."""

    run: int
    width: float
    slices: list[Slice]


def by_run(runs: Sequence[Run], most: int) -> list[Slice]:
    """Return the newest runs that decided anything, the oldest first."""
    told = [run for run in runs if run.tally.total][:most]
    return [_slice(run.id, run.tally.counts) for run in reversed(told)]


def course(connection: sqlite3.Connection, run: int) -> Course | None:
    """Return how a run went; None where all was decided at one time, or at none."""
    first, last = connection.execute(
        "SELECT min(time), max(time) FROM chosen WHERE run = ?", (run,)
    ).fetchone()
    begin, end = read_time(first), read_time(last)
    if not begin or not end or begin == end:
        return None
    seconds = (end - begin).total_seconds()
    width = next((each for each in WIDTHS if seconds / each < _MOST_BARS), seconds / _MOST_BARS)
    counts = [Counter[str]() for _ in range(int(seconds / width) + 1)]
    for place, status, number in connection.execute(
        "SELECT CAST((julianday(time) - julianday(?)) * 86400 / ? AS INTEGER), status, count(*)"
        " FROM chosen WHERE run = ? GROUP BY 1, 2",
        (first, width, run),
    ):
        if place is not None:
            counts[max(0, min(place, len(counts) - 1))][status] += number
    return Course(run, width, [_slice(at * width, each) for at, each in enumerate(counts)])


def _slice(start: float, counts: Counter[str]) -> Slice:
    kept = sum(counts[status] for status in KEPT)
    copies = sum(counts[status] for status in COPIES)
    known = kept + copies + counts["unchanged"]
    return Slice(start, kept, copies, sum(counts.values()) - known)
