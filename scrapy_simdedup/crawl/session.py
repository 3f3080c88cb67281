"""What the components of one crawler share: config, index, ledger, and the judging itself.

The index is opened when the first page needs it, in the thread that judges, and closed on
``spider_closed``. Whatever goes wrong here lets the page through and is counted.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from functools import partial
from typing import Any
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
from scrapy_simdedup.crawl.failures import Failures
from scrapy_simdedup.crawl.guard import META_SCHEDULED
from scrapy_simdedup.crawl.ledger import Ledger
from scrapy_simdedup.crawl.opening import OpenIndex
from scrapy_simdedup.crawl.settlement import Settlement
from scrapy_simdedup.crawl.summary import summary
from scrapy_simdedup.deduplicator import Deduplicator
from scrapy_simdedup.exceptions import NearDuplicateItem, SimDedupError
from scrapy_simdedup.index.records import Settled, Subject
from scrapy_simdedup.judge import Judgement
from scrapy_simdedup.logs.export import export_run
from scrapy_simdedup.signals import near_duplicate_found
from scrapy_simdedup.verdict import Verdict

logger = logging.getLogger(__name__)

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
        self._closed = self._ended = False
        self._reason = "failed"
        self.alarms = Alarms()
        if not self.config.enabled:
            return
        self._index = OpenIndex(crawler, self.config, self._announce)
        self._failures = Failures(crawler, self._index.place, self.count)
        self._settlement = Settlement(self._index, at_close=self.config.confirm == "close")
        self.ledger = Ledger(self._settlement.settle)
        for name, nearest in unknown_settings(crawler.settings).items():
            logger.warning("unknown setting %s%s", name, f": {nearest}?" if nearest else "")
        self._index.check()
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
        """Take note of a failure of ours; what it met is passed on."""
        self._failures.tell(what, error)

    async def judge(
        self, naming: Naming, source: Callable[[], Source], config: Config, *, patient: bool
    ) -> Judgement | None:
        """Judge one page or item, analysed where its body is new; None when the crawl is over.

        ``source`` brings the content, in a thread. A ``patient`` caller waits for the claim on
        an original that is not settled yet. Raises WorkTimeoutError, and whatever goes wrong.
        """
        if self._closed:
            return None
        dedup = await self._index.open()
        subject = naming(dedup)
        confirm = not self.follows_outputs

        def recall(tentative: bool) -> Judgement | None:
            return dedup.recall(subject, config, confirm=confirm, tentative=tentative)

        judgement = await self._decide(recall, patient=patient)
        if judgement is None:
            analysis = await result_of(
                workers.submit(
                    source,
                    dedup.recipe(config),
                    workers=self.config.workers,
                    timeout=self.config.timeout,
                )
            )

            def judge(tentative: bool) -> Judgement:
                return dedup.judge(subject, analysis, config, confirm=confirm, tentative=tentative)

            judgement = await self._decide(judge, patient=patient)
        self._collect()
        return judgement

    async def _decide(
        self, decide: Callable[[bool], Judgement | None], *, patient: bool
    ) -> Judgement | None:
        """Run a step of judging, again where it must wait for somebody else's claim."""

        def step(tentative: bool) -> Judgement | None:
            judgement = decide(tentative)
            if judgement and judgement.claim and self.follows_outputs:
                self._settlement.claimed(judgement.claim)
            return judgement

        judgement = await self._index.run(lambda: step(patient))
        if judgement and judgement.tentative:
            await self._settlement.decision(judgement.original_page)
            judgement = await self._index.run(lambda: step(False))
        return judgement

    async def note(self, naming: Naming, verdict: Verdict) -> None:
        """Log a verdict that needed no judging."""
        if not self._closed:
            dedup = await self._index.open()
            await self._index.run(lambda: dedup.note(naming(dedup), verdict))

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

    def _announce(self, dedup: Deduplicator, known: int) -> None:
        self._orphaned(dedup.reaped)
        config = self.config
        logger.info(
            "scrapy-simdedup: %s holds %d originals; methods %s, duplicate pages: %s, items: %s",
            dedup.place,
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
        dedup = self._index.opened
        try:
            if dedup is not None:
                await self._close(dedup, self._reason)
        except Exception as error:
            self.failed("the end of the crawl", error)
            if dedup is not None:
                # Whatever went wrong, the file and its lock are given back.
                with contextlib.suppress(Exception):
                    await self._index.alone(partial(dedup.close, self._reason))
        finally:
            self._index.stop()

    async def _close(self, dedup: Deduplicator, reason: str) -> None:
        feeds = bool(self.crawler.settings.getdict("FEEDS"))
        self._settlement.confirm_at_close(self.stats.get_stats(), feeds=feeds)
        self._collect()
        self._settlement.try_again()
        run = self._index.alone
        self._orphaned(await run(dedup.release_open))
        self._collect()
        originals = await run(dedup.originals)
        self.stats.set_value("simdedup/index/originals", originals)
        if self.config.export:
            spider = self.crawler.spider
            path = await run(lambda: export_run(dedup.path, dedup.run, self.config.export, spider))
            logger.info("scrapy-simdedup: the decisions of this run are in %s", path)
        await run(lambda: dedup.close(reason))
        self.alarms.closed()
        logger.info(
            "scrapy-simdedup: %s; %s now holds %d originals",
            summary(self.stats.get_stats()),
            dedup.place,
            originals,
            extra={"spider": self.crawler.spider},
        )
