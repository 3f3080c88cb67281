"""Copies in a log whose originals, on whatever machine, came to nothing.

A copy of an open claim leans on it: the server keeps the number of the log and of the decision
there. Whoever releases the claim leaves them as notices to the logs, and the runs of a log mark
its decisions.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Iterable, Iterator

from scrapy_simdedup.index.records import Orphan
from scrapy_simdedup.index.redis.access import Access


class Notices:
    """The notices to the log of the run of that number in it."""

    def __init__(self, access: Access, log: sqlite3.Connection, run: int) -> None:
        self._access = access
        self._log = log
        self._run = run
        # The decisions of this run on copies that leaned on something.
        self._leaning = array("q")

    def leaning(self, decision: int) -> str:
        """Return what the server is to know of a copy that leans on a claim."""
        self._leaning.append(decision)
        run = self._access.run
        return f"{run.log} {run.number} {self._run} {decision}"

    def orphaned(self) -> list[Orphan]:
        """Return the copies in the log whose originals came to nothing, and mark them there."""
        orphans: list[Orphan] = []
        if self._access.run.robbed:
            # The server has forgotten what leans on what, so that nobody will give notice.
            orphans += self._mark((self._run, decision) for decision in self._leaning)
            del self._leaning[:]
            self._access.run.robbed = False
        if self._access.notices:
            orphans += self._collect()
            self._access.notices = False
        return orphans

    def _collect(self) -> list[Orphan]:
        link = self._access.link
        key = f"{self._access.keys.notices}{self._access.run.log}"
        (notices,) = self._access.asking(lambda: link.ask(("LRANGE", key, 0, -1)))
        about = (notice.split(b" ") for notice in notices)
        orphans = list(self._mark((int(run), int(decision)) for *_, run, decision in about))
        if notices:
            link.ask(*(("LREM", key, 1, notice) for notice in notices))
        return orphans

    def _mark(self, decisions: Iterable[tuple[int, int]]) -> Iterator[Orphan]:
        """Mark decisions of the log, each with its run, as orphaned, where they are copies."""
        for decision in decisions:
            row = self._log.execute(
                "UPDATE decisions SET status = 'orphaned' WHERE run = ? AND id = ?"
                " AND status = 'duplicate' RETURNING kind, url, original",
                decision,
            ).fetchone()
            if row:
                yield Orphan(*row)
