"""The texts of a decision's page and of the kept page it was held against, compared."""

from __future__ import annotations

import sqlite3
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from scrapy_simdedup.index.texts import read
from scrapy_simdedup.report.diff import Difference, difference

# What all comparisons together may hold, in characters of text, and take, in seconds: texts can
# be made so that comparing two of them takes a second.
_MOST_CHARACTERS = 8_000_000
_MOST_SECONDS = 30.0

Row = Mapping[str, Any]


class Pairs:
    """Compares texts until there are too many of them; ``left_out`` counts what is not compared.

    ``rows`` are the decisions that will be asked for, with ``id``, ``kind``, ``url``, ``text``,
    ``original_page`` and the kept page's URL, ``original`` or ``nearest``.
    """

    def __init__(self, connection: sqlite3.Connection, rows: Iterable[Row]) -> None:
        self._connection = connection
        stored = [row for row in rows if row["text"] is not None]
        self._by_page = _digests_by_page(connection, stored)
        self._by_url = _digests_by_url(connection, stored)
        self._characters = 0
        self._end = time.monotonic() + _MOST_SECONDS
        self.left_out = 0

    def compare(self, row: Row) -> Difference | None:
        """Return how a page differs from the kept one, None where a text is not stored."""
        if row["text"] is None:
            return None
        kept, new = self._read(self._kept(row)), self._read(row["text"])
        if kept is None or new is None:
            return None
        if self._characters > _MOST_CHARACTERS or time.monotonic() > self._end:
            self.left_out += 1
            return None
        self._characters += len(kept) + len(new)
        return difference(kept, new)

    def _read(self, digest: bytes | None) -> str | None:
        return None if digest is None else read(self._connection, digest)

    def _kept(self, row: Row) -> bytes | None:
        """Return the digest of the kept page's text as it was when the other one came."""
        by_page = self._by_page.get(row["original_page"])
        if by_page is not None:
            return by_page
        known = self._by_url.get((row["kind"], _kept_url(row)), [])
        before = [digest for number, digest in known if number < row["id"]]
        if row["kind"] == "item" and len(set(before)) > 1:
            # Several items have the URL of one page.
            return None
        return before[-1] if before else None


def _kept_url(row: Row) -> str:
    url: str | None = row["original"] if "original" in row else row["nearest"]
    return url or ""


def _digests_by_page(connection: sqlite3.Connection, rows: list[Row]) -> dict[int, bytes]:
    pages = {(row["original_page"],) for row in rows if row["original_page"] is not None}
    connection.execute("CREATE TEMP TABLE wanted (page INTEGER PRIMARY KEY)")
    connection.executemany("INSERT INTO wanted VALUES (?)", pages)
    found = dict(
        connection.execute(
            # A page whose text is stored; others have a digest too.
            "SELECT p.id, p.digest FROM wanted w JOIN pages p ON p.id = w.page"
            " JOIN texts t ON t.digest = p.digest"
        ).fetchall()
    )
    connection.execute("DROP TABLE wanted")
    return found


def _digests_by_url(
    connection: sqlite3.Connection, rows: list[Row]
) -> Mapping[tuple[str, str], list[tuple[int, bytes]]]:
    """Return the texts that were kept under each URL, with the number of the decision."""
    urls = {(_kept_url(row),) for row in rows} - {("",)}
    connection.execute("CREATE TEMP TABLE wanted (url TEXT PRIMARY KEY) WITHOUT ROWID")
    connection.executemany("INSERT INTO wanted VALUES (?)", urls)
    found: defaultdict[tuple[str, str], list[tuple[int, bytes]]] = defaultdict(list)
    for kind, url, number, digest in connection.execute(
        "SELECT d.kind, d.url, d.id, d.text FROM decisions d JOIN wanted w ON w.url = d.url"
        " WHERE d.text IS NOT NULL AND d.status IN ('unique', 'revisit') ORDER BY d.id"
    ):
        found[kind, url].append((number, digest))
    connection.execute("DROP TABLE wanted")
    return found
