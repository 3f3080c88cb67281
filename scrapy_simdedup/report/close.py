"""The decisions that lie next to the limits: pages kept just outside, copies just inside."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from scrapy_simdedup.logs.measures import COPIES, DISTANCE, InForce, recorded

_COLUMNS = (
    *("id", "run", "kind", "url", "status", "nearest", "original_page", "distance"),
    *("max_distance", "resemblance", "containment", "method", "text"),
)


@dataclass(frozen=True)
class Call:
    """A decision next to the limits, as a row of the log, and how it stands to them."""

    row: dict[str, Any]
    copy: bool
    why: str


@dataclass(frozen=True)
class CloseCalls:
    """Kept pages and then copies, the closest first.

    ``outside`` and ``inside`` count all those that a small change of the limits would turn.
    """

    calls: list[Call]
    outside: int
    inside: int


@dataclass(frozen=True)
class _Side:
    """One side of the limits: which decisions, how far off is told, and how far is close."""

    copy: bool
    chosen: str
    told: float
    close: float


def close_calls(connection: sqlite3.Connection, most: int) -> CloseCalls:
    """Return what lies next to the limits, at most ``most`` kept pages and as many copies.

    Each run has its own limits.
    """
    rows = connection.execute(
        "SELECT DISTINCT c.run, r.settings FROM chosen c LEFT JOIN runs r ON r.id = c.run"
    )
    runs: defaultdict[InForce, list[int]] = defaultdict(list)
    for run, settings in rows.fetchall():
        runs[recorded(settings)].append(run)
    found: tuple[list[Call], list[Call]] = ([], [])
    counts = [0, 0]
    for in_force, numbers in runs.items():
        for side in _sides(in_force):
            judged = _judged(in_force, side, numbers)
            found[side.copy].extend(_calls(connection, in_force, side, judged, most))
            counts[side.copy] += connection.execute(
                "SELECT count(*) FROM"  # noqa: S608  (names of ours)
                f" (SELECT DISTINCT url, nearest, kind FROM ({judged}) WHERE off <= ?)",
                (side.close,),
            ).fetchone()[0]
    kept, copies = (sorted(calls, key=lambda call: call.row["off"]) for calls in found)
    return CloseCalls([*kept[:most], *copies[:most]], *counts)


def _by_bits(in_force: InForce) -> bool:
    return in_force.deciding[0].column == DISTANCE.column


def _sides(in_force: InForce) -> tuple[_Side, ...]:
    """Return both sides of the limits; none where the log does not tell of them."""
    if not in_force.measured:
        return ()
    kept = "status IN ('unique', 'revisit') AND nearest IS NOT NULL"
    copies = f"status IN {COPIES} AND method IN ('simhash', '{{}}')"
    if _by_bits(in_force):
        return _Side(False, kept, 5.5, 1.5), _Side(True, copies.format("classic"), 1.5, 0.5)
    return _Side(False, kept, 0.5, 0.2), _Side(True, copies.format("sketch"), 0.5, 0.2)


def _off(in_force: InForce) -> str:
    """Return how to reckon in SQL how far off its limits a decision is, on either side.

    In bits; or in shares of a limit, by the measure that is worse off.
    """
    if _by_bits(in_force):
        # The border is between two numbers.
        return "abs(distance - max_distance - 0.5)"
    shares = [f"{name} / {limit!r}" for name, limit in _asked(in_force)]
    worse = f"min({', '.join(shares)})" if len(shares) > 1 else shares[0]
    return f"abs({worse} - 1)"


def _asked(in_force: InForce) -> list[tuple[str, float]]:
    limits = in_force.limits
    pairs = [("resemblance", limits.resemblance), ("containment", limits.containment)]
    return [(name, limit) for name, limit in pairs if limit]


def _judged(in_force: InForce, side: _Side, runs: list[int]) -> str:
    numbers = ", ".join(f"{run:d}" for run in runs)
    return (
        f"SELECT {', '.join(_COLUMNS)}, {_off(in_force)} AS off FROM chosen"  # noqa: S608
        f" WHERE run IN ({numbers}) AND {side.chosen}"
    )


def _calls(
    connection: sqlite3.Connection, in_force: InForce, side: _Side, judged: str, most: int
) -> Iterator[Call]:
    """Return the closest decisions of a side, each page once."""
    rows = connection.execute(
        # Of several rows of a page the newest.
        f"SELECT {', '.join(_COLUMNS)}, off, max(id) FROM ({judged})"  # noqa: S608
        " WHERE off <= ? GROUP BY url, nearest, kind ORDER BY off, id DESC LIMIT ?",
        (side.told, most),
    )
    for values in rows:
        row = dict(zip((*_COLUMNS, "off"), values, strict=False))
        yield Call(row, side.copy, _why(row, in_force, copy=side.copy))


def _why(row: dict[str, Any], in_force: InForce, *, copy: bool) -> str:
    """Return which limit a page just met, or missed, in a few words."""
    if _by_bits(in_force):
        return f"{row['distance']} bits, {row['max_distance']} allowed"
    share, name, limit = min((row[name] / limit, name, limit) for name, limit in _asked(in_force))
    if not copy and share >= 1:
        return "alike enough, but with too many parts, numbers or names of its own"
    return f"{name} {row[name]:.4g}, at least {limit:g} asked"
