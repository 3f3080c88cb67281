"""How many near-duplicates a minute: a line in the log beside Scrapy's own of pages and items."""

from __future__ import annotations

import logging
import time
from typing import Any

from scrapy import Spider, signals
from scrapy.crawler import Crawler

from scrapy_simdedup.crawl.compat import looping_call

logger = logging.getLogger(__name__)

_JUDGED = ("unique", "duplicate", "revisit")


class Pace:
    """Logs, every ``LOGSTATS_INTERVAL`` seconds, what was judged and how fast; 0 is never.

    ``kinds`` are "pages" and "items", as in the names of the stats.
    """

    def __init__(self, crawler: Crawler, *kinds: str) -> None:
        self._crawler = crawler
        self._kinds = kinds
        self._task: Any = None
        self._before: dict[str, tuple[int, int]] = {}
        self._since = 0.0
        self._interval = crawler.settings.getfloat("LOGSTATS_INTERVAL")
        if self._interval > 0:
            crawler.signals.connect(self._opened, signals.spider_opened)
            crawler.signals.connect(self._closed, signals.spider_closed)

    def _opened(self) -> None:
        self._since = time.monotonic()
        self._task = looping_call(self._log)
        self._task.start(self._interval, now=False)

    def _closed(self, spider: Spider) -> None:
        if self._task is not None and self._task.running:
            self._task.stop()

    def _log(self) -> None:
        # The time that has really passed: a busy loop calls late.
        now = time.monotonic()
        minutes = max(now - self._since, 1e-9) / 60
        self._since = now
        told = "; ".join(self._tell(kind, minutes) for kind in self._kinds)
        logger.info("Judged %s", told, extra={"spider": self._crawler.spider})

    def _tell(self, kind: str, minutes: float) -> str:
        stats = self._crawler.stats
        assert stats is not None
        counts = {each: stats.get_value(f"simdedup/{kind}/{each}", 0) for each in _JUDGED}
        judged, copies = sum(counts.values()), counts["duplicate"]
        judged_before, copies_before = self._before.get(kind, (0, 0))
        self._before[kind] = judged, copies
        return (
            f"{judged} {kind} (at {(judged - judged_before) / minutes:.0f} {kind}/min),"
            f" {copies} near-duplicates"
            f" (at {(copies - copies_before) / minutes:.0f} near-duplicates/min)"
        )
