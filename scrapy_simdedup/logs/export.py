"""Decisions to CSV or JSON lines, streamed from the index."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import sqlite3
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import IO, Any

from scrapy_simdedup.exceptions import IndexUnusable
from scrapy_simdedup.index import schema
from scrapy_simdedup.index.damage import unusable
from scrapy_simdedup.index.files import connect_reading

FIELDS = (
    "time",
    "run",
    "spider",
    "kind",
    "url",
    "status",
    "reason",
    "original",
    "distance",
    "max_distance",
    "resemblance",
    "containment",
    "method",
    "nearest",
    "terms",
)

FORMATS = ("csv", "jsonl")

_DECISIONS = f"""
    SELECT {", ".join("r.spider" if name == "spider" else f"d.{name}" for name in FIELDS)}
    FROM decisions d JOIN runs r ON r.id = d.run
"""  # noqa: S608  (names of ours)

# What a spreadsheet takes for a formula (OWASP, CSV injection), or may after it has trimmed or
# folded the cell.
_FORMULA = re.compile(r"[\s\ufeff\u200b]*[=+@\-\uff1d\uff0b\uff20\uff0d]|[\t\r\n]")

# What may not stand in the name of a file, or leads out of a folder on some system.
_NO_NAME = re.compile(r"[\x00-\x1f\x7f/\\]|^\.+$")


@contextmanager
def reading(path: Path, needed: Sequence[str] = schema.TABLES) -> Iterator[sqlite3.Connection]:
    """Open an index for reading only; it may be in use. Raises IndexUnusable.

    So does a file that lacks one of the tables that are ``needed``.
    """
    path = path.absolute()
    if not path.is_file():
        raise IndexUnusable(f"there is no index at {path}")
    try:
        with closing(connect_reading(path)) as connection:
            schema.refuse_foreign(connection, path)
            if not connection.execute("PRAGMA user_version").fetchone()[0]:
                raise IndexUnusable(f"{path} is empty: there is no index in it")
            schema.refuse_incomplete(connection, path, needed)
            yield connection
    except sqlite3.Error as error:
        raise unusable(path, error) from error


def decisions(
    connection: sqlite3.Connection,
    *,
    run: int | None = None,
    spider: str | None = None,
    status: str | None = None,
) -> Iterator[dict[str, Any]]:
    """Return the decisions of an index, oldest first, one dict of ``FIELDS`` each."""
    wanted = {"d.run": run, "r.spider": spider, "d.status": status}
    given = {column: value for column, value in wanted.items() if value is not None}
    where = " WHERE " + " AND ".join(f"{column} = ?" for column in given) if given else ""
    rows = connection.execute(_DECISIONS + where + " ORDER BY d.id", tuple(given.values()))
    return (dict(zip(FIELDS, row, strict=True)) for row in rows)


def harmless(value: Any) -> Any:
    """Return a CSV cell that no spreadsheet runs: a leading apostrophe disarms a formula."""
    if isinstance(value, str):
        value = value.replace("\0", "")
        if _FORMULA.match(value):
            return f"'{value}"
    return value


def file_name(name: str) -> str:
    """Return a spider's name as a part of a file's: it never leads to another folder."""
    return _NO_NAME.sub("_", name)


def write(rows: Iterable[Mapping[str, Any]], out: IO[str], form: str) -> int:
    """Write rows as ``csv`` or ``jsonl`` and return their number."""
    count = 0
    if form == "csv":
        table = csv.writer(out)
        table.writerow(FIELDS)
        for row in rows:
            table.writerow([harmless(row[name]) for name in FIELDS])
            count += 1
        return count
    for row in rows:
        out.write(json.dumps(row, ensure_ascii=False) + "\n")
        count += 1
    return count


@contextmanager
def writing(path: Path | None) -> Iterator[IO[str]]:
    """Open a file for UTF-8 text, compressed if its name ends in ``.gz``; None: the screen."""
    if path is None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            # A narrow terminal shows what it cannot print as escapes, and goes on.
            sys.stdout.reconfigure(errors="backslashreplace")
        yield sys.stdout
        # Here, where a closed pipe is caught, and not at exit.
        sys.stdout.flush()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".gz":
        with gzip.open(path, "wt", encoding="utf-8", newline="") as out:
            yield out
    else:
        with path.open("w", encoding="utf-8", newline="") as out:
            yield out


def form_of(path: Path) -> str:
    """Return the format that a file name asks for: ``csv`` or ``jsonl``."""
    return path.name.removesuffix(".gz").rpartition(".")[2]


def export_run(index: Path, run: int, pattern: str, spider: Any) -> Path:
    """Write a run's decisions where ``SIMDEDUP_EXPORT`` says, and return the path."""
    stamp = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H-%M-%S")
    name = file_name(getattr(spider, "name", ""))
    path = Path(pattern % {"name": name, "time": stamp})
    with reading(index) as connection, writing(path) as out:
        write(decisions(connection, run=run), out, form_of(path))
    return path
