"""Run one crawl as a specification file says, and write down all that happened.

Deprecation warnings are errors: Scrapy's own, and any that our package causes.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from itemadapter import ItemAdapter
from scrapy import signals
from scrapy.crawler import CrawlerProcess
from scrapy.exceptions import ScrapyDeprecationWarning
from scrapy.settings import Settings

from scrapy_simdedup.signals import near_duplicate_found

REACTORS = {
    "asyncio": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
    "select": "twisted.internet.selectreactor.SelectReactor",
}


class Recorder:
    """Writes down what signals and callbacks tell; an extension."""

    seen: dict[str, Any]

    @classmethod
    def from_crawler(cls, crawler: Any) -> Recorder:
        return cls(crawler)

    def __init__(self, crawler: Any) -> None:
        self.crawler = crawler
        crawler.recorder = self
        self.seen = {
            "scraped": [],
            "dropped": [],
            "errors": 0,
            "called": [],
            "verdicts": {},
            "flags": {},
            "signals": [],
            "errbacks": [],
        }
        self.out = Path(crawler.settings["TEST_OUT"])
        connect = crawler.signals.connect
        connect(self.scraped, signals.item_scraped)
        connect(self.dropped, signals.item_dropped)
        connect(self.error, signals.item_error)
        connect(self.found, near_duplicate_found)
        connect(self.stopped, signals.engine_stopped)

    def scraped(self, item: Any) -> None:
        self.seen["scraped"].append(dict(ItemAdapter(item)))
        # A killed process leaves this much behind.
        with self.out.with_suffix(".scraped").open("a") as out:
            print(ItemAdapter(item)["url"], file=out)

    def dropped(self, item: Any, exception: Exception) -> None:
        self.seen["dropped"].append((type(exception).__name__, dict(ItemAdapter(item))))

    def error(self) -> None:
        self.seen["errors"] += 1

    def found(self, verdict: Any, response: Any, item: Any) -> None:
        where = urlsplit(response.url).path if response is not None else "item"
        self.seen["signals"].append({"at": where, "original": verdict.original})

    def stopped(self) -> None:
        self.seen["stats"] = self.crawler.stats.get_stats()
        self.out.write_text(json.dumps(self.seen, default=str))


def main(path: str) -> int:
    """Crawl and return the exit code that ``scrapy crawl`` would have."""
    spec = json.loads(Path(path).read_text())
    warnings.filterwarnings("error", category=ScrapyDeprecationWarning)
    warnings.filterwarnings("error", category=DeprecationWarning, module=r"scrapy_simdedup.*")
    settings = Settings(
        {
            "ADDONS": {"scrapy_simdedup.Addon": 500},
            # The second one does nothing until a setting of its own is set.
            "EXTENSIONS": {Recorder: 0, "scrapy.extensions.periodic_log.PeriodicLog": 0},
            "TEST_OUT": spec["out"],
            "TELNETCONSOLE_ENABLED": False,
            "LOG_LEVEL": "DEBUG",
            **spec["settings"],
        }
    )
    kind: Any = CrawlerProcess
    if spec["reactor"] == "none":
        settings.set("TWISTED_REACTOR_ENABLED", False)
    else:
        settings.set("TWISTED_REACTOR", REACTORS[spec["reactor"]])
    if spec["reactor"] != "select":
        try:
            from scrapy.crawler import AsyncCrawlerProcess as kind
        except ImportError:  # Scrapy 2.13
            kind = CrawlerProcess
    import spiders

    process = kind(settings)
    process.crawl(
        getattr(spiders, spec["spider"]),
        start_urls=spec["urls"],
        plan=spec["plan"],
        **spec["arguments"],
    )
    process.start()
    return int(process.bootstrap_failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
