"""What the parts of an open index in Redis share: the connection, the run, and how it changes."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from scrapy_simdedup.index.bands import Rows
from scrapy_simdedup.index.records import Claim, Signature
from scrapy_simdedup.index.redis.changes import Change
from scrapy_simdedup.index.redis.keys import Keys
from scrapy_simdedup.index.redis.link import Gone, Link
from scrapy_simdedup.index.redis.record import Record
from scrapy_simdedup.index.redis.rows import Layout
from scrapy_simdedup.index.redis.run import Run

logger = logging.getLogger(__name__)

T = TypeVar("T")

# Records of open claims that are kept in memory.
_MOST_WRITTEN = 1024


class Overtaken(Exception):
    """What a judgement looked at has changed: it is to be made anew."""


class Access:
    """An open index; ``life`` is how long a page is kept after it was met, in ms, 0 for ever."""

    def __init__(
        self,
        link: Link,
        keys: Keys,
        layout: Layout,
        rows_of: Callable[[Signature], Rows],
        run: Run,
        life: int,
    ) -> None:
        self.link = link
        self.keys = keys
        self.layout = layout
        self.rows_of = rows_of
        self.run = run
        self.life = life
        #: The token of a step of which it is not known whether it was made.
        self.unsure: tuple[int, str] | None = None
        #: Whether notices to the log are waiting, that copies in it have lost their original.
        self.notices = True
        # Records as this run wrote them last: most are still the same when they are settled.
        self._written: dict[int, Record] = {}
        self._told = False

    def asking(self, ask: Callable[[], T]) -> T:
        """Return what ``ask`` returns; where the server has lost us, begin and ask again."""
        try:
            return ask()
        except Gone:
            self.run.begin()
            return ask()

    def change(self) -> Change:
        """Return a change with nothing in it."""
        return Change(self.keys, self.layout, self.rows_of, self.life)

    def commit(self, change: Change) -> bool:
        """Make a change that may be made twice; return whether what it rests on was still so."""
        return bool(self.link.run("commit", *self._commit(change)))

    def commit_all(self, changes: list[Change]) -> list[bool]:
        """Make several such changes, each for itself, in one round trip."""
        return list(map(bool, self.link.run_all("commit", map(self._commit, changes))))

    def _commit(
        self, change: Change, token: str = "", page: int = 0
    ) -> tuple[list[str], list[Any]]:
        keys = [self.keys.meta, self.keys.run(self.run.number)]
        return keys, change.arguments(self.run.index, token, page)

    def step(self, change: Change, page: int) -> None:
        """Make a judgement's change of a page, once. Raises Overtaken if it rests on old facts."""
        token = self.token()
        done = self.link.run("commit", *self._commit(change, token, page))
        self.unsure = None
        if not done:
            raise Overtaken

    def token(self) -> str:
        """Return a token for a step, and remember that it is not known to be made.

        An answer may get lost: the server knows a step that it has made by its token.
        """
        token = os.urandom(8).hex()
        self.unsure = (self.run.number, token)
        return token

    def left_behind(self) -> Claim | None:
        """Return the claim of a step that was made although its answer never came, once."""
        if self.unsure is None:
            return None
        number, token = self.unsure
        (found,) = self.link.ask(("HMGET", self.keys.run(number), "token", "result"))
        self.unsure = None
        if found[0] is None or found[0].decode() != token:
            return None
        page = int(found[1])
        record = self.record(page)
        if record is None:
            return None
        return Claim(page, number, new=record.run == number and not record.confirmed)

    def records(self, pages: Sequence[int]) -> dict[int, Record]:
        """Return the records of those pages that are stored and sound."""
        if not pages:
            return {}
        (found,) = self.link.ask(("MGET", *map(self.keys.page, pages)))
        return self.read(
            {page: raw for page, raw in zip(pages, found, strict=True) if raw is not None}
        )

    def wrote(self, page: int, record: Record) -> None:
        """Take note of a record that has just been stored."""
        if len(self._written) >= _MOST_WRITTEN:
            self._written.pop(next(iter(self._written)), None)
        self._written[page] = record.changed(raw=record.pack())

    def written(self, pages: Sequence[int]) -> dict[int, Record]:
        """Return the records of pages as they were written last, once, or as they are."""
        found = {page: self._written.pop(page) for page in pages if page in self._written}
        return found | self.records([page for page in pages if page not in found])

    def record(self, page: int) -> Record | None:
        """Return the record of a page, None where it is not stored."""
        return self.records([page]).get(page)

    def read(self, found: Mapping[int, bytes]) -> dict[int, Record]:
        """Read records; damaged ones are as good as none."""
        read = {}
        for page, raw in found.items():
            try:
                read[page] = Record.unpack(raw)
            except ValueError as error:
                self.tell_of(page, error)
        return read

    def tell_of(self, page: int, error: Exception) -> None:
        """Warn, once, of a page that cannot be read."""
        if not self._told:
            self._told = True
            logger.warning(
                "%s: page %d cannot be read and counts as unknown: %s",
                self.link.address,
                page,
                error,
            )
