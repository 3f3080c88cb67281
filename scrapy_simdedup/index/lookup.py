"""Looking rows up in the ``bands`` table, as a plan says, in one statement for many ranges."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable
from functools import lru_cache

from scrapy_simdedup.index.bands import Plan, Row, Rows, Scan
from scrapy_simdedup.index.pages import SIGN, SPACE_BANDS
from scrapy_simdedup.index.records import Signature
from scrapy_simdedup.index.scan import Column

# Ranges in one statement: SQLite takes up to 500 parts of a compound.
_MOST_PARTS = 64


_ALL_BITS = (1 << 64) - 1


@lru_cache(maxsize=256)
def _statement(parts: int, most: int) -> str:
    return " UNION ALL ".join(
        f"SELECT * FROM (SELECT {part}, key, page FROM bands"  # noqa: S608  (numbers of ours)
        f" WHERE band = ? AND key BETWEEN ? AND ? LIMIT {most})"
        for part in range(parts)
    )


class Lookup:
    """Finds rows; counts in ``full_keys`` the ranges that were left out for being crowded."""

    def __init__(
        self, connection: sqlite3.Connection, rows_of: Callable[[Signature], Rows]
    ) -> None:
        self._connection = connection
        self._rows_of = rows_of
        self._columns: dict[int, Column] = {}
        self.full_keys = 0

    def find(self, space: int, first_band: int, plan: Plan | Scan) -> list[Row]:
        """Return the rows that a method's plan asks for, in the method's own band numbers."""
        base = space * SPACE_BANDS + first_band
        while isinstance(plan, Plan):
            rows: list[Row] = []
            crowded = 0
            for start in range(0, len(plan.ranges), _MOST_PARTS):
                found, full = self._ranges(base, plan, start)
                rows += found
                crowded += full
                if crowded and plan.otherwise:
                    break
            if not crowded or not plan.otherwise:
                self.full_keys += crowded
                return rows
            plan = plan.otherwise()
        return self._scan(space, first_band, plan)

    def _ranges(self, base: int, plan: Plan, start: int) -> tuple[list[Row], int]:
        """Return the rows of some ranges, and how many more of these are crowded."""
        most, scan = plan.most_rows, plan.scan
        ranges = plan.ranges[start : start + _MOST_PARTS]
        values = [
            value for band, low, high in ranges for value in (base + band, low - SIGN, high - SIGN)
        ]
        got = self._connection.execute(_statement(len(ranges), most + 1), values).fetchall()
        full: set[int] = set()
        if len(got) > most:
            counts = Counter(part for part, _, _ in got)
            full = {part for part, count in counts.items() if count > most}
        if scan is not None:
            # Most rows of a wide range are far away.
            turned, limit = scan.turned(), scan.limit
            wanted = [turned[band] - SIGN for band, _, _ in ranges]
            got = [
                (part, key, page)
                for part, key, page in got
                if ((key ^ wanted[part]) & _ALL_BITS).bit_count() <= limit
            ]
        rows = [(ranges[part][0], key + SIGN, page) for part, key, page in got if part not in full]
        return rows, len(full)

    def _scan(self, space: int, first_band: int, scan: Scan) -> list[Row]:
        band = first_band + scan.band
        number = space * SPACE_BANDS + band
        if number not in self._columns:

            def key_of(signature: Signature) -> int:
                return next(key for at, key in self._rows_of(signature) if at == band)

            self._columns[number] = Column(self._connection, space, number, key_of)
        found = self._columns[number].near(scan.key, scan.limit)
        return [(scan.band, key, page) for key, page in found]

    def forget(self) -> None:
        """Forget what was read of pages that are rolled back now: their numbers are given anew."""
        self._columns.clear()
