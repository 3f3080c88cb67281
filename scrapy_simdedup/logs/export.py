"""Decisions to CSV, JSON lines or Parquet, streamed from the index."""

from __future__ import annotations

import csv
import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TextIO

from scrapy_simdedup.index import schema
from scrapy_simdedup.index.files import opened
from scrapy_simdedup.output import Out, writing
from scrapy_simdedup.parse import EXPORT_FORMATS

FIELDS = (
    "time",
    "run",
    "spider",
    "kind",
    "url",
    "status",
    "reason",
    "original",
    "original_removed",
    "distance",
    "max_distance",
    "resemblance",
    "containment",
    "method",
    "nearest",
    "terms",
)

# By the number of the decision, whatever is asked for: nothing is sorted.
_DECISIONS = f"""
    SELECT {", ".join("r.spider" if name == "spider" else f"d.{name}" for name in FIELDS)}
    FROM decisions d CROSS JOIN runs r ON r.id = d.run
"""  # noqa: S608  (names of ours)

# So many numbers of decisions are looked through at a time.
_STRIDE = 5000

# What a spreadsheet takes for a formula (OWASP, CSV injection), or may after it has trimmed or
# folded the cell.
_FORMULA = re.compile(r"[\s\ufeff\u200b]*[=+@\-\uff1d\uff0b\uff20\uff0d]|[\t\r\n]")

# What may not stand in the name of a file, or leads out of a folder on some system.
_NO_NAME = re.compile(r"[\x00-\x1f\x7f/\\]|^\.+$")


def reading(
    path: Path, needed: Sequence[str] = schema.TABLES
) -> AbstractContextManager[sqlite3.Connection]:
    """Open an index for reading only; it may be in use. Raises IndexUnusable.

    So does a file that lacks one of the tables that are ``needed``.
    """
    return opened(path, needed)


def decisions(
    connection: sqlite3.Connection,
    *,
    run: int | None = None,
    spider: str | None = None,
    status: str | None = None,
    since: str | None = None,
    until: str | None = None,
    passed: Callable[[int], object] | None = None,
) -> Iterator[dict[str, Any]]:
    """Return the decisions of an index, oldest first, one dict of ``FIELDS`` each.

    ``since`` and ``until`` are times as the log has them, the later one excluded. What comes up
    meanwhile is left out. ``passed`` is told how much of ``span`` lies behind.

    A stride at a time is read and held, and no transaction is open in between: a long log takes
    no memory, and a crawl need not keep what it writes anew for as long as a slow reader reads.
    """
    given = {
        " AND d.run = ?": run,
        " AND r.spider = ?": spider,
        " AND d.status = ?": status,
        " AND d.time >= ?": since,
        " AND d.time < ?": until,
    }
    given = {test: value for test, value in given.items() if value is not None}
    query = f"{_DECISIONS} WHERE d.id >= ? AND d.id < ?{''.join(given)} ORDER BY d.id"
    numbers = span(connection)
    for first in numbers[::_STRIDE]:
        last = min(first + _STRIDE, numbers.stop)
        for row in connection.execute(query, (first, last, *given.values())).fetchall():
            yield dict(zip(FIELDS, row, strict=True))
        if passed:
            passed(last - first)


def newest_decision(connection: sqlite3.Connection, url: str, other: str) -> dict[str, Any] | None:
    """Return the newest decision on a URL, if possible one that has to do with another URL."""
    query = (
        f"{_DECISIONS} WHERE d.url = :url"
        " ORDER BY coalesce(:other IN (d.original, d.nearest), 0) DESC, d.id DESC"
    )
    row = connection.execute(query, {"url": url, "other": other}).fetchone()
    return row and dict(zip(FIELDS, row, strict=True))


def span(connection: sqlite3.Connection) -> range:
    """Return the numbers that the decisions of an index have, of which some may be gone."""
    lowest, highest = connection.execute("SELECT min(id), max(id) FROM decisions").fetchone()
    return range(0) if lowest is None else range(lowest, highest + 1)


def spiders(connection: sqlite3.Connection, run: int | None = None) -> list[str]:
    """Return the names of the spiders that have runs in an index, or that of one run."""
    query = "SELECT DISTINCT spider FROM runs WHERE id = coalesce(?, id) ORDER BY spider"
    return [name or "" for (name,) in connection.execute(query, (run,))]


def harmless(value: Any) -> Any:
    """Return a CSV cell that no spreadsheet runs: a leading apostrophe disarms a formula."""
    if isinstance(value, str):
        value = value.replace("\0", "")
        if _FORMULA.match(value):
            return f"'{value}"
    return value


def write(rows: Iterable[Mapping[str, Any]], out: Out | TextIO, form: str) -> int:
    """Write rows as ``csv`` or ``jsonl`` and return their number.

    JSON has escapes of its own for what the encoding of ``out`` does not have.
    """
    count = 0
    if form == "csv":
        table = csv.writer(out)
        table.writerow(FIELDS)
        for row in rows:
            table.writerow([harmless(row[name]) for name in FIELDS])
            count += 1
        return count
    escape = (out.encoding or "utf-8").lower() not in ("utf-8", "utf8")
    for row in rows:
        out.write(json.dumps(row, ensure_ascii=escape) + "\n")
        count += 1
    return count


def export(rows: Iterable[Mapping[str, Any]], path: Path | None, form: str) -> int:
    """Write rows to a file (None: the screen), and return their number. Raises Unwritable."""
    if path is not None and form == "parquet":
        from scrapy_simdedup.logs.parquet import write_parquet

        return write_parquet(rows, path, FIELDS)
    with writing(path) as out:
        return write(rows, out, form)


def form_of(path: Path) -> str | None:
    """Return the format that the name of a file asks for, None where there is no such one."""
    name = path.name
    return next((form for ending, form in EXPORT_FORMATS.items() if name.endswith(ending)), None)


def named(pattern: str, spider: str) -> Path:
    """Return the path that a pattern gives, with ``%(name)s`` and ``%(time)s`` as in FEEDS."""
    stamp = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H-%M-%S")
    return Path(pattern % {"name": file_name(spider), "time": stamp})


def file_name(name: str) -> str:
    """Return a spider's name as a part of a file's: it never leads to another folder."""
    return _NO_NAME.sub("_", name)


def export_run(index: Path, run: int, pattern: str, spider: Any) -> Path:
    """Write a run's decisions where ``SIMDEDUP_EXPORT`` says, and return the path."""
    path = named(pattern, getattr(spider, "name", ""))
    with reading(index) as connection:
        export(decisions(connection, run=run), path, form_of(path) or "jsonl")
    return path
