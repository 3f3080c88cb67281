"""Pages and their rows in the ``bands`` table, inside the transactions of the index."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from scrapy_simdedup.index.bands import Rows
from scrapy_simdedup.index.damage import check_command
from scrapy_simdedup.index.records import (
    ABOUT,
    OF_MARKUP,
    Claim,
    Kept,
    NewPage,
    Signature,
    Subject,
    pack,
    unpack,
)

logger = logging.getLogger(__name__)

# Rows that name a page, and rows for the digest of its body: the first bands of each space.
IDENTITY_BAND = 0
BODY_BAND = 1

# Bands of a space; a space's number is a multiple of this.
SPACE_BANDS = 1 << 15

# What is taken off an unsigned key to make it one of SQLite's signed integers.
SIGN = 1 << 63

_COLUMNS = (
    "id, CAST(url AS BLOB), space, run, confirmed, identities, body, digest, terms, signature,"
    " seen, previous IS NOT NULL"
)

# A row goes by so many names at most; the ones that it was not asked for by lately go first.
_MOST_IDENTITIES = 8


def signed(key: int) -> int:
    """Map an unsigned 64-bit key to SQLite's signed integers, keeping the order."""
    return key - SIGN


class Pages:
    """The kept pages and items of an index, as one run sees and changes them."""

    def __init__(
        self, connection: sqlite3.Connection, run: int, rows_of: Callable[[Signature], Rows]
    ) -> None:
        self._execute = connection.execute
        self._executemany = connection.executemany
        self._run = run
        self._rows_of = rows_of
        self._told = False

    def load(self, pages: Sequence[int]) -> list[Kept]:
        """Return the pages of those numbers that the index still holds, oldest first.

        One that is damaged is left out, as if it were not there; a warning names the first one.
        """
        marks = ",".join("?" * len(pages))
        rows = self._execute(
            f"SELECT {_COLUMNS} FROM pages WHERE id IN ({marks}) ORDER BY id",  # noqa: S608  (marks)
            list(pages),
        )
        found = []
        for row in rows:
            try:
                found.append(_kept(row))
            except (ValueError, TypeError):
                self._tell_of(row[0])
        return found

    def same(self, subject: Subject) -> list[Kept]:
        """Return the rows that go by one of the subject's identities, oldest first."""
        marks = ",".join("?" * len(subject.identities))
        pages = self._execute(
            f"SELECT page FROM bands WHERE band = ? AND key IN ({marks})",  # noqa: S608  (marks)
            [subject.space * SPACE_BANDS + IDENTITY_BAND, *map(signed, subject.identities)],
        ).fetchall()
        # Most pages are new, and have none.
        return self.load(sorted({page for (page,) in pages})) if pages else []

    def with_body(self, subject: Subject) -> list[Kept]:
        """Return the rows whose content came as the subject's did, byte for byte, oldest first."""
        if not subject.body:
            return []
        pages = self._execute(
            "SELECT page FROM bands WHERE band = ? AND key = ?",
            (subject.space * SPACE_BANDS + BODY_BAND, _body_key(subject.body)),
        ).fetchall()
        kept = self.load([page for (page,) in pages]) if pages else []
        return [each for each in kept if each.body == subject.body]

    def insert(self, page: NewPage) -> Claim:
        """Store a page with all its rows, provisionally."""
        subject = page.subject
        cursor = self._execute(
            "INSERT INTO pages (url, space, run, confirmed, replaces, identities, body, digest,"
            " terms, signature, seen, visits) VALUES (?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, 1)",
            (
                subject.url,
                subject.space,
                self._run,
                page.replaces,
                _pack_identities(subject.identities),
                subject.body,
                page.digest,
                page.terms,
                pack(page.signature),
                self._run,
            ),
        )
        number = cursor.lastrowid
        assert number is not None
        self._executemany(
            "INSERT INTO bands VALUES (?, ?, ?)",
            self._band_rows(
                number, subject.space, subject.identities, subject.body, page.signature
            ),
        )
        return Claim(number, self._run, new=True)

    def visit(self, kept: Kept, subject: Subject, signature: Signature, *, alone: bool) -> Claim:
        """Note that a kept page was seen again, unchanged, by the subject's request.

        Its text is the same; what the markup around it says of it is taken from ``signature``.
        """
        asked = subject.identities[0]
        names = list(dict.fromkeys((asked, *kept.identities)))
        self._execute(
            "UPDATE pages SET seen = ?, previous = coalesce(previous, seen), visits = visits + 1,"
            " identities = ? WHERE id = ?",
            (self._run, _pack_identities(names[:_MOST_IDENTITIES]), kept.id),
        )
        if subject.body != kept.body or ABOUT in signature.keys() - kept.signature.keys():
            self._renew(kept, subject, signature)
        band = subject.space * SPACE_BANDS + IDENTITY_BAND
        if asked not in kept.identities:
            self._execute("INSERT INTO bands VALUES (?, ?, ?)", (band, signed(asked), kept.id))
        self._executemany(
            "DELETE FROM bands WHERE band = ? AND key = ? AND page = ?",
            [(band, signed(name), kept.id) for name in names[_MOST_IDENTITIES:]],
        )
        return Claim(kept.id, self._run, new=False, alone=alone)

    def _renew(self, kept: Kept, subject: Subject, signature: Signature) -> None:
        """Store what came in other markup than last time: the same will come the next time."""
        merged = {name: part for name, part in kept.signature.items() if name not in OF_MARKUP}
        merged |= {name: signature[name] for name in (*OF_MARKUP, ABOUT) if name in signature}
        self._execute(
            "UPDATE pages SET body = ?, signature = ? WHERE id = ?",
            (subject.body, pack(merged), kept.id),
        )
        self._executemany(
            "DELETE FROM bands WHERE band = ? AND key = ? AND page = ?",
            _body_rows(kept.space, kept.body, kept.id),
        )
        self._executemany(
            "INSERT INTO bands VALUES (?, ?, ?)", _body_rows(kept.space, subject.body, kept.id)
        )

    def delete(self, page: int) -> None:
        """Remove a page with all its rows; one that is gone already is no error."""
        for kept in self.load([page]):
            rows = self._band_rows(kept.id, kept.space, kept.identities, kept.body, kept.signature)
            self._executemany("DELETE FROM bands WHERE band = ? AND key = ? AND page = ?", rows)
            self._execute("DELETE FROM pages WHERE id = ?", (kept.id,))
            return
        if self._execute("DELETE FROM pages WHERE id = ?", (page,)).rowcount:
            # What rows it had cannot be read, so they are looked for.
            self._execute("DELETE FROM bands WHERE page = ?", (page,))

    def _tell_of(self, page: int) -> None:
        if not self._told:
            self._told = True
            path = self._execute("SELECT file FROM pragma_database_list").fetchone()[0]
            logger.warning(
                "%s is damaged: its page %d cannot be read and counts as unknown. Once no crawl"
                " uses the file: %s --repair",
                path,
                page,
                check_command(path),
            )

    def _band_rows(
        self,
        page: int,
        space: int,
        identities: Iterable[int],
        body: bytes,
        signature: Signature,
    ) -> list[tuple[int, int, int]]:
        return implied_rows(page, space, identities, body, signature, self._rows_of)


def implied_rows(
    page: int,
    space: int,
    identities: Iterable[int],
    body: bytes,
    signature: Signature,
    rows_of: Callable[[Signature], Rows],
) -> list[tuple[int, int, int]]:
    """Return the rows of the ``bands`` table that a page must have: band, signed key, page."""
    base = space * SPACE_BANDS
    rows = [(base + IDENTITY_BAND, name - SIGN, page) for name in identities]
    rows += _body_rows(space, body, page)
    rows += [(base + band, key - SIGN, page) for band, key in rows_of(signature)]
    return rows


def _body_key(body: bytes) -> int:
    return signed(int.from_bytes(body[:8], "little"))


def _body_rows(space: int, body: bytes, page: int) -> list[tuple[int, int, int]]:
    return [(space * SPACE_BANDS + BODY_BAND, _body_key(body), page)] if body else []


def _pack_identities(names: Any) -> bytes:
    return np.fromiter(names, dtype="<u8").tobytes()


def unpack_identities(names: bytes) -> tuple[int, ...]:
    """Read the identities of a page. Raises ValueError or TypeError where they are damaged."""
    return tuple(np.frombuffer(names, dtype="<u8").tolist())


def _kept(row: tuple[Any, ...]) -> Kept:
    number, url, space, run, confirmed, identities, *rest = row
    body, digest, terms, signature, seen, visited = rest
    return Kept(
        number,
        # Here, where what is damaged is one page and no failure of the whole look-up.
        url.decode(),
        space,
        run,
        bool(confirmed),
        unpack_identities(identities),
        body,
        digest,
        terms,
        unpack(signature),
        seen,
        bool(visited),
    )
