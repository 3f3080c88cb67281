"""Main texts by their digests, in the table ``texts``: each once, whoever has it.

A page has the digest of its text in ``pages.digest``, a decision in ``decisions.text``, where the
text is stored. Texts that differ in nothing but what normalising takes away (case, white space)
have one digest; the one that came first is stored.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from scrapy_simdedup.text.packing import unpack

#: What of the table no page and no decision refers to: the condition of a statement on it.
UNREFERRED = (
    "digest NOT IN (SELECT digest FROM pages)"
    " AND digest NOT IN (SELECT text FROM decisions WHERE text IS NOT NULL)"
)
# The same, of pages and decisions above two numbers.
_UNREFERRED_SINCE = (
    "digest NOT IN (SELECT digest FROM pages WHERE id > ?)"
    " AND digest NOT IN (SELECT text FROM decisions WHERE id > ? AND text IS NOT NULL)"
)

# So many are deleted in a transaction.
_SOME = 5000


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


def forget_texts(
    connection: sqlite3.Connection, write: Callable[[], AbstractContextManager[None]]
) -> Iterator[None]:
    """Delete the texts that nothing refers to; each step is a transaction of ``write``.

    To look for them takes long, and is done outside of transactions.
    """
    if not any_stored(connection):
        return
    newest = connection.execute(
        "SELECT (SELECT max(id) FROM pages), (SELECT max(id) FROM decisions)"
    ).fetchone()
    since = [number or 0 for number in newest]
    found = connection.execute(f"SELECT digest FROM texts WHERE {UNREFERRED}").fetchall()  # noqa: S608
    for start in range(0, len(found), _SOME):
        with write():
            # What has come meanwhile may have such a text.
            connection.executemany(
                f"DELETE FROM texts WHERE digest = ? AND {_UNREFERRED_SINCE}",  # noqa: S608
                [(*row, *since) for row in found[start : start + _SOME]],
            )
        yield


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
