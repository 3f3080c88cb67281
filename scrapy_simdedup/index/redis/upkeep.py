"""Taking originals out of an index in Redis: pages go with their rows, the log keeps its history.

Pages that grow too old expire in the server by themselves; what is here is for whoever wants to
be rid of some.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime

import numpy as np

from scrapy_simdedup.index.ages import now
from scrapy_simdedup.index.records import Orphan
from scrapy_simdedup.index.redis.access import Access
from scrapy_simdedup.index.redis.record import Record
from scrapy_simdedup.index.sqlite import SqliteIndex
from scrapy_simdedup.index.upkeep import Found, Removed
from scrapy_simdedup.sites import is_on

# Records that are read, and pages that are removed, at a time.
_SOME = 500

_MARK = (
    "UPDATE decisions SET original_removed = ? WHERE status = 'duplicate'"
    " AND original_removed IS NULL AND original IN (SELECT value FROM json_each(?))"
)


class RedisUpkeep:
    """Removes and prunes, whatever else goes on in the index; ``log`` is the log of this run.

    ``orphaned`` returns the copies in the log that have lost their original to that.
    """

    def __init__(
        self, access: Access, log: SqliteIndex, orphaned: Callable[[], Sequence[Orphan]]
    ) -> None:
        self._access = access
        self._log = log
        self._orphaned = orphaned

    def find(
        self, urls: Iterable[str] = (), host: str = "", run: int | None = None
    ) -> Iterator[Found]:
        """Return the originals that meet all that is given; reads every page of the index.

        Raises ValueError where a run is given: the numbers of runs are those of the log.
        """
        if run is not None:
            raise ValueError("pages of an index in Redis are not found by a run")
        wanted = frozenset(urls)
        for page, record in self._all():
            if (not wanted or record.url in wanted) and (not host or is_on(record.url, host)):
                yield Found(page, record.url)

    def remove(self, pages: Iterable[int]) -> Iterator[Removed]:
        """Remove originals. Each step returns what went in it."""
        waiting = list(pages)
        for first in range(0, len(waiting), _SOME):
            yield self._take_out(self._access.records(waiting[first : first + _SOME]))

    def prune(self, before: str) -> Iterator[Removed]:
        """Remove the originals that no run has met since a time, in steps as ``remove``."""
        since = datetime.fromisoformat(before).timestamp()
        old: dict[int, Record] = {}
        for page, record in self._all():
            if record.met < since:
                old[page] = record
            if len(old) >= _SOME:
                yield self._take_out(old)
                old = {}
        yield self._take_out(old)

    def prune_decisions(self, before: str) -> Iterator[Removed]:
        """Delete decisions of this log from before a time, in steps as ``remove``."""
        return self._log.upkeep.prune_decisions(before)

    def _all(self) -> Iterator[tuple[int, Record]]:
        """Return all pages, oldest first."""
        access = self._access
        (held,) = access.asking(lambda: access.link.ask(("GET", access.keys.held)))
        pages = np.flatnonzero(np.unpackbits(np.frombuffer(held or b"", dtype=np.uint8))).tolist()
        for first in range(0, len(pages), _SOME):
            yield from sorted(access.records(pages[first : first + _SOME]).items())

    def _take_out(self, records: dict[int, Record]) -> Removed:
        """Take pages out. One that changes meanwhile, since it is met, stays."""
        changes = []
        for page, record in records.items():
            change = self._access.change()
            # Who copied a page that may never be stored is to be told. One that is confirmed was,
            # also while a visit to it is open.
            change.delete(page, record, orphans=not record.confirmed)
            changes.append(change)
        done = self._access.commit_all(changes) if changes else []
        gone = [record for record, made in zip(records.values(), done, strict=True) if made]
        self._access.notices |= any(not record.confirmed for record in gone)
        urls = json.dumps([record.url for record in gone])
        with self._log.write():
            copies = self._log.connection.execute(_MARK, (now(), urls)).rowcount
            orphans = tuple(self._orphaned())
        return Removed(len(gone), copies - len(orphans), orphans=orphans)
