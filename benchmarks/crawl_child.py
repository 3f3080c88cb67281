"""Run one crawl as a specification file says; the meter writes down what it cost."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import crawl_meter
from crawl_pages import WARM
from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response, TextResponse
from scrapy.settings import Settings

from scrapy_simdedup import workers
from scrapy_simdedup.analysis import Recipe, Source
from scrapy_simdedup.config import Config

# Requests that wait or are worked on: enough to keep all places busy, few enough for memory.
_AHEAD = 32


class PageSpider(Spider):
    """Asks for the warm-up pages, and after them for the pages; an item for each."""

    name = "pages"

    def __init__(self, spec: dict[str, Any]) -> None:
        super().__init__()
        self._site = spec["site"]
        self._paths = iter(f"{spec['paths']}{number}" for number in range(spec["pages"]))
        self._warming = WARM

    async def start(self) -> AsyncIterator[Any]:
        """Ask for the warm-up pages."""
        for number in range(WARM):
            yield Request(f"{self._site}/warm/{number}", self.warmed, meta={"warm": True})

    def warmed(self, response: Response) -> Iterator[Request]:
        """Begin with the pages when all is warm."""
        self._warming -= 1
        if not self._warming:
            for _ in range(_AHEAD):
                yield from self._next()

    def parse(self, response: Response) -> Iterator[Any]:
        """Make an item, and ask for another page."""
        verdict = response.meta.get("simdedup_verdict") or {}
        yield {
            "url": response.url,
            "size": len(response.body),
            "status": verdict.get("status", "not judged"),
        }
        yield from self._next()

    def _next(self) -> Iterator[Request]:
        for path in self._paths:
            yield Request(self._site + path, self.parse)
            return


class ExtractionOnly:
    """Awaits the bare extraction of each page, in the workers that the plugin would use."""

    @classmethod
    def from_crawler(cls, crawler: Any) -> ExtractionOnly:
        """Take the number of workers from the settings, as the plugin does."""
        return cls(Config.from_settings(crawler.settings))

    def __init__(self, config: Config) -> None:
        self._config = config
        self._recipe = Recipe(extractor="crawl_bare.extract")

    async def process_response(
        self, request: Request, response: TextResponse, spider: Spider | None = None
    ) -> Response:
        """Return the response as it is, when its text has been extracted."""
        future = workers.submit(
            lambda: Source((response.text,)),
            self._recipe,
            workers=self._config.workers,
            timeout=self._config.timeout,
        )
        await asyncio.wrap_future(future)
        return response


#: What each kind of crawl adds to the settings.
KINDS: dict[str, dict[str, Any]] = {
    "scrapy alone": {},
    "with the plugin": {"ADDONS": {"scrapy_simdedup.Addon": 500}},
    "extraction alone": {"DOWNLOADER_MIDDLEWARES": {ExtractionOnly: 90}},
}


def main(path: str) -> int:
    """Crawl, and return the exit code."""
    spec = json.loads(Path(path).read_text())
    settings = Settings(
        {
            "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
            "BENCHMARK": {"sample": False, **spec},
            "EXTENSIONS": {crawl_meter.Meter: 0},
            "CONCURRENT_REQUESTS": 16,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
            "DOWNLOAD_DELAY": 0,
            "ROBOTSTXT_OBEY": False,
            "TELNETCONSOLE_ENABLED": False,
            "LOG_LEVEL": "WARNING",
            **KINDS[spec["kind"]],
            **spec["settings"],
        }
    )
    process = CrawlerProcess(settings)
    process.crawl(PageSpider, spec=spec)
    process.start()
    return int(process.bootstrap_failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
