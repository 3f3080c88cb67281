"""Looking rows up in the ``bands`` table, as a plan says."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from scrapy_simdedup.index.bands import Plan, Row, Rows, Scan
from scrapy_simdedup.index.pages import SIGN, SPACE_BANDS
from scrapy_simdedup.index.records import Signature
from scrapy_simdedup.index.scan import Column

# One range at a time: a statement for all of them would need a subquery for each limit, which
# costs more than it spares.
_RANGE = "SELECT key, page FROM bands WHERE band = ? AND key BETWEEN ? AND ? LIMIT ?"


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
            rows, crowded = self._ranges(base, plan)
            if not crowded or not plan.otherwise:
                self.full_keys += crowded
                return rows
            plan = plan.otherwise()
        return self._scan(space, first_band, plan)

    def _ranges(self, base: int, plan: Plan) -> tuple[list[Row], int]:
        """Return the rows of a plan's ranges, and how many more of these are crowded.

        Where there is another plan, the first crowded range is the last one that is read.
        """
        execute, most, scan = self._connection.execute, plan.most_rows, plan.scan
        turned = scan.turned() if scan else []
        rows: list[Row] = []
        crowded = 0
        for band, low, high in plan.ranges:
            got = execute(_RANGE, (base + band, low - SIGN, high - SIGN, most + 1)).fetchall()
            if len(got) > most:
                crowded += 1
                if plan.otherwise:
                    break
            elif scan is None:
                rows += [(band, key + SIGN, page) for key, page in got]
            else:
                # Most rows of a wide range are far away.
                wanted, limit = turned[band] - SIGN, scan.limit
                if (wanted ^ (low - SIGN)) < 0:
                    # All of them differ in the highest bit, which is a sign here; the bits of a
                    # negative number could not be counted.
                    wanted ^= -SIGN
                    limit -= 1
                rows += [
                    (band, key + SIGN, page)
                    for key, page in got
                    if (key ^ wanted).bit_count() <= limit
                ]
        return rows, crowded

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
