"""One crawler of the soak: asks for page after page of its site, and stores each item at once."""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.http import Response
from scrapy.settings import Settings

# Requests on their way.
_AHEAD = 16


class SoakSpider(Spider):
    """Asks for the pages from ``begin`` on, or for those of ``numbers``, as others are through."""

    def __init__(self, site: str, begin: int, numbers: list[int] | None, name: str) -> None:
        super().__init__(name)
        self._site = site
        self._numbers = iter(numbers) if numbers else itertools.count(begin)

    async def start(self) -> AsyncIterator[Any]:
        """Ask for the first pages."""
        for _ in range(_AHEAD):
            for request in self._next():
                yield request

    def parse(self, response: Response) -> Iterator[Any]:
        """Make an item of each page, and ask for another one."""
        yield {"url": response.url}
        yield from self._next()

    def lost(self, failure: Any) -> Iterator[Request]:
        """A page that did not come will come again, after the next start or in the last crawl."""
        yield from self._next()

    def _next(self) -> Iterator[Request]:
        for number in self._numbers:
            yield Request(f"{self._site}/{number}", dont_filter=True, errback=self.lost)
            return


class StoreAtOnce:
    """Appends each item's URL to a file, in one write: no kill takes it back."""

    @classmethod
    def from_crawler(cls, crawler: Any) -> StoreAtOnce:
        """Take the file's path from the settings."""
        return cls(crawler.settings["SOAK_STORE"])

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def process_item(self, item: Any) -> Any:
        """Store it."""
        os.write(self._file, item["url"].encode() + b"\n")
        return item


def main() -> None:
    """Crawl as the specification in the first argument says."""
    spec = json.loads(sys.argv[1])
    settings = Settings(
        {
            "ADDONS": {"scrapy_simdedup.Addon": 500},
            "ITEM_PIPELINES": {StoreAtOnce: 900},
            "SIMDEDUP_ACTION": "drop-items",
            "SIMDEDUP_REVISIT_ACTION": "drop-items",
            "SIMDEDUP_TIMEOUT": 3,
            "TELNETCONSOLE_ENABLED": False,
            "RETRY_ENABLED": False,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
            "LOG_LEVEL": "INFO",
            **spec["settings"],
        }
    )
    process = AsyncCrawlerProcess(settings)
    process.crawl(SoakSpider, **spec["arguments"])
    process.start()


if __name__ == "__main__":
    main()
