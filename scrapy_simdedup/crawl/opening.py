"""A crawler's index: opened when the first page needs it, used and closed in one thread."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack
from typing import TypeVar

from scrapy.crawler import Crawler

from scrapy_simdedup.config import Config
from scrapy_simdedup.crawl.compat import result_of
from scrapy_simdedup.crawl.judging import JudgingThread
from scrapy_simdedup.crawl.places import index_and_log, job_name
from scrapy_simdedup.deduplicator import Deduplicator
from scrapy_simdedup.exceptions import IndexUnusable
from scrapy_simdedup.identity import identity_of
from scrapy_simdedup.index.place import place_of

logger = logging.getLogger(__name__)

T = TypeVar("T")

# After an attempt to open the index has failed, the next one waits so many times as long as that
# one took, and so many seconds at least: pages are held up for a part of the time only.
_RETRY_TIMES, _RETRY_SECONDS = 5, 1.0


class OpenIndex:
    """Opens the index once, and runs what is done with it.

    ``announce`` is called when it is open, on the event loop's thread, with the number of
    originals that it holds.
    """

    def __init__(
        self, crawler: Crawler, config: Config, announce: Callable[[Deduplicator, int], None]
    ) -> None:
        self._crawler = crawler
        self._config = config
        self._announce = announce
        self._thread = JudgingThread(lambda: self.require().together())
        self._retry_at = 0.0
        # Of the last failure to open it.
        self._cause: BaseException | None = None
        self._index, log = index_and_log(config, crawler)
        #: Where the index is, and the file of its log.
        self.place = place_of(self._index, log)
        #: The open index, None before it was needed.
        self.opened: Deduplicator | None = None

    def check(self) -> None:
        """Raise IndexUnusable where the index could not be opened. Changes nothing."""
        if self._config.reset:
            self.place.check_reset()
        else:
            self.place.check(identity_of(self._config))

    async def open(self) -> Deduplicator:
        """Return the index, opened by the first call. Raises IndexUnusable."""
        if self.opened is None:
            known = await self.alone(self._open)
            if known is not None:
                self._announce(self.require(), known)
        return self.require()

    def require(self) -> Deduplicator:
        """Return the index, which is open."""
        assert self.opened is not None
        return self.opened

    def submit(self, job: Callable[[], T]) -> Future[T]:
        """Run a job that may share its commit with others; its future waits for the commit."""
        return self._thread.submit(job)

    async def run(self, job: Callable[[], T]) -> T:
        """Run a job that may share its commit with others, and wait for both."""
        return await result_of(self._thread.submit(job))

    async def alone(self, job: Callable[[], T]) -> T:
        """Run a job outside any transaction, and wait for it."""
        return await result_of(self._thread.alone(job))

    def stop(self) -> None:
        """Take no more jobs."""
        self._thread.stop()

    def _open(self) -> int | None:
        """Open the index, in its thread; None when somebody else was first."""
        if self.opened is not None:
            return None
        if time.monotonic() < self._retry_at:
            raise IndexUnusable(f"{self.place} could not be opened a moment ago") from self._cause
        began = time.monotonic()
        spider = self._crawler.spider
        try:
            if self._config.reset:
                done = self.place.reset()
                if done is not None:
                    logger.info("SIMDEDUP_RESET: %s", done)
            with ExitStack() as undo:
                dedup = Deduplicator(
                    self._index,
                    self._config,
                    spider=spider.name if spider else "",
                    job=job_name(self._crawler),
                    log=self.place.path,
                )
                undo.callback(dedup.close, "failed")
                known = dedup.originals()
                undo.pop_all()
        except Exception as error:
            self._cause = error
            ended = time.monotonic()
            self._retry_at = ended + max(_RETRY_SECONDS, _RETRY_TIMES * (ended - began))
            raise
        self.opened = dedup
        return known
