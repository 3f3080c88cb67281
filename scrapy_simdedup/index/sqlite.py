"""The index in an SQLite file: WAL, one short ``BEGIN IMMEDIATE`` transaction a judgement.

Several processes may share one file. WAL with ``synchronous=NORMAL`` survives a killed
process, not a power cut; what a power cut takes can only let a copy through.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from scrapy_simdedup.index import schema
from scrapy_simdedup.index.ages import Ages, now
from scrapy_simdedup.index.bands import Rows
from scrapy_simdedup.index.bodies import Bodies
from scrapy_simdedup.index.checkpoint import Checkpointer
from scrapy_simdedup.index.claims import Claims
from scrapy_simdedup.index.damage import unusable
from scrapy_simdedup.index.files import check_usable, opening
from scrapy_simdedup.index.lookup import Lookup
from scrapy_simdedup.index.pages import Pages
from scrapy_simdedup.index.records import Orphan, Signature, Subject
from scrapy_simdedup.index.runs import RunLock, lives
from scrapy_simdedup.index.store import Memory, Plans, Sight
from scrapy_simdedup.index.texts import Texts
from scrapy_simdedup.index.transactions import LOCK_SECONDS, Transactions
from scrapy_simdedup.index.upkeep import Upkeep

logger = logging.getLogger(__name__)

T = TypeVar("T")

# After so many look-ups the size of the index is asked for again; plans need no exact one.
_ASK_SIZE = 256

# Bytes of a page of the file. A judgement writes to some thirty of them, whole ones: smaller
# pages make for faster commits, down to where a kept page's row fills one.
_PAGE_BYTES = 2048


class SqliteIndex:
    """An open index file, and the run that opened it.

    ``rows_of`` turns a signature into the rows to store for it, in band numbers from 1 to
    ``SPACE_BANDS - 1``; ``cache`` is in bytes, ``max_age`` in seconds, 0 for no limit. Not
    thread-safe: whoever owns it calls it from one thread at a time.
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
        cache: int = 64 << 20,
        max_age: float = 0.0,
    ) -> None:
        check_usable(path.absolute(), identity)
        # Where it really lies: beside that is where SQLite and all runs must look.
        self.path = path.resolve()
        self.place = str(self.path)
        self._lock = RunLock(self.path)
        self._checkpointer = Checkpointer(self.path)
        self._size = self._size_asked = 0
        with ExitStack() as undo:
            try:
                self._open(identity, rows_of, cache, undo)
                with self.write():
                    self.run = self.logged = self._begin_run(spider, job, settings, versions)
                self._look_around(rows_of, max_age)
            except (sqlite3.Error, OSError) as error:
                raise unusable(self.path, error) from error
            undo.pop_all()
        self._checkpointer.start()

    def _open(
        self,
        identity: dict[str, Any],
        rows_of: Callable[[Signature], Rows],
        cache: int,
        undo: ExitStack,
    ) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # Two processes may come to a new file at once, and its tables are made by one of them; and
        # until this run's own lock is held, nobody may put another file in its place.
        with opening(self.path):
            self.connection = sqlite3.connect(
                self.path, timeout=LOCK_SECONDS, isolation_level=None, check_same_thread=False
            )
            undo.callback(self.connection.close)
            self._prepare(identity, cache)
            self._lock.acquire()
            undo.callback(self._lock.release)
        self._lookup = Lookup(self.connection, rows_of)
        #: Return the rows that a method's plan asks for.
        self.find = self._lookup.find
        transactions = Transactions(self.connection, self._lookup.forget)
        #: Run a block as one transaction; join the transactions of a block.
        self.write, self.together = transactions.write, transactions.together

    def _look_around(self, rows_of: Callable[[Signature], Rows], max_age: float) -> None:
        #: This run, and those of the same job that it resumes.
        self.job_runs = frozenset(
            row[0]
            for row in self.connection.execute(
                "SELECT id FROM runs WHERE job = (SELECT job FROM runs WHERE id = ?)", (self.run,)
            )
        )
        self.pages = Pages(self.connection, self.run, rows_of)
        self.bodies = Bodies(self.connection)
        self.texts = Texts(self.connection)
        self.claims = Claims(self.connection, self.run, self.is_alive, self.pages.delete)
        #: Tell whether what a run met last has grown too old to count.
        self.is_old = Ages(self.connection, max_age).is_old
        self.upkeep = Upkeep(
            self.connection, self.write, self.claims, self.pages.delete, self.is_alive
        )
        with self.write():
            #: What runs that died left behind, released just now.
            self.reaped = self.claims.reap()

    def _prepare(self, identity: dict[str, Any], cache: int) -> None:
        execute = self.connection.execute
        execute(f"PRAGMA page_size = {_PAGE_BYTES}")
        mode = execute("PRAGMA journal_mode = WAL").fetchone()[0]
        schema.refuse_foreign(self.connection, self.path)
        schema.migrate(self.connection)
        schema.refuse_incomplete(self.connection, self.path)
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
        execute(f"PRAGMA cache_size = -{cache >> 10}")
        # A file that is cut off while it is mapped kills the process.
        execute("PRAGMA mmap_size = 0")
        execute("PRAGMA wal_autocheckpoint = 0")
        # From here on it is ``Transactions`` that waits for others.
        execute("PRAGMA busy_timeout = 1")

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
        self._checkpointer.stop()
        try:
            with self.write():
                self.claims.release_open()
                self.connection.execute(
                    "UPDATE runs SET ended = ?, status = ? WHERE id = ?", (now(), reason, self.run)
                )
        finally:
            self.connection.close()
            self._lock.release()

    def attempt(self, step: Callable[[], T]) -> T:
        """Run a step of judging as one transaction, alone with the file."""
        with self.write():
            return step()

    def look(self, subject: Subject, plans: Callable[[], Plans]) -> Sight:
        """Return what judging a subject needs to see, each part read when it is asked for."""
        return Sight(
            partial(self.pages.same, subject),
            lambda: [self.find(subject.space, first, plan) for first, plan in plans()],
        )

    def recollect(self, subject: Subject, rules: int) -> Memory:
        """Return what the index knows of a subject's body, each part read when asked for."""
        return Memory(
            partial(self.pages.same, subject),
            partial(self.pages.with_body, subject),
            partial(self.bodies.decision, subject, rules),
        )

    def orphaned(self) -> Sequence[Orphan]:
        """Return no copies: whoever releases a claim marks them himself."""
        return ()

    def is_alive(self, run: int) -> bool:
        """Tell whether a run still runs: it is this one, or its process holds its lock."""
        if run == self.run:
            return True
        return lives(self.connection, self.path, run)

    def size(self) -> int:
        """Return about how many rows a band has: the highest page number, a moment ago."""
        if not self._size_asked % _ASK_SIZE:
            row = self.connection.execute("SELECT max(id) FROM pages").fetchone()
            self._size = row[0] or 0
        self._size_asked += 1
        return self._size

    @property
    def crowded_keys(self) -> int:
        """How often a look-up of this run left out a key that too many pages share."""
        return self._lookup.full_keys

    def originals(self) -> int:
        """Return how many pages and items the index holds."""
        return int(self.connection.execute("SELECT count(*) FROM pages").fetchone()[0])

    def log(self, values: Sequence[Any]) -> int:
        """Append a decision: the values of all columns but id, run and time, in order.

        The last one is the digest of the text, which is noted where that text is stored. Returns
        the decision's number.
        """
        cursor = self.connection.execute(
            "INSERT INTO decisions (run, time, kind, url, status, reason, original, original_page,"
            " distance, max_distance, resemblance, containment, method, nearest, terms, text)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
            " (SELECT digest FROM texts WHERE digest = ?))",
            (self.run, now(), *values),
        )
        number = cursor.lastrowid
        assert number is not None
        return number
