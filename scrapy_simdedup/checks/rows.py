"""The ``bands`` table against ``pages``: every page has all the rows it implies, and none more.

The table is ordered by key, so the rows of a page lie all over it. For each page a sum of hashes
is made of the rows that it implies, and the hashes of those that are stored are taken off it, in
one pass over either table. What does not come to zero is looked at row by row, in temporary
tables. So what is held in memory are 16 bytes for each page of a window.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scrapy_simdedup.checks.finding import Progress
from scrapy_simdedup.index.bands import Rows
from scrapy_simdedup.index.pages import SPACE_BANDS, implied_rows, unpack_identities
from scrapy_simdedup.index.records import Signature, unpack

Row = tuple[int, int, int]
_Ints = npt.NDArray[np.int64]
_Sums = npt.NDArray[np.uint64]

# Pages whose sums are held at a time, and pages and rows that are read at a time.
_WINDOW = 1 << 20
_PAGES = 1 << 12
_ROWS = 1 << 16

_END = (1 << 63) - 1

# What reading values raises that are not what they were.
_UNREADABLE = (ValueError, TypeError, LookupError, OverflowError, AttributeError)

_COLUMNS = "id, space, identities, body, signature, CAST(url AS BLOB)"

# One odd number for each column of a row.
_FACTORS = tuple(
    np.uint64(factor) for factor in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)
)


@dataclass
class RowsFound:
    """What was found wrong with the rows of pages, and with pages that cannot be read.

    ``missing`` rows are lacking to pages, ``surplus`` ones are stored without being implied,
    ``stray`` ones belong to pages that are gone, and ``hanging`` ones to unreadable pages.
    ``incomplete`` counts the pages to which rows are lacking or that have too many.
    """

    pages: int = 0
    rows: int = 0
    unreadable: int = 0
    first_unreadable: int | None = None
    incomplete: int = 0
    missing: int = 0
    surplus: int = 0
    stray: int = 0
    hanging: int = 0


class RowCheck:
    """Compares the rows of an index with its pages, and makes them agree if asked to.

    ``sizes`` are the lengths that parts of a signature must have.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        rows_of: Callable[[Signature], Rows],
        sizes: Mapping[str, int],
        progress: Progress,
    ) -> None:
        self._connection = connection
        self._execute = connection.execute
        self._rows_of = rows_of
        self._sizes = sizes
        self._progress = progress
        self._salt = np.uint64(secrets.randbits(64))
        self._found = RowsFound()

    def run(self) -> RowsFound:
        """Return what is wrong; the rows themselves are in temporary tables from then on."""
        for table in ("surplus", "missing"):
            self._execute(f"CREATE TEMP TABLE {table} (band, key, page)")
        self._execute("CREATE TEMP TABLE suspect (page PRIMARY KEY) WITHOUT ROWID")
        total = self._execute("SELECT count(*) FROM pages").fetchone()[0]
        after = -_END
        while after < _END:
            with self._progress("pages", total) as step:
                ids, sums = self._imply(after, step)
            last = int(ids[-1]) if len(ids) == _WINDOW else _END
            with self._progress("band rows", self._found.rows) as step:
                self._take_off(after, last, ids, sums, step)
            self._suspect(ids[sums != 0])
            after = last
        self._compare()
        return self._found

    def mend(self) -> None:
        """Take out the rows that should not be, and write those that are lacking."""
        rows = self._execute("SELECT band, key, page FROM temp.surplus")
        while some := rows.fetchmany(_ROWS):
            self._connection.executemany(
                "DELETE FROM bands WHERE band = ? AND key = ? AND page = ?", some
            )
        # In the order of the table, which is many times faster.
        self._execute(
            "INSERT INTO bands SELECT band, key, page FROM temp.missing ORDER BY band, key, page"
        )

    def _imply(self, after: int, step: Callable[[int], object]) -> tuple[_Ints, _Sums]:
        """Return the numbers of the pages of a window, and the sums of the rows they imply."""
        cursor = self._execute(
            f"SELECT {_COLUMNS} FROM pages WHERE id > ? ORDER BY id LIMIT ?",  # noqa: S608
            (after, _WINDOW),
        )
        ids: list[_Ints] = [np.empty(0, dtype=np.int64)]
        sums: list[_Sums] = [np.empty(0, dtype=np.uint64)]
        while some := cursor.fetchmany(_PAGES):
            rows: list[Row] = []
            ends = [0]
            for page in some:
                rows += self._read(page)
                ends.append(len(rows))
            ids.append(np.array([page[0] for page in some], dtype=np.int64))
            whole = np.zeros(len(rows) + 1, dtype=np.uint64)
            self._hashes(rows).cumsum(out=whole[1:])
            sums.append(np.diff(whole[ends]))
            self._found.pages += len(some)
            self._found.rows += len(rows)
            step(len(some))
        return np.concatenate(ids), np.concatenate(sums)

    def _read(self, page: tuple[Any, ...]) -> set[Row]:
        try:
            return self._implied(page)
        except _UNREADABLE:
            self._found.unreadable += 1
            self._found.first_unreadable = self._found.first_unreadable or page[0]
            return set()

    def _implied(self, page: tuple[Any, ...]) -> set[Row]:
        """Return the rows that a page implies. Raises what reading damaged values does."""
        number, space, identities, body, signature, url = page
        url.decode()
        parts = unpack(signature)
        if any(len(parts[name]) != size for name, size in self._sizes.items()):
            raise ValueError("a part has another length")
        if not 0 <= space <= _END // SPACE_BANDS - 1:
            raise ValueError("there is no such space")
        names = unpack_identities(identities)
        return set(implied_rows(number, space, names, body, parts, self._rows_of))

    def _take_off(
        self, after: int, last: int, ids: _Ints, sums: _Sums, step: Callable[[int], object]
    ) -> None:
        """Take the hashes of the stored rows off the sums; note rows that no page has."""
        cursor = self._execute(
            # What is no number at all is beyond the last page.
            "SELECT band, key, page FROM bands WHERE page > ?1 AND (page <= ?2 OR ?2 = ?3)",
            (after, last, _END),
        )
        while some := cursor.fetchmany(_ROWS):
            some = self._numbers(some)
            pages = np.array(some, dtype=np.int64).reshape(-1, 3)[:, 2]
            place = np.searchsorted(ids, pages)
            here = place < len(ids)
            here[here] = ids[place[here]] == pages[here]
            np.subtract.at(sums, place[here], self._hashes(some)[here])
            self._suspect(np.unique(pages[~here]))
            step(len(some))

    def _numbers(self, rows: list[Row]) -> list[Row]:
        """Return the rows that consist of numbers; others are of no page."""
        odd = [row for row in rows if {*map(type, row)} != {int}]
        if odd:
            self._found.stray += len(odd)
            self._connection.executemany("INSERT INTO temp.surplus VALUES (?, ?, ?)", odd)
            rows = [row for row in rows if {*map(type, row)} == {int}]
        return rows

    def _hashes(self, rows: list[Row]) -> _Sums:
        table = np.array(rows, dtype=np.int64).reshape(-1, 3).view(np.uint64)
        hashes = np.full(len(table), self._salt)
        for column, factor in enumerate(_FACTORS):
            hashes ^= table[:, column]
            hashes *= factor
            hashes ^= hashes >> np.uint64(32)
        return hashes * _FACTORS[0]

    def _suspect(self, pages: _Ints) -> None:
        self._connection.executemany(
            "INSERT OR IGNORE INTO temp.suspect VALUES (?)", ((page,) for page in pages.tolist())
        )

    def _compare(self) -> None:
        """Sort out, row by row, what is wrong with the pages that are suspect."""
        suspects = self._execute("SELECT count(*) FROM temp.suspect").fetchone()[0]
        if not suspects:
            return
        self._execute(
            "CREATE TEMP TABLE stored (page, band, key, PRIMARY KEY (page, band, key))"
            " WITHOUT ROWID"
        )
        self._execute(
            "INSERT INTO temp.stored SELECT page, band, key FROM bands"
            " WHERE page IN (SELECT page FROM temp.suspect)"
        )
        with self._progress("suspect pages", suspects) as step:
            for page, stored in self._suspects():
                self._sort_out(page, stored)
                step(1)

    def _suspects(self) -> Iterator[tuple[tuple[Any, ...], set[Row]]]:
        pages = self._execute(
            f"SELECT suspect.page, {_COLUMNS} FROM temp.suspect"  # noqa: S608  (names of ours)
            " LEFT JOIN pages ON pages.id = suspect.page ORDER BY suspect.page"
        )
        for number, *page in pages:
            rows = self._execute(
                "SELECT band, key, page FROM temp.stored WHERE page = ?", (number,)
            )
            yield tuple(page), set(rows.fetchall())

    def _sort_out(self, page: tuple[Any, ...], stored: set[Row]) -> None:
        found = self._found
        implied: set[Row] = set()
        surplus = "stray"
        if page[0] is not None:
            try:
                implied = self._implied(page)
                surplus = "surplus"
                found.incomplete += 1
            except _UNREADABLE:
                surplus = "hanging"
        missing = implied - stored
        found.missing += len(missing)
        setattr(found, surplus, getattr(found, surplus) + len(stored - implied))
        insert = self._connection.executemany
        insert("INSERT INTO temp.missing VALUES (?, ?, ?)", missing)
        insert("INSERT INTO temp.surplus VALUES (?, ?, ?)", stored - implied)
