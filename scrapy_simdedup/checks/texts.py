"""The stored texts: whether they can be read, and who refers to them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from scrapy_simdedup.checks.finding import Finding, Progress
from scrapy_simdedup.index.texts import UNREFERRED
from scrapy_simdedup.text.packing import unpack

_NOT_STORED = "text IS NOT NULL AND text NOT IN (SELECT digest FROM texts)"

# Texts that are read at a time.
_TEXTS = 256


def check_texts(
    connection: sqlite3.Connection, progress: Progress, *, mend: bool
) -> Iterator[Finding]:
    """Check the texts, and with ``mend`` forget those that are damaged, and those of nobody."""
    execute = connection.execute
    strays = execute(f"SELECT count(*) FROM texts WHERE {UNREFERRED}").fetchone()[0]  # noqa: S608
    loose = execute(f"SELECT count(*) FROM decisions WHERE {_NOT_STORED}").fetchone()[0]  # noqa: S608
    unreadable = _unreadable(connection, progress)
    if mend:
        connection.executemany("DELETE FROM texts WHERE digest = ?", unreadable)
        execute(f"DELETE FROM texts WHERE {UNREFERRED}")  # noqa: S608
        execute(f"UPDATE decisions SET text = NULL WHERE {_NOT_STORED}")  # noqa: S608
    count = len(unreadable)
    yield Finding("texts", count, f"{count} cannot be read", "forgets them, and who has them")
    yield Finding("texts of nobody", strays, f"{strays} are left over", "drops them")
    yield Finding(
        "texts of decisions", loose, f"those of {loose} decisions are gone", "forgets who had them"
    )


def _unreadable(connection: sqlite3.Connection, progress: Progress) -> list[tuple[bytes]]:
    total = connection.execute("SELECT count(*) FROM texts").fetchone()[0]
    rows = connection.execute("SELECT digest, text FROM texts")
    found = []
    with progress("texts", total) as step:
        while some := rows.fetchmany(_TEXTS):
            for digest, text in some:
                try:
                    unpack(text)
                except ValueError:
                    found.append((digest,))
            step(len(some))
    return found
