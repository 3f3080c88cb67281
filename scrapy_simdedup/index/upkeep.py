"""Taking originals out of an index: whoever looks after it removes them, or they grow too old.

A page goes with all its rows at once; the log keeps its history, and says of the copies that
their original was removed. Many pages go in several transactions, between which a crawl writes.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import NamedTuple

from scrapy_simdedup.index.ages import now, runs_before
from scrapy_simdedup.index.claims import Claims
from scrapy_simdedup.index.records import Claim, Orphan
from scrapy_simdedup.index.texts import forget_texts
from scrapy_simdedup.sites import is_on

# How long a transaction goes on, in seconds, and how long it is until the next one: whoever
# judges pages meanwhile gets enough turns, and waits little for them.
_SECONDS = 0.2
PAUSE = 0.02

# Rows that are asked for, or deleted, at a time.
_SOME = 5000

# Bodies are digests, of which those with one first byte are so many equal shares.
_SHARES = 256

_AMONG = "IN (SELECT value FROM json_each(?))"
_COPIES = "status = 'duplicate' AND original_page"
_OLD_DECISIONS = f"time < ? AND run {_AMONG}"


@dataclass(frozen=True)
class Removed:
    """What went: originals, and decisions of the log.

    ``copies`` counts the decisions that stay and whose original went. ``orphans`` are copies of
    a page whose claim was still open, so that it may never be stored: to be crawled again.
    """

    originals: int = 0
    copies: int = 0
    decisions: int = 0
    orphans: tuple[Orphan, ...] = ()

    def __add__(self, other: Removed) -> Removed:
        return Removed(
            self.originals + other.originals,
            self.copies + other.copies,
            self.decisions + other.decisions,
            self.orphans + other.orphans,
        )


class Found(NamedTuple):
    """An original that may be removed."""

    page: int
    url: str


class Upkeep:
    """Removes and prunes, in transactions of ``write``, whatever else goes on in the index.

    Open claims on a page are released before it goes: whoever holds one has nothing to settle
    any more.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        write: Callable[[], AbstractContextManager[None]],
        claims: Claims,
        delete: Callable[[int], None],
        is_alive: Callable[[int], bool],
    ) -> None:
        self._connection = connection
        self._execute = connection.execute
        self._write = write
        self._claims = claims
        self._delete = delete
        self._is_alive = is_alive

    def find(
        self, urls: Iterable[str] = (), host: str = "", run: int | None = None
    ) -> Iterator[Found]:
        """Return the originals that meet all that is given; reads every page of the index.

        ``urls`` are as they are stored; ``host`` is a host's name, or with a dot in front a
        domain with all its hosts; ``run`` is the one that made them originals.
        """
        wanted = frozenset(urls)
        rows = self._execute(
            # As bytes, so that damaged ones are found as well.
            "SELECT id, CAST(url AS BLOB) FROM pages WHERE ?1 IS NULL OR run = ?1",
            (run,),
        )
        for page, stored in rows:
            url = stored.decode(errors="replace")
            if (not wanted or url in wanted) and (not host or is_on(url, host)):
                yield Found(page, url)

    def copies_of(self, pages: Iterable[int]) -> int:
        """Return how many copies in the log have one of these originals."""
        return self._count(f"FROM decisions WHERE {_COPIES} {_AMONG}", json.dumps([*pages]))

    def remove(self, pages: Iterable[int]) -> Iterator[Removed]:
        """Remove originals. Each step is a transaction, and returns what went in it."""
        waiting = deque(pages)
        any_yet = bool(waiting)
        while waiting:
            with self._write():
                removed = self._take_out(waiting)
            yield removed
        if any_yet:
            yield from self._forget_texts()

    def old(self, before: str) -> tuple[int, int]:
        """Return how many originals ``prune`` would remove, and how many copies have them."""
        runs = self._over(before)
        pages = f"FROM pages WHERE seen {_AMONG}"
        copies = f"FROM decisions WHERE {_COPIES} IN (SELECT id {pages})"
        return self._count(pages, runs), self._count(copies, runs)

    def prune(self, before: str) -> Iterator[Removed]:
        """Remove the originals that no run has met since a time, in steps as ``remove``."""
        runs = self._over(before)
        some, any_yet = True, False
        while some:
            with self._write():
                # Asked for in each transaction: some may have been met since the last one.
                pages = self._execute(
                    f"SELECT id FROM pages WHERE seen {_AMONG} LIMIT ?",  # noqa: S608  (ours)
                    (runs, _SOME),
                ).fetchall()
                some = bool(pages)
                removed = self._take_out(deque(page for (page,) in pages))
            any_yet = any_yet or some
            yield removed
        if any_yet:
            yield from self._forget_texts()

    def old_decisions(self, before: str) -> int:
        """Return how many decisions ``prune_decisions`` would delete."""
        return self._count(f"FROM decisions WHERE {_OLD_DECISIONS}", before, self._over())

    def prune_decisions(self, before: str) -> Iterator[Removed]:
        """Delete decisions from before a time, in steps as ``remove``.

        Those of live runs stay: a copy may yet turn out to be an orphan.
        """
        old = before, self._over()
        # First what rests on them: numbers of decisions that are gone may be given anew.
        for share in range(_SHARES):
            with self._write():
                self._execute(
                    "DELETE FROM bodies WHERE body >= ? AND body < ? AND EXISTS (SELECT 1"  # noqa: S608
                    f" FROM decisions WHERE id = bodies.decision AND {_OLD_DECISIONS})",
                    (bytes([share]), _after(share), *old),
                )
        last = 0
        while True:
            with self._write():
                rows = self._execute(
                    f"SELECT id FROM decisions WHERE {_OLD_DECISIONS} AND id > ?"  # noqa: S608
                    " ORDER BY id LIMIT ?",
                    (*old, last, _SOME),
                ).fetchall()
                self._connection.executemany("DELETE FROM decisions WHERE id = ?", rows)
            if not rows:
                break
            last = rows[-1][0]
            yield Removed(decisions=len(rows))
        if last:
            yield from self._forget_texts()

    def _take_out(self, waiting: deque[int]) -> Removed:
        """Take pages out, and off the queue, for as long as a transaction may go on."""
        until = time.monotonic() + _SECONDS
        removed = Removed()
        rested: list[int] = []
        while waiting:
            page = waiting.popleft()
            orphans = self._release(page)
            if orphans is not None:
                self._delete(page)
                copies = self._mark(page)
                rested += copies
                removed += Removed(1, len(copies), orphans=orphans)
            if time.monotonic() > until:
                break
        if rested:
            # What was judged by a page that is gone would have to be judged again anyway.
            self._execute(f"DELETE FROM bodies WHERE decision {_AMONG}", (json.dumps(rested),))  # noqa: S608
        return removed

    def _forget_texts(self) -> Iterator[Removed]:
        """Delete the stored texts of which nothing is left: no page, and no decision."""
        for _ in forget_texts(self._connection, self._write):
            yield Removed()

    def _mark(self, page: int) -> list[int]:
        """Note in the log that an original was removed, and return the copies that had it."""
        rows = self._execute(
            "UPDATE decisions SET original_page = NULL, original_removed = ?"
            " WHERE original_page = ? RETURNING id, status",
            (now(), page),
        ).fetchall()
        return [decision for decision, status in rows if status == "duplicate"]

    def _release(self, page: int) -> tuple[Orphan, ...] | None:
        """Release the open claims on a page, and return the orphans; None for no page at all."""
        row = self._execute(
            "SELECT confirmed, pages.run, previous, seen, runs.settings"
            " FROM pages LEFT JOIN runs ON runs.id = seen WHERE pages.id = ?",
            (page,),
        ).fetchone()
        if row is None:
            return None
        confirmed, run, previous, seen, settings = row
        claims = [] if confirmed else [Claim(page, run, new=True)]
        if previous is not None:
            # Copies of that run rest on its visit where older pages do not count for it.
            claims.append(Claim(page, seen, new=False, alone=_since_run(settings)))
        return tuple(self._claims.release(claims).orphans)

    def _over(self, before: str | None = None) -> str:
        """Return the runs that are over, before a time, as a JSON list."""
        return json.dumps(runs_before(self._connection, before or now(), self._is_alive))

    def _count(self, what: str, *values: str) -> int:
        return int(self._execute(f"SELECT count(*) {what}", values).fetchone()[0])


def _after(share: int) -> bytes:
    """Return what is greater than all digests that begin with a byte."""
    return bytes([share]) + b"\xff" * 16


def _since_run(settings: str | None) -> bool:
    try:
        return bool(json.loads(settings or "{}").get("SIMDEDUP_SINCE") == "run")
    except (ValueError, AttributeError):
        return False
