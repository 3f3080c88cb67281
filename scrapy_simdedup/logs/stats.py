"""What is in an index: decisions, runs, rows, buckets and sizes. Nothing is written."""

from __future__ import annotations

import sqlite3
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scrapy_simdedup.checks.file import read_identity
from scrapy_simdedup.checks.finding import Progress, ticking
from scrapy_simdedup.exceptions import IndexUnusable
from scrapy_simdedup.index.runs import is_alive
from scrapy_simdedup.logs.buckets import FEW, Bands, look

# Runs that are told, the newest ones.
_RUNS = 10

# A file of at most so many bytes is read as a whole to see what its tables weigh.
_LIGHT = 256 << 20


@dataclass(frozen=True)
class Count:
    """How many decisions of a kind and status there are in the log, for one reason."""

    kind: str
    status: str
    reason: str
    decisions: int


@dataclass(frozen=True)
class RunCount:
    """A run, and how many decisions of each status it logged."""

    run: int
    spider: str
    started: str
    ended: str
    status: str
    decisions: dict[str, int]


@dataclass(frozen=True)
class Sizes:
    """Bytes: of the file, of its ``-wal``, of free space in it, and by table where known."""

    file: int
    wal: int
    free: int
    page_size: int
    per_original: int
    tables: dict[str, int]


@dataclass(frozen=True)
class Stats:
    """All that ``scrapy simdedup stats`` tells.

    ``claims`` counts pages that are not settled yet, ``removed`` the duplicates in the log whose
    original was removed, ``texts`` those that are stored.
    ``runs`` has the newest of ``run_count`` runs, the oldest of them first.
    """

    path: str
    methods: list[str]
    identity: dict[str, Any]
    originals: int
    claims: int
    decisions: list[Count]
    removed: int
    run_count: int
    runs: list[RunCount]
    bands: Bands
    texts: int
    sizes: Sizes


def stats(
    connection: sqlite3.Connection, path: Path, progress: Progress, *, whole: bool = False
) -> Stats:
    """Look through an index that is open for reading, in one state of it.

    The log is counted as a whole; tables and rows are where that is quick, or with ``whole``.
    Raises IndexUnusable where its identity is of no use.
    """
    path = path.absolute()
    connection.execute("BEGIN")
    try:
        identity = read_identity(connection)
    except ValueError as error:
        raise IndexUnusable(f"{path} is damaged: its identity is of no use ({error})") from error
    originals = _one(connection, "SELECT count(*) FROM pages")
    log = _log(connection, progress)
    methods = identity["methods"]
    return Stats(
        str(path),
        methods,
        identity,
        originals,
        _one(connection, "SELECT count(*) FROM pages WHERE confirmed = 0")
        + _one(connection, "SELECT count(*) FROM pages WHERE previous IS NOT NULL"),
        log.counts(),
        log.removed,
        _one(connection, "SELECT count(*) FROM runs"),
        _runs(connection, path, log.by_run),
        look(connection, methods, progress, whole=whole or originals <= FEW),
        _one(connection, "SELECT count(*) FROM texts"),
        _sizes(connection, path, originals, progress, whole=whole),
    )


@dataclass
class _Log:
    """Decisions, counted in one pass."""

    by_reason: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    by_run: Counter[tuple[int, str]] = field(default_factory=Counter)
    removed: int = 0

    def counts(self) -> list[Count]:
        return [Count(*what, number) for what, number in sorted(self.by_reason.items())]


def _log(connection: sqlite3.Connection, progress: Progress) -> _Log:
    found = _Log()
    with ticking(connection, progress, "decisions"):
        rows = connection.execute(
            "SELECT run, kind, status, coalesce(reason, ''), original_removed IS NOT NULL, count(*)"
            " FROM decisions GROUP BY 1, 2, 3, 4, 5"
        )
        for run, kind, status, reason, removed, number in rows:
            found.by_reason[kind, status, reason] += number
            found.by_run[run, status] += number
            if removed and status == "duplicate":
                found.removed += number
    return found


def _runs(
    connection: sqlite3.Connection, path: Path, decisions: Counter[tuple[int, str]]
) -> list[RunCount]:
    rows = connection.execute(
        "SELECT id, coalesce(spider, ''), started, ended, status, lock FROM runs"
        " ORDER BY id DESC LIMIT ?",
        (_RUNS,),
    ).fetchall()
    return [
        RunCount(
            run,
            spider,
            started,
            ended or "",
            # The next crawl will note that.
            "died" if ended is None and not is_alive(path.resolve(), lock) else status,
            {status: number for (of, status), number in sorted(decisions.items()) if of == run},
        )
        for run, spider, started, ended, status, lock in reversed(rows)
    ]


def _sizes(
    connection: sqlite3.Connection, path: Path, originals: int, progress: Progress, *, whole: bool
) -> Sizes:
    size = path.stat().st_size
    wal = path.resolve().with_name(f"{path.resolve().name}-wal")
    page = _one(connection, "PRAGMA page_size")
    pages, free = (_one(connection, f"PRAGMA {name}") for name in ("page_count", "freelist_count"))
    tables: dict[str, int] = {}
    if whole or size <= _LIGHT:
        with ticking(connection, progress, "tables"):
            tables = _weigh(connection)
    return Sizes(
        size,
        wal.stat().st_size if wal.exists() else 0,
        free * page,
        page,
        (pages - free) * page // max(1, originals),
        tables,
    )


def _weigh(connection: sqlite3.Connection) -> dict[str, int]:
    """Return the bytes of each table with its indexes; nothing where SQLite cannot tell."""
    try:
        rows = connection.execute(
            # The list of the tables is not in itself.
            "SELECT coalesce(tbl_name, dbstat.name), sum(pgsize) FROM dbstat"
            " LEFT JOIN sqlite_master USING (name) WHERE aggregate = 1 GROUP BY 1 ORDER BY 2 DESC"
        ).fetchall()
    except sqlite3.OperationalError:
        # Not all builds of SQLite have the table dbstat.
        return {}
    return dict(rows)


def _one(connection: sqlite3.Connection, query: str) -> int:
    return int(connection.execute(query).fetchone()[0])
