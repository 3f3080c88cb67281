"""The log of an index as one moment saw it: all of it, or the decisions of one run."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from urllib.parse import urlsplit

from scrapy_simdedup.logs.measures import NoSuchRun

#: The tables that a file must have to be told about; of the others stand-ins will do.
NEEDED = ("decisions",)

_READ = {
    "runs": ("id", "spider", "started", "ended", "status", "settings", "versions"),
    "decisions": (
        *("id", "run", "time", "kind", "url", "status", "reason", "original", "original_page"),
        *("distance", "max_distance", "resemblance", "containment", "method", "nearest", "terms"),
        *("text", "original_removed"),
    ),
    "pages": ("id", "url", "space", "run", "digest", "seen", "visits"),
    "texts": ("digest", "text"),
    "meta": ("key", "value"),
}


@contextmanager
def snapshot(connection: sqlite3.Connection, run: int | None) -> Iterator[None]:
    """Read the log as it is now, while a crawl may go on writing. Raises NoSuchRun.

    Inside, the view ``chosen`` has the decisions of the run (None: of all runs), and the SQL
    function ``host_of`` the host of a URL, given as a blob.
    """
    # A text that is none must not end the report of all others.
    connection.text_factory = _text
    # A blob, since a function cannot be given a text that is none.
    connection.create_function("host_of", 1, _host_of_blob, deterministic=True)
    connection.execute("BEGIN")
    try:
        for table, columns in _READ.items():
            _stand_in(connection, table, columns)
        where = ""
        if run is not None:
            if connection.execute("SELECT 1 FROM runs WHERE id = ?", (run,)).fetchone() is None:
                raise NoSuchRun(f"there is no run {run} in this index")
            where = f" WHERE run = {run:d}"
        connection.execute(f"CREATE TEMP VIEW chosen AS SELECT * FROM decisions{where}")  # noqa: S608
        yield
    finally:
        connection.execute("ROLLBACK")


def _stand_in(connection: sqlite3.Connection, table: str, columns: tuple[str, ...]) -> None:
    """Put a view in place of a table that lacks columns, or is not there at all."""
    found = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
    here = {name for (name,) in found}
    if here.issuperset(columns):
        return
    selected = ", ".join(name if name in here else f"NULL AS {name}" for name in columns)
    source = f"FROM main.{table}" if here else "WHERE 0"
    connection.execute(f"CREATE TEMP VIEW {table} AS SELECT {selected} {source}")


def _host_of_blob(url: bytes | None) -> str:
    url = url or b""
    # Hosts are few, so what follows them is left out of the cache.
    end = url.find(b"/", len(b"https://")) if url.startswith(b"http") else -1
    return host_of(_text(url if end < 0 else url[:end]))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


@lru_cache(maxsize=4096)
def host_of(url: str) -> str:
    """Return the host of a URL; empty for a file's path, and for what is no URL."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
