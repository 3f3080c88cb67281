"""The end of a crawl: claims are settled, the log is written, the run and the file are closed."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from functools import partial

from scrapy import signals
from scrapy.crawler import Crawler

from scrapy_simdedup.config import Config
from scrapy_simdedup.crawl.failures import Failures
from scrapy_simdedup.crawl.opening import OpenIndex
from scrapy_simdedup.crawl.settlement import Settlement
from scrapy_simdedup.deduplicator import Deduplicator
from scrapy_simdedup.logs.export import export_run

logger = logging.getLogger(__name__)


class Ending:
    """Closes a crawler's index once; ``sum_up`` is called with it, or with None if unopened."""

    def __init__(
        self,
        crawler: Crawler,
        config: Config,
        index: OpenIndex,
        settlement: Settlement,
        failures: Failures,
        sum_up: Callable[[Deduplicator | None], None],
    ) -> None:
        self._crawler = crawler
        self._config = config
        self._index = index
        self._settlement = settlement
        self._failures = failures
        self._sum_up = sum_up
        self._reason = "failed"
        self._ended = False
        #: Whether the spider is closed, so that nothing more is judged.
        self.closed = False
        crawler.signals.connect(self._spider_closed, signals.spider_closed)
        crawler.signals.connect(self._engine_stopped, signals.engine_stopped)

    async def _spider_closed(self, reason: str) -> None:
        self.closed = True
        self._reason = reason
        # The feeds are stored by another handler of this signal, and handlers have no order.
        if self._config.confirm != "close":
            await self._end()

    async def _engine_stopped(self) -> None:
        await self._end()

    async def _end(self) -> None:
        if self._ended:
            return
        self._ended = True
        dedup = self._index.opened
        try:
            if dedup is not None:
                await self._close(dedup)
        except Exception as error:
            self._failures.tell("the end of the crawl", error)
            if dedup is not None:
                # Whatever went wrong, the file and its lock are given back.
                with contextlib.suppress(Exception):
                    await self._index.alone(partial(dedup.close, self._reason))
        finally:
            self._index.stop()
        if self.closed:
            self._sum_up(dedup)

    async def _close(self, dedup: Deduplicator) -> None:
        settlement, run = self._settlement, self._index.alone
        stats = self._crawler.stats
        assert stats is not None
        feeds = bool(self._crawler.settings.getdict("FEEDS"))
        settlement.confirm_at_close(stats.get_stats(), feeds=feeds)
        settlement.collect()
        settlement.try_again()
        settlement.orphaned(await run(dedup.release_open))
        settlement.collect()
        stats.set_value("simdedup/index/originals", await run(dedup.originals))
        if dedup.crowded_keys:
            stats.set_value("simdedup/crowded_keys", dedup.crowded_keys)
        if self._config.export:
            path = await run(
                lambda: export_run(dedup.path, dedup.run, self._config.export, self._crawler.spider)
            )
            logger.info("scrapy-simdedup: the decisions of this run are in %s", path)
        await run(partial(dedup.close, self._reason))
