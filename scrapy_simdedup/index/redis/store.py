"""An open index in a Redis server, and the run that opened it."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TypeVar

from scrapy_simdedup.exceptions import IndexUnusable
from scrapy_simdedup.index.bands import Rows
from scrapy_simdedup.index.records import Settled, Signature, Subject
from scrapy_simdedup.index.redis.access import Access, Overtaken
from scrapy_simdedup.index.redis.address import Address
from scrapy_simdedup.index.redis.bodies import RedisBodies
from scrapy_simdedup.index.redis.claims import RedisClaims
from scrapy_simdedup.index.redis.heart import Heart
from scrapy_simdedup.index.redis.keys import Keys
from scrapy_simdedup.index.redis.link import Gone, Link
from scrapy_simdedup.index.redis.log import adopt, of_log
from scrapy_simdedup.index.redis.notices import Notices
from scrapy_simdedup.index.redis.pages import RedisPages
from scrapy_simdedup.index.redis.rows import Layout
from scrapy_simdedup.index.redis.run import Run
from scrapy_simdedup.index.redis.upkeep import RedisUpkeep
from scrapy_simdedup.index.sqlite import SqliteIndex
from scrapy_simdedup.index.store import Memory, Plans, Sight

logger = logging.getLogger(__name__)

T = TypeVar("T")

# A judgement is made anew so often: each time another one has come to an end meanwhile.
_MOST_ATTEMPTS = 100

_LOG_CACHE = 4 << 20


class RedisIndex:
    """An open index at an address, with its log of decisions in a local file.

    ``rows_of`` turns a signature into the rows to store for it; those of the bands ``short``
    have keys of 32 bits. ``max_age`` is how long a page is kept after it was met, in seconds,
    0 for ever. Not thread-safe: whoever owns it calls it from one thread at a time.
    """

    def __init__(
        self,
        address: Address,
        identity: dict[str, Any],
        rows_of: Callable[[Signature], Rows],
        short: Collection[int],
        log: Path,
        *,
        spider: str = "",
        job: str = "",
        settings: str = "{}",
        versions: str = "{}",
        max_age: float = 0.0,
    ) -> None:
        self.place = str(address)
        keys = Keys(address.prefix)
        self._link = Link(address)
        with ExitStack() as undo:
            undo.callback(self._link.close)
            adopt(log, identity)
            self._log = SqliteIndex(
                log,
                of_log(identity),
                lambda _: [],
                spider=spider,
                job=job,
                settings=settings,
                versions=versions,
                cache=_LOG_CACHE,
            )
            undo.callback(self._log.close, "failed")
            self.path, self.logged, self.texts = self._log.path, self._log.logged, self._log.texts
            #: Run a block as one transaction of the log; join the transactions of a block.
            self.write, self.together = self._log.write, self._log.together
            about = {
                "spider": spider,
                "job": job,
                "started": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            }
            self._run = Run(
                self._link, keys, identity, about, self._log_id(), self.path, self._lock_name()
            )
            layout = Layout(address.prefix, short)
            self._access = Access(
                self._link, keys, layout, rows_of, self._run, round(max_age * 1000)
            )
            self._notices = Notices(self._access, self._log.connection, self.logged)
            #: Return the copies in the log whose originals came to nothing, and mark them there.
            self.orphaned = self._notices.orphaned
            self.bodies = RedisBodies(self._access)
            self.pages = RedisPages(self._access, self.bodies.read)
            self.claims = RedisClaims(self._access, self.pages.going_by)
            #: What takes originals out.
            self.upkeep = RedisUpkeep(self._access, self._log, self.orphaned)
            self._open()
            undo.pop_all()
        self._heart = Heart(self._link, self._beat)
        self._heart.start()

    def _open(self) -> None:
        self._run.begin()
        self._size = self.originals()
        count = self._reap()
        with self.write():
            #: What runs that died left behind, and the copies of it that this log holds.
            self.reaped = Settled(count, self.orphaned())

    def _log_id(self) -> str:
        """Return the log's own number, by which others leave notices for it."""
        execute = self._log.connection.execute
        new = "INSERT INTO meta VALUES ('log', ?) ON CONFLICT DO NOTHING"
        with self._log.write():
            execute(new, (uuid.uuid4().hex,))
        return str(execute("SELECT value FROM meta WHERE key = 'log'").fetchone()[0])

    def _lock_name(self) -> str:
        execute = self._log.connection.execute
        return str(execute("SELECT lock FROM runs WHERE id = ?", (self._log.run,)).fetchone()[0])

    @property
    def run(self) -> int:
        """The number that claims go by."""
        return self._run.number

    @property
    def job_runs(self) -> frozenset[int]:
        """The run itself, and those of the same job that it resumes."""
        return self._run.job

    def attempt(self, step: Callable[[], T]) -> T:
        """Run a step of judging, again and again until nobody has overtaken it."""
        self._come_to_terms()
        self.pages.forget()
        for _ in range(_MOST_ATTEMPTS):
            try:
                with self.write():
                    return step()
            except Overtaken:
                self.pages.again()
            except Gone:
                self._run.begin()
                self.pages.forget()
            except BaseException:
                self._undo()
                raise
        raise IndexUnusable(f"{self.place}: a page was overtaken {_MOST_ATTEMPTS} times")

    def _come_to_terms(self) -> None:
        """Find out what became of this run and of its last step while the server was away."""
        if self._run.lost:
            self._run.begin()
        claim = self._access.left_behind()
        if claim is not None:
            self.claims.release([claim])

    def _undo(self) -> None:
        """Give up the claim of a judgement that failed after that."""
        if self.pages.claim is not None:
            try:
                self.claims.release([self.pages.claim])
            except Exception as error:
                # It is released at the end of the run, or when that is found dead.
                logger.debug("the claim on page %d stays: %s", self.pages.claim.page, error)

    def look(self, subject: Subject, plans: Callable[[], Plans]) -> Sight:
        """Return what judging a subject needs to see, all of it read at once."""
        return self.pages.look(subject, plans)

    def recollect(self, subject: Subject, rules: int) -> Memory:
        """Return what the index knows of a subject's body, all of it read at once."""
        return self.pages.recollect(subject, self._access.keys.body(subject, rules))

    def is_alive(self, run: int) -> bool:
        """Tell whether a run was alive at the last look."""
        return self._run.is_alive(run)

    def is_old(self, run: int) -> bool:
        """Tell that no page is too old: those that are have expired."""
        return False

    @property
    def crowded_keys(self) -> int:
        """How often a look-up of this run left out a key that too many pages share."""
        return self.pages.crowded

    def size(self) -> int:
        """Return how many pages the index held when it was opened."""
        return self._size

    def originals(self) -> int:
        """Return how many pages and items the index holds."""
        (count,) = self._access.asking(lambda: self._link.ask(("BITCOUNT", self._access.keys.held)))
        return int(count)

    def log(self, values: Sequence[Any]) -> int:
        """Append a decision: the values of all columns but id, run and time, in order.

        The last one is the digest of the text, which is noted where that text is stored. Returns
        the decision's number. A copy of an original that may come to nothing leans on it.
        """
        kind, url, status, reason, original, page, *measures = values
        # The pages that the log could point to are not in its file.
        number = self._log.log([kind, url, status, reason, original, None, *measures])
        if status == "duplicate" and not self.pages.settled(page):
            self.pages.lean(page, self._notices.leaning(number))
        *others, _, terms, text = measures
        stored = text if text is not None and self.texts.has(text) else None
        self.bodies.logged = (number, (status, reason, page, *others, terms, stored))
        return number

    def _reap(self) -> int:
        """Release what dead runs left open; return how many claims that were."""
        count = 0
        for member in self._run.bury():
            count += self.claims.release(self.claims.open_claims(member.number)).count
            self._run.buried(member)
        return count

    def _beat(self) -> None:
        if self._run.beat():
            self._reap()

    def close(self, reason: str) -> None:
        """End the run and let go of the index; open claims are released first."""
        self._heart.stop()
        try:
            for number in self._run.numbers:
                self.claims.release(self.claims.open_claims(number))
            with self.write():
                self.orphaned()
            self._run.end(reason)
        except IndexUnusable as error:
            logger.warning(
                "%s; what this run has left open there is released once it is taken for dead",
                error,
            )
        finally:
            self._link.close()
            self._log.close(reason)
