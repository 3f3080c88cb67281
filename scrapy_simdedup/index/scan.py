"""All fingerprints of one band in memory, for look-ups that ranges cannot serve well."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from scrapy_simdedup.index.records import Signature, unpack

_SIGN = np.uint64(1 << 63)

# Rows that are read, and fingerprints that are compared, at a time.
_CHUNK = 1 << 18

# Of the fingerprints within the limit so many are told, the nearest; more would be one crowd.
_MOST_FOUND = 256


class Column:
    """Keys and page numbers of a band, 16 bytes a page, brought up to date at each look-up.

    Page numbers only grow, so what is new is above the highest number seen. Rows of pages that
    are gone stay until the next start: whoever loads the pages does not find them.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        space: int,
        band: int,
        key_of: Callable[[Signature], int],
    ) -> None:
        self._connection = connection
        self._space = space
        self._key_of = key_of
        self._count = 0
        self._keys: npt.NDArray[np.uint64] = np.empty(0, dtype=np.uint64)
        self._pages: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)
        rows = connection.execute("SELECT key, page FROM bands WHERE band = ?", (band,))
        while some := rows.fetchmany(_CHUNK):
            table = np.array(some, dtype=np.int64)
            self._append(table[:, 0].view(np.uint64) ^ _SIGN, table[:, 1])
        order = np.argsort(self._pages[: self._count])
        self._keys, self._pages = self._keys[order], self._pages[order]
        self._highest = int(self._pages[-1]) if self._count else 0

    def near(self, key: int, limit: int) -> list[tuple[int, int]]:
        """Return (key, page) of the keys within ``limit`` bits, nearest first, then first seen."""
        self._update()
        wanted = np.uint64(key)
        places, distances = [], []
        for start in range(0, self._count, _CHUNK):
            keys = self._keys[start : min(start + _CHUNK, self._count)]
            apart = np.bitwise_count(keys ^ wanted)
            found = np.flatnonzero(apart <= limit)
            places.append(found + start)
            distances.append(apart[found])
        if not places:
            return []
        place = np.concatenate(places)
        nearest = place[np.argsort(np.concatenate(distances), kind="stable")[:_MOST_FOUND]]
        return list(zip(self._keys[nearest].tolist(), self._pages[nearest].tolist(), strict=True))

    def _update(self) -> None:
        rows = self._connection.execute(
            "SELECT id, signature FROM pages WHERE id > ? AND space = ? ORDER BY id",
            (self._highest, self._space),
        ).fetchall()
        if rows:
            keys, pages = [], []
            for number, signature in rows:
                # One that is damaged is not found here either.
                with contextlib.suppress(ValueError, LookupError):
                    keys.append(self._key_of(unpack(signature)))
                    pages.append(number)
            self._append(np.array(keys, dtype=np.uint64), np.array(pages, dtype=np.int64))
            self._highest = rows[-1][0]

    def _append(self, keys: npt.NDArray[np.uint64], pages: npt.NDArray[np.int64]) -> None:
        end = self._count + len(keys)
        if end > len(self._keys):
            more = max(end, 1024, self._count // 2 * 3) - len(self._keys)
            self._keys = np.concatenate([self._keys, np.zeros(more, dtype=np.uint64)])
            self._pages = np.concatenate([self._pages, np.zeros(more, dtype=np.int64)])
        self._keys[self._count : end] = keys
        self._pages[self._count : end] = pages
        self._count = end
