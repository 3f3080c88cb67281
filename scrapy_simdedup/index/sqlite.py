"""The index in an SQLite file: WAL, one short ``BEGIN IMMEDIATE`` transaction a judgement.

Several processes may share one file. WAL with ``synchronous=NORMAL`` survives a killed
process, not a power cut; what a power cut takes can only let a copy through.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock

from scrapy_simdedup.exceptions import IndexUnusable
from scrapy_simdedup.index import schema
from scrapy_simdedup.index.bands import Candidates, Plan, Range, Rows
from scrapy_simdedup.index.claims import Claims
from scrapy_simdedup.index.files import check_usable
from scrapy_simdedup.index.pages import SPACE_BANDS, Pages, signed
from scrapy_simdedup.index.records import Signature
from scrapy_simdedup.index.runs import RunLock, is_alive
from scrapy_simdedup.index.scan import Column

logger = logging.getLogger(__name__)

_LOCK_SECONDS = 30.0


def now() -> str:
    """Return the time as the index writes it: UTC, ISO 8601, milliseconds."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")


class SqliteIndex:
    """An open index file, and the run that opened it.

    ``rows_of`` turns a signature into the rows to store for it, in band numbers from 1 to
    ``SPACE_BANDS - 1``. Not thread-safe: whoever owns it calls it from one thread at a time.
    """

    def __init__(
        self,
        path: Path,
        identity: dict[str, Any],
        rows_of: Callable[[Signature], Rows],
        *,
        spider: str = "",
        job: str = "",
        settings: str = "{}",
        versions: str = "{}",
    ) -> None:
        self.path = path.absolute()
        check_usable(self.path, identity)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = RunLock(self.path)
        self._rows_of = rows_of
        self._columns: dict[int, Column] = {}
        self.full_keys = 0
        try:
            self.connection = sqlite3.connect(
                self.path, timeout=_LOCK_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._prepare(identity)
            self._lock.acquire()
            with self.write():
                self.run = self._begin_run(spider, job, settings, versions)
        except (sqlite3.Error, OSError) as error:
            raise IndexUnusable(f"cannot open {self.path}: {error}") from error
        #: This run, and those of the same job that it resumes.
        self.job_runs = frozenset(
            row[0]
            for row in self.connection.execute(
                "SELECT id FROM runs WHERE job = (SELECT job FROM runs WHERE id = ?)", (self.run,)
            )
        )
        self.pages = Pages(self.connection, self.run, rows_of)
        self.claims = Claims(self.connection, self.run, self.is_alive, self.pages.delete)
        with self.write():
            #: What runs that died left behind, released just now.
            self.reaped = self.claims.reap()

    def _prepare(self, identity: dict[str, Any]) -> None:
        execute = self.connection.execute
        # Two processes may come to a new file at once; its tables are made by one of them.
        with FileLock(self.path.with_name(self.path.name + ".lock"), timeout=_LOCK_SECONDS):
            mode = execute("PRAGMA journal_mode = WAL").fetchone()[0]
            schema.refuse_foreign(self.connection, self.path)
            schema.migrate(self.connection)
            if not schema.refuse_identity(self.connection, self.path, identity):
                execute("INSERT INTO meta VALUES ('identity', ?)", (json.dumps(identity),))
        if mode != "wal":
            logger.warning(
                "%s is on a file system without WAL (network share?): SQLite uses %s mode,"
                " which is slower and lets no one read during a write",
                self.path,
                mode,
            )
        execute("PRAGMA synchronous = NORMAL")
        execute("PRAGMA foreign_keys = OFF")
        execute("PRAGMA cache_size = -65536")
        execute("PRAGMA mmap_size = 1073741824")

    def _begin_run(self, spider: str, job: str, settings: str, versions: str) -> int:
        cursor = self.connection.execute(
            "INSERT INTO runs (spider, job, started, status, lock, settings, versions)"
            " VALUES (?, ?, ?, 'running', ?, ?, ?)",
            (spider, job or self._lock.name, now(), self._lock.name, settings, versions),
        )
        run = cursor.lastrowid
        assert run is not None
        return run

    def close(self, reason: str) -> None:
        """End the run and close the file; open claims are released first. Idempotent."""
        if self.connection is None:
            return
        try:
            with self.write():
                self.claims.release_open()
                self.connection.execute(
                    "UPDATE runs SET ended = ?, status = ? WHERE id = ?", (now(), reason, self.run)
                )
        finally:
            self.connection.close()
            self._lock.release()

    @contextmanager
    def write(self) -> Iterator[None]:
        """Run a block as one transaction, alone with the file; roll back if it raises."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    def is_alive(self, run: int) -> bool:
        """Tell whether a run still runs: it is this one, or its process holds its lock."""
        if run == self.run:
            return True
        row = self.connection.execute(
            "SELECT lock, ended FROM runs WHERE id = ?", (run,)
        ).fetchone()
        return row is not None and row[1] is None and is_alive(self.path, row[0])

    def size(self) -> int:
        """Return about how many rows a band has: the highest page number."""
        row = self.connection.execute("SELECT max(id) FROM pages").fetchone()
        return row[0] or 0

    def originals(self) -> int:
        """Return how many pages and items the index holds."""
        return int(self.connection.execute("SELECT count(*) FROM pages").fetchone()[0])

    def find(self, space: int, first_band: int, plan: Plan) -> Candidates:
        """Return the rows that a method's plan asks for, in the method's own band numbers."""
        rows: list[tuple[int, int, int]] = []
        for each in plan.ranges:
            got = self._range(space * SPACE_BANDS + first_band, each, plan.most_rows + 1)
            if plan.scan_band is None and len(got) > plan.most_rows:
                self.full_keys += 1
                continue
            rows += got
            if plan.scan_band is not None and len(rows) > plan.most_rows:
                return self._scan(space, first_band + plan.scan_band)
        if plan.scan_band is not None and not plan.ranges:
            return self._scan(space, first_band + plan.scan_band)
        table = np.array(rows, dtype=np.int64).reshape(-1, 3)
        return Candidates(
            table[:, 0].astype(np.intp),
            table[:, 1].copy().view(np.uint64) ^ np.uint64(1 << 63),
            table[:, 2],
        )

    def _range(self, base: int, each: Range, most: int) -> list[tuple[int, int, int]]:
        return self.connection.execute(
            f"SELECT {each.band}, key, page FROM bands"  # noqa: S608  (a number of ours)
            " WHERE band = ? AND key BETWEEN ? AND ? LIMIT ?",
            (base + each.band, signed(each.low), signed(each.high), most),
        ).fetchall()

    def log(self, values: Sequence[Any]) -> None:
        """Append a decision: the values of all columns but id, run and time, in order."""
        self.connection.execute(
            "INSERT INTO decisions (run, time, kind, url, status, reason, original, original_page,"
            " distance, max_distance, resemblance, containment, method, nearest, terms)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (self.run, now(), *values),
        )

    def _scan(self, space: int, band: int) -> Candidates:
        number = space * SPACE_BANDS + band
        if number not in self._columns:

            def key_of(signature: Signature) -> int:
                return next(key for at, key in self._rows_of(signature) if at == band)

            self._columns[number] = Column(self.connection, space, number, key_of)
        return self._columns[number].read()
