"""What the components of one crawler share: config, index, ledger, and the judging itself.

The index is opened when the first page needs it, in the thread that judges, and closed on
``spider_closed``. Whatever goes wrong here lets the page through and is counted.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response
from scrapy.statscollectors import StatsCollector

from scrapy_simdedup import workers
from scrapy_simdedup.analysis import Source
from scrapy_simdedup.config import Config, unknown_settings
from scrapy_simdedup.crawl.alarms import Alarms
from scrapy_simdedup.crawl.compat import result_of, send
from scrapy_simdedup.crawl.guard import META_SCHEDULED
from scrapy_simdedup.crawl.ledger import Ledger
from scrapy_simdedup.crawl.places import index_path, job_name
from scrapy_simdedup.crawl.settlement import Settlement
from scrapy_simdedup.crawl.summary import summary
from scrapy_simdedup.deduplicator import Deduplicator
from scrapy_simdedup.exceptions import IndexUnusable, NearDuplicateItem, SimDedupError
from scrapy_simdedup.identity import identity_of
from scrapy_simdedup.index.files import check_place, check_unused, check_usable, move_aside
from scrapy_simdedup.index.records import Settled, Subject
from scrapy_simdedup.judge import Judgement
from scrapy_simdedup.logs.export import export_run
from scrapy_simdedup.signals import near_duplicate_found
from scrapy_simdedup.verdict import Verdict

logger = logging.getLogger(__name__)

T = TypeVar("T")

# How long after a failure the index is not tried to be opened again, in seconds.
_RETRY_SECONDS = 60.0

Naming = Callable[[Deduplicator], Subject]

# By the crawler's id: a session keeps its crawler alive, and the components keep the session.
_sessions: WeakValueDictionary[int, Session] = WeakValueDictionary()


class Session:
    """One crawler's deduplication."""

    @classmethod
    def of(cls, crawler: Crawler) -> Session:
        """Return the crawler's session, made by whichever component asks first.

        Raises NotConfigured where ``SIMDEDUP_ENABLED`` is off, ConfigError for a bad setting
        and IndexUnusable for an index that could not be opened; Scrapy then ends with exit
        code 1.
        """
        session = _sessions.get(id(crawler))
        if session is None:
            try:
                session = cls(crawler)
            except SimDedupError as error:
                logger.error("scrapy-simdedup cannot start: %s", error)
                # Before 2.18, Scrapy's exit code tells of a failed start only when there is no
                # spider.
                crawler.spider = None
                raise
            _sessions[id(crawler)] = session
        if not session.config.enabled:
            raise NotConfigured
        return session

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.config = Config.from_settings(crawler.settings)
        #: Whether outputs are followed; without that, claims are confirmed as they are made.
        self.follows_outputs = False
        self._dedup: Deduplicator | None = None
        self._closed = self._ended = False
        self._reason = "failed"
        self._failures = 0
        self._retry_at = 0.0
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="simdedup-judge")
        self._settlement = Settlement(
            self._executor, self._opened, at_close=self.config.confirm == "close"
        )
        self.ledger = Ledger(self._settlement.settle)
        self.alarms = Alarms()
        if not self.config.enabled:
            return
        for name, nearest in unknown_settings(crawler.settings).items():
            logger.warning("unknown setting %s%s", name, f": {nearest}?" if nearest else "")
        self.path = index_path(self.config, crawler)
        if self.config.reset:
            check_place(self.path)
            check_unused(self.path)
        else:
            check_usable(self.path, identity_of(self.config))
        connect = crawler.signals.connect
        connect(self._scheduled, signals.request_scheduled)
        connect(self._item_scraped, signals.item_scraped)
        connect(self._item_dropped, signals.item_dropped)
        connect(self._item_error, signals.item_error)
        connect(self._spider_closed, signals.spider_closed)
        connect(self._engine_stopped, signals.engine_stopped)

    @property
    def stats(self) -> StatsCollector:
        """The crawler's stats."""
        stats = self.crawler.stats
        assert stats is not None
        return stats

    def count(self, name: str, by: int = 1) -> None:
        """Add to the stat ``simdedup/<name>``; on the event loop's thread only."""
        self.stats.inc_value(f"simdedup/{name}", by)

    def failed(self, what: str, error: BaseException) -> None:
        """Count a failure of ours; the first one is logged with its traceback."""
        self._failures += 1
        self.count("errors")
        first = self._failures == 1
        logger.log(
            logging.ERROR if first else logging.DEBUG,
            "scrapy-simdedup could not judge %s, which is passed on: %s: %s",
            what,
            type(error).__name__,
            error,
            exc_info=error if first else None,
            extra={"spider": self.crawler.spider},
        )

    async def judge(
        self, naming: Naming, source: Callable[[], Source], config: Config, *, patient: bool
    ) -> Judgement | None:
        """Analyse and judge one page or item; None when the crawl is over already.

        ``source`` brings the content, in a thread. A ``patient`` caller waits for the claim on
        an original that is not settled yet. Raises WorkTimeoutError, and whatever goes wrong.
        """
        if self._closed:
            return None
        dedup = await self._open()
        recipe = dedup.recipe(config)
        future = workers.submit(
            source, recipe, workers=self.config.workers, timeout=self.config.timeout
        )
        analysis = await result_of(future)

        def judge(tentative: bool) -> Judgement:
            judgement = dedup.judge(
                naming(dedup),
                analysis,
                config,
                confirm=not self.follows_outputs,
                tentative=tentative,
            )
            if judgement.claim is not None and self.follows_outputs:
                self._settlement.claimed(judgement.claim)
            return judgement

        judgement = await self._run(lambda: judge(patient))
        if judgement.tentative:
            await self._settlement.decision(judgement.original_page)
            judgement = await self._run(lambda: judge(False))
        self._collect()
        return judgement

    async def note(self, naming: Naming, verdict: Verdict) -> None:
        """Log a verdict that needed no judging."""
        if not self._closed:
            dedup = await self._open()
            await self._run(lambda: dedup.note(naming(dedup), verdict))

    async def found(
        self, verdict: Verdict, what: str, *, response: Response | None = None, item: Any = None
    ) -> None:
        """Tell of a near-duplicate: a DEBUG line, and the signal."""
        spider = self.crawler.spider
        logger.debug(
            "Near-duplicate of %(original)s (%(measures)s): %(what)s",
            {"original": verdict.original, "measures": verdict.measures, "what": what},
            extra={"spider": spider},
        )
        await send(
            self.crawler,
            near_duplicate_found,
            verdict=verdict,
            spider=spider,
            response=response,
            item=item,
        )

    async def _run(self, function: Callable[[], T]) -> T:
        return await result_of(self._executor.submit(function))

    async def _open(self) -> Deduplicator:
        if self._dedup is not None:
            return self._dedup
        announced = await self._run(self._opened_first)
        if announced is not None:
            self._announce(*announced)
        return self._opened()

    def _opened_first(self) -> tuple[Deduplicator, int] | None:
        """Open the index, in the judging thread; None when somebody else was first."""
        if self._dedup is not None:
            return None
        if time.monotonic() < self._retry_at:
            raise IndexUnusable(f"{self.path} could not be opened a moment ago")
        # Until it is open: an index that is locked makes each page wait for its time-out.
        self._retry_at = time.monotonic() + _RETRY_SECONDS
        if self.config.reset:
            aside = move_aside(self.path)
            if aside is not None:
                logger.info("SIMDEDUP_RESET: the index so far is now %s", aside)
        spider = self.crawler.spider
        dedup = Deduplicator(
            self.path, self.config, spider=spider.name if spider else "", job=job_name(self.crawler)
        )
        known = dedup.originals()
        self._dedup = dedup
        return dedup, known

    def _opened(self) -> Deduplicator:
        assert self._dedup is not None
        return self._dedup

    def _announce(self, dedup: Deduplicator, known: int) -> None:
        self._orphaned(dedup.reaped)
        config = self.config
        logger.info(
            "scrapy-simdedup: %s holds %d originals; methods %s, duplicate pages: %s, items: %s",
            dedup.path,
            known,
            "+".join(config.methods),
            config.action,
            config.item_action if config.item_fields else "not judged",
            extra={"spider": self.crawler.spider},
        )
        if not self.follows_outputs:
            logger.warning(
                "SimDedupSpiderMiddleware is not enabled: a page counts as kept as soon as it is"
                " judged, and drop-items drops nothing"
            )

    def _collect(self) -> None:
        for future in self._settlement.collect():
            error = future.exception()
            if error is not None:
                self.failed("a claim", error)
            else:
                self._orphaned(future.result())

    def _orphaned(self, settled: Settled) -> None:
        for orphan in settled.orphans:
            self.count(f"{orphan.kind}s/orphaned")

    def _scheduled(self, request: Request) -> None:
        request.meta[META_SCHEDULED] = True

    def _item_scraped(self, item: Any, response: Any) -> None:
        self.ledger.outcome(item, response, "scraped")

    def _item_dropped(self, item: Any, response: Any, exception: BaseException) -> None:
        ours = isinstance(exception, NearDuplicateItem)
        self.ledger.outcome(item, response, "dropped-by-us" if ours else "dropped")

    def _item_error(self, item: Any, response: Any) -> None:
        self.ledger.outcome(item, response, "error")

    async def _spider_closed(self, reason: str) -> None:
        self._closed = True
        self._reason = reason
        # The feeds are stored by another handler of this signal, and handlers have no order.
        if self.config.confirm != "close":
            await self._end()

    async def _engine_stopped(self) -> None:
        await self._end()

    async def _end(self) -> None:
        if self._ended:
            return
        self._ended = True
        try:
            if self._dedup is not None:
                await self._close(self._dedup, self._reason)
        except Exception as error:
            self.failed("the end of the crawl", error)
        finally:
            self._executor.shutdown(wait=False)

    async def _close(self, dedup: Deduplicator, reason: str) -> None:
        feeds = bool(self.crawler.settings.getdict("FEEDS"))
        self._settlement.confirm_at_close(self.stats.get_stats(), feeds=feeds)
        self._orphaned(await self._run(dedup.release_open))
        self._collect()
        originals = await self._run(dedup.originals)
        self.stats.set_value("simdedup/index/originals", originals)
        if self.config.export:
            spider = self.crawler.spider
            path = await self._run(
                lambda: export_run(dedup.path, dedup.run, self.config.export, spider)
            )
            logger.info("scrapy-simdedup: the decisions of this run are in %s", path)
        await self._run(lambda: dedup.close(reason))
        self.alarms.closed()
        logger.info(
            "scrapy-simdedup: %s; %s now holds %d originals",
            summary(self.stats.get_stats()),
            dedup.path,
            originals,
            extra={"spider": self.crawler.spider},
        )
