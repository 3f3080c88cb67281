"""A change of what is stored: what it was decided by, and what to do if that still holds."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from scrapy_simdedup.index.bands import Rows
from scrapy_simdedup.index.pages import BODY_BAND, IDENTITY_BAND
from scrapy_simdedup.index.records import Signature, unpack
from scrapy_simdedup.index.redis.keys import Keys
from scrapy_simdedup.index.redis.record import Record
from scrapy_simdedup.index.redis.rows import Cell, Layout

Command = tuple[Any, ...]


def name_cells(layout: Layout, space: int, names: Sequence[int]) -> list[Cell]:
    """Return the cells of the names that a page goes by."""
    return [layout.cell(space, IDENTITY_BAND, name) for name in names]


def body_cells(layout: Layout, space: int, body: bytes) -> list[Cell]:
    """Return the cell of a body's digest, none where that is not known."""
    return [layout.cell(space, BODY_BAND, int.from_bytes(body[:8], "little"))] if body else []


def cells_of(
    layout: Layout, record: Record, rows_of: Callable[[Signature], Rows]
) -> tuple[list[Cell], list[Cell]]:
    """Return the cells that a page must have rows in: those of its names and body, and the others.

    Where its signature is damaged, the others are not known.
    """
    named = name_cells(layout, record.space, record.identities)
    named += body_cells(layout, record.space, record.body)
    try:
        rows = rows_of(unpack(record.signature))
    except (ValueError, LookupError):
        rows = []
    return named, [layout.cell(record.space, band, key) for band, key in rows]


class Change:
    """Collects checks and commands; ``arguments`` are those of the script ``commit``."""

    def __init__(
        self, keys: Keys, layout: Layout, rows_of: Callable[[Signature], Rows], life: int
    ) -> None:
        self._keys = keys
        self._layout = layout
        self._rows_of = rows_of
        self._life = life
        self._checks: list[str] = []
        self._words: list[Any] = []

    def arguments(self, index: str, token: str = "", page: int = 0) -> list[Any]:
        """Return the arguments, for the index of that id."""
        return [index, token, page, len(self._checks) // 2, *self._checks, *self._words]

    def do(self, *words: Any) -> None:
        """Add a command."""
        self._words += (len(words), *words)

    def same(self, page: int, record: Record) -> None:
        """Have it done only if a page's record is still this one."""
        digest = hashlib.sha1(record.raw, usedforsecurity=False).hexdigest()
        self._checks += (self._keys.page(page), digest)

    def store(self, page: int, before: Record, after: Record, *, met: bool = False) -> None:
        """Store a page's record anew if it is as before; it lives longer where it was ``met``."""
        self.same(page, before)
        lives = ("PX", self._life) if met and self._life else ("KEEPTTL",) if self._life else ()
        self.do("SET", self._keys.page(page), after.pack(), *lives)
        self._hold(page, before.holders(), after.holders())
        if after.settled:
            self.do("DEL", self._keys.copies(page))

    def _hold(self, page: int, before: set[int], after: set[int]) -> None:
        for run in after - before:
            self.do("SADD", self._keys.open(run), page)
        for run in before - after:
            self.do("SREM", self._keys.open(run), page)

    def add_rows(self, page: int, cells: Sequence[Cell]) -> None:
        """Add a page's rows."""
        for cell in cells:
            self.do("APPEND", cell.bucket, cell.row(page))

    def cut_rows(self, page: int, cells: Sequence[Cell]) -> None:
        """Remove a page's rows."""
        for cell in cells:
            self.do("CUT", cell.bucket, cell.row(page))

    def delete(self, page: int, record: Record, *, orphans: bool) -> None:
        """Remove a page with its rows; copies that lean on it become ``orphans``, or stay.

        It is done only if its record is still this one.
        """
        self.same(page, record)
        for cells in cells_of(self._layout, record, self._rows_of):
            self.cut_rows(page, cells)
        self.do("DEL", self._keys.page(page))
        self.do("SETBIT", self._keys.held, page, 0)
        self._hold(page, record.holders(), set())
        if orphans:
            self.notify(page)
        self.do("DEL", self._keys.copies(page))

    def notify(self, page: int, run: int | str = "") -> None:
        """Tell the logs whose copies lean on a page: those of one run, or all."""
        self.do("NOTIFY", self._keys.copies(page), self._keys.notices, run)
