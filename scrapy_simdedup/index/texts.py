"""Main texts by their digests, in the table ``texts``: each once, whoever has it.

A page has the digest of its text in ``pages.digest``, a decision in ``decisions.text``, where the
text is stored. Texts that differ in nothing but what normalising takes away (case, white space)
have one digest; the one that came first is stored.
"""

from __future__ import annotations

import sqlite3

from scrapy_simdedup.text.packing import unpack

#: What of the table no page and no decision refers to: the condition of a statement on it.
UNREFERRED = (
    "digest NOT IN (SELECT digest FROM pages)"
    " AND digest NOT IN (SELECT text FROM decisions WHERE text IS NOT NULL)"
)


def read(connection: sqlite3.Connection, digest: bytes | None) -> str | None:
    """Return the main text of that digest, None where it is not stored or cannot be read."""
    row = connection.execute("SELECT text FROM texts WHERE digest = ?", (digest,)).fetchone()
    if row is None:
        return None
    try:
        return unpack(row[0])
    except ValueError:
        return None


def any_stored(connection: sqlite3.Connection) -> bool:
    """Tell whether any text is stored."""
    return connection.execute("SELECT 1 FROM texts LIMIT 1").fetchone() is not None


class Texts:
    """The stored texts, inside the transactions of the index."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._execute = connection.execute

    def store(self, digest: bytes, packed: bytes) -> None:
        """Store a packed text, unless there is one of that digest."""
        self._execute("INSERT OR IGNORE INTO texts VALUES (?, ?)", (digest, packed))

    def has(self, digest: bytes | None) -> bool:
        """Tell whether a text of that digest is stored."""
        found = self._execute("SELECT 1 FROM texts WHERE digest = ?", (digest,)).fetchone()
        return found is not None
