"""The place of an index in Redis: whether it could be opened, and how it is emptied."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from scrapy_simdedup.exceptions import IndexUnusable
from scrapy_simdedup.index.bands import Rows
from scrapy_simdedup.index.records import Signature
from scrapy_simdedup.index.redis.address import Address
from scrapy_simdedup.index.redis.keys import Keys
from scrapy_simdedup.index.redis.link import Link
from scrapy_simdedup.index.redis.log import check_log
from scrapy_simdedup.index.redis.members import living
from scrapy_simdedup.index.redis.server import EMPTYING, check_identity, check_server, refusing
from scrapy_simdedup.index.redis.store import RedisIndex

# Keys that are looked at, and removed, at a time.
_SOME = 1000

# What our keys look like below the prefix, which others may use as well.
_OURS = re.compile(
    rb"live|dead|held|\d+\+?:[0-9a-f]{4}|(page|run|open|copies|body|job|orphans):.+", re.DOTALL
)


class RedisPlace:
    """An address, and the file for the log of decisions."""

    def __init__(self, address: Address, log: Path) -> None:
        self._address = address
        self._keys = Keys(address.prefix)
        #: The file with the log.
        self.path = log.absolute()

    def __str__(self) -> str:
        return str(self._address)

    def check(self, identity: dict[str, Any]) -> None:
        """Raise IndexUnusable where the index could not be opened. Changes nothing."""
        check_log(self.path)
        with self._linked() as link:
            check_server(link)
            (found,) = link.ask(("HMGET", self._keys.meta, "identity", "schema"))
            if found != [None, None]:
                check_identity(link.address, found[0], found[1], identity)

    def check_reset(self) -> None:
        """Raise IndexUnusable where the index could not be emptied. Changes nothing."""
        check_log(self.path)
        with self._linked() as link:
            check_server(link)
            self._refuse_used(link)

    def reset(self) -> str | None:
        """Remove all that the index holds; return what there is to say of it."""
        with self._linked() as link:
            self._refuse_used(link)
            (there,) = link.ask(("EXISTS", self._keys.meta))
            if not there:
                return None
            # Whoever opens it before all is gone is told so.
            link.ask(("HSET", self._keys.meta, "schema", EMPTYING, "id", EMPTYING))
            count = self._remove(link)
            link.ask(("DEL", self._keys.meta))
        return f"{count} keys of {self} were removed"

    def _remove(self, link: Link) -> int:
        start = f"{self._keys.prefix}:"
        cursor, count = b"0", 0
        while True:
            ((cursor, found),) = link.ask(("SCAN", cursor, "MATCH", f"{start}*", "COUNT", _SOME))
            ours = [key for key in found if _OURS.fullmatch(key[len(start) :])]
            if ours:
                link.ask(("UNLINK", *ours))
                count += len(ours)
            if int(cursor) == 0:
                return count

    def _refuse_used(self, link: Link) -> None:
        if living(link, self._keys, self.path):
            raise IndexUnusable(
                f"cannot reset {self}: another run is using it. Try again when it is over; one"
                " that was killed counts for a minute."
            )

    @contextmanager
    def _linked(self) -> Iterator[Link]:
        with closing(Link(self._address)) as link, refusing(self._address):
            yield link

    def open(
        self,
        identity: dict[str, Any],
        rows_of: Callable[[Signature], Rows],
        short: Collection[int],
        *,
        cache: int,
        **options: Any,
    ) -> RedisIndex:
        """Open the index; nothing of it is cached here. Raises IndexUnusable."""
        self.check(identity)
        with refusing(self._address):
            return RedisIndex(self._address, identity, rows_of, short, self.path, **options)
