"""What the components of one crawler share: config, index, ledger, and the judging itself.

The index is opened when the first page needs it, in the thread that judges, and closed on
``spider_closed``. Whatever goes wrong here lets the page through and is counted.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Literal, TypeVar
from weakref import WeakValueDictionary

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response
from scrapy.statscollectors import StatsCollector

from scrapy_simdedup import workers
from scrapy_simdedup.analysis import Source
from scrapy_simdedup.config import Config, unknown_settings
from scrapy_simdedup.crawl import summary
from scrapy_simdedup.crawl.alarms import Alarms
from scrapy_simdedup.crawl.compat import close_spider, result_of, send
from scrapy_simdedup.crawl.ending import Ending
from scrapy_simdedup.crawl.failures import Failures
from scrapy_simdedup.crawl.guard import META_SCHEDULED, run_by_tool
from scrapy_simdedup.crawl.ledger import Ledger
from scrapy_simdedup.crawl.opening import OpenIndex
from scrapy_simdedup.crawl.pace import Pace
from scrapy_simdedup.crawl.row import Row
from scrapy_simdedup.crawl.settlement import Settlement
from scrapy_simdedup.deduplicator import Deduplicator
from scrapy_simdedup.exceptions import SimDedupError
from scrapy_simdedup.index.records import Subject
from scrapy_simdedup.judge import Judgement
from scrapy_simdedup.signals import near_duplicate_found
from scrapy_simdedup.verdict import Verdict

logger = logging.getLogger(__name__)

Kind = Literal["pages", "items"]
Naming = Callable[[Deduplicator], Subject]
Content = Callable[[], Source]
J = TypeVar("J", Judgement, Judgement | None)

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
        #: Callbacks that got pages, and are not among those to be judged.
        self.other_callbacks: set[str] = set()
        if not self.config.enabled:
            return
        self._index = OpenIndex(crawler, self.config, self._announce)
        self._failures = Failures(crawler, self._index.place, self.count)
        self._settlement = Settlement(
            self._index, self._failures, at_close=self.config.confirm == "close"
        )
        self._ending = Ending(
            crawler, self.config, self._index, self._settlement, self._failures, self._sum_up
        )
        self.ledger = Ledger(self._settlement.settle)
        self.ledger.connect(crawler.signals)
        self._alarms = Alarms()
        self._row = Row(self.config, self._nothing_new)
        self._pace = Pace(crawler, "pages", *(["items"] if self.config.item_fields else []))
        for name, nearest in unknown_settings(crawler.settings).items():
            logger.warning("unknown setting %s%s", name, f": {nearest}?" if nearest else "")
        self._index.check()
        crawler.signals.connect(self._scheduled, signals.request_scheduled)

    @property
    def stats(self) -> StatsCollector:
        """The crawler's stats."""
        stats = self.crawler.stats
        assert stats is not None
        return stats

    def count(self, name: str) -> None:
        """Add 1 to the stat ``simdedup/<name>``; on the event loop's thread only."""
        self.stats.inc_value(f"simdedup/{name}")

    def failed(self, what: str, error: BaseException) -> None:
        """Take note of a failure of ours; what it met is passed on."""
        self._failures.tell(what, error)

    async def judge(
        self, kind: Kind, naming: Naming, source: Content, config: Config, *, start: bool = False
    ) -> Judgement | None:
        """Judge one page or item and count the verdict; None when the crawl is over.

        ``source`` brings the content, in a thread, where it is needed. ``start`` pages, which
        the crawl begins with, are no reason to end it. Raises WorkTimeoutError, and whatever
        goes wrong.
        """
        if self._ending.closed:
            return None
        with self._row.place() as place:
            # A page does not wait for others: a callback may be waiting for it.
            judgement = await self._judge(naming, source, config, patient=kind == "items")
            verdict = judgement.verdict
            place.verdict = None if start else verdict
        self._settlement.collect()
        self.count(f"{kind}/{verdict.label}")
        self._alarms.judged(kind, verdict)
        if (dedup := self._index.opened) is not None:
            # A log of decisions has no rows that could be looked at.
            is_file = dedup.place == str(dedup.path)
            self._alarms.crowded(dedup.crowded_keys, dedup.path if is_file else None)
        return judgement

    async def _judge(
        self, naming: Naming, source: Content, config: Config, *, patient: bool
    ) -> Judgement:
        """Judge by what the index knows of the body, or else by an analysis of it.

        A ``patient`` caller waits for the claim on an original that is not settled yet.
        """
        dedup = await self._index.open()
        subject = naming(dedup)
        confirm = not self.follows_outputs

        def recall(tentative: bool) -> Judgement | None:
            return dedup.recall(subject, config, confirm=confirm, tentative=tentative)

        judgement = await self._decide(recall, patient=patient)
        if judgement is not None:
            return judgement
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

        return await self._decide(judge, patient=patient)

    async def _decide(self, decide: Callable[[bool], J], *, patient: bool) -> J:
        """Run a step of judging, again where it must wait for somebody else's claim."""

        def step(tentative: bool) -> J:
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
        if not self._ending.closed:
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
        self._settlement.orphaned(dedup.reaped)
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

    def _nothing_new(self) -> None:
        told = "scrapy-simdedup: nothing new among the last %d that were judged"
        logger.info(told, self.config.close_after, extra={"spider": self.crawler.spider})
        close_spider(self.crawler, "simdedup_close_after")

    def _sum_up(self, dedup: Deduplicator | None) -> None:
        spider, stats = self.crawler.spider, self.stats.get_stats()
        if spider is None or run_by_tool(spider):
            return
        self._alarms.closed()
        if dedup is not None and summary.judged(stats):
            lines = summary.outcome(stats, self.config, dedup.place, dedup.path, dedup.run)
        else:
            lines = summary.idle(stats, self.config, self.other_callbacks)
        for line in lines:
            logger.info("scrapy-simdedup: %s", line, extra={"spider": spider})

    def _scheduled(self, request: Request) -> None:
        request.meta[META_SCHEDULED] = True
