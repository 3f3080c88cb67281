"""The add-on: ``ADDONS = {"scrapy_simdedup.Addon": 500}`` enables everything."""

from __future__ import annotations

from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings

from scrapy_simdedup.crawl.downloader import SimDedupDownloaderMiddleware
from scrapy_simdedup.crawl.pipeline import SimDedupPipeline
from scrapy_simdedup.crawl.session import Session
from scrapy_simdedup.crawl.spider import SimDedupSpiderMiddleware

#: The components and their orders; a place that the project gives one of them wins.
ORDERS = (
    ("DOWNLOADER_MIDDLEWARES", SimDedupDownloaderMiddleware, 90),
    ("SPIDER_MIDDLEWARES", SimDedupSpiderMiddleware, 10),
    ("ITEM_PIPELINES", SimDedupPipeline, 300),
)


class Addon:
    """Puts the middlewares and the pipeline in their places, and checks the settings at once."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Addon:
        """Keep the crawler, whose spider and settings are final by now."""
        return cls(crawler)

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._session: Session | None = None

    def update_settings(self, settings: BaseSettings) -> None:
        """Add the components. Raises NotConfigured, ConfigError and IndexUnusable."""
        self._session = Session.of(self._crawler)
        for name, component, order in ORDERS:
            settings.setdefault_in_component_priority_dict(name, component, order)
