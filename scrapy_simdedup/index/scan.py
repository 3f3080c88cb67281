"""All fingerprints of one band in memory, for look-ups that ranges cannot serve well."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from scrapy_simdedup.index.bands import Candidates
from scrapy_simdedup.index.records import Signature, unpack

_SIGN = np.uint64(1 << 63)


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
        rows = connection.execute("SELECT key, page FROM bands WHERE band = ?", (band,))
        table = np.array(rows.fetchall(), dtype=np.int64).reshape(-1, 2)
        self._count = len(table)
        self._keys: npt.NDArray[np.uint64] = table[:, 0].copy().view(np.uint64) ^ _SIGN
        self._pages: npt.NDArray[np.int64] = table[:, 1].copy()
        self._highest = int(self._pages.max()) if self._count else 0

    def read(self) -> Candidates:
        """Return every row of the band, in the method's band 0."""
        rows = self._connection.execute(
            "SELECT id, signature FROM pages WHERE id > ? AND space = ? ORDER BY id",
            (self._highest, self._space),
        ).fetchall()
        for number, signature in rows:
            self._append(self._key_of(unpack(signature)), number)
        return Candidates(
            np.zeros(self._count, dtype=np.intp),
            self._keys[: self._count],
            self._pages[: self._count],
        )

    def _append(self, key: int, page: int) -> None:
        if self._count == len(self._keys):
            room = max(1024, self._count // 2)
            self._keys = np.concatenate([self._keys, np.zeros(room, dtype=np.uint64)])
            self._pages = np.concatenate([self._pages, np.zeros(room, dtype=np.int64)])
        self._keys[self._count] = key
        self._pages[self._count] = page
        self._count += 1
        self._highest = page
