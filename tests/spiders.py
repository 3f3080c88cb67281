"""Spiders whose callbacks do what a test's plan says, and the items and pipelines they need."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import attrs
import scrapy
import scrapy.logformatter
from pydantic import BaseModel
from scrapy.exceptions import DropItem
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule
from twisted.internet.defer import Deferred

from scrapy_simdedup import Addon
from scrapy_simdedup.crawl import opening
from scrapy_simdedup.index import transactions


class PlainItem(scrapy.Item):
    url = scrapy.Field()
    text = scrapy.Field()


class TaggedItem(PlainItem):
    verdict = scrapy.Field()


@dataclass
class DataItem:
    url: str
    text: str


@dataclass
class TaggedDataItem(DataItem):
    verdict: Any = None


@attrs.define
class AttrsItem:
    url: str
    text: str


class ModelItem(BaseModel):
    url: str
    text: str


KINDS: dict[str, Any] = {
    "dict": dict,
    "item": PlainItem,
    "tagged-item": TaggedItem,
    "dataclass": DataItem,
    "tagged-dataclass": TaggedDataItem,
    "attrs": AttrsItem,
    "pydantic": ModelItem,
}


async def pause(seconds: float) -> None:
    """Sleep under any event loop."""
    try:
        await asyncio.sleep(seconds)
    except RuntimeError:
        from twisted.internet import reactor

        waiting: Deferred[None] = Deferred()
        reactor.callLater(seconds, waiting.callback, None)  # type: ignore[attr-defined]
        await waiting


class SiteSpider(scrapy.Spider):
    """Acts on each page as ``plan[path]`` says; by default it yields one item and the links."""

    name = "site"
    kind = "dict"
    text = ""
    in_turn = False

    async def start(self) -> AsyncIterator[Any]:
        """Ask for the start URLs, all at once or each when the one before is done with."""
        if self.in_turn:
            self.crawler.signals.connect(self.next_url, scrapy.signals.spider_idle)
            self.waiting = list(self.start_urls)
            return
        for url in self.start_urls:
            yield scrapy.Request(url, dont_filter=True, errback=self.failed)

    def next_url(self) -> None:
        if self.waiting:
            meta = {"is_start_request": True}
            request = scrapy.Request(self.waiting.pop(0), dont_filter=True, meta=meta)
            self.crawler.engine.crawl(request)
            raise scrapy.exceptions.DontCloseSpider

    def path(self, response: Any) -> str:
        return urlsplit(response.url).path

    def item(self, response: Response, number: int = 0) -> Any:
        text = self.text or (response.text if isinstance(response, HtmlResponse) else "")
        return KINDS[self.kind](url=response.url, text=text)

    def note(self, response: Response) -> list[str]:
        path = self.path(response)
        seen = self.crawler.recorder.seen
        seen["called"].append(path)
        seen["verdicts"][path] = response.meta.get("simdedup_verdict")
        seen["flags"][path] = response.flags
        return list(self.plan.get(path, self.plan.get("*", ["item", "links"])))

    def links(self, response: Response, **options: Any) -> Iterator[scrapy.Request]:
        if isinstance(response, HtmlResponse):
            for link in response.css(".linked a::attr(href)").getall():
                yield response.follow(link, self.parse, **options)

    async def parse(self, response: Response, **_: Any) -> AsyncIterator[Any]:
        for act in self.note(response):
            name, _, argument = act.partition(":")
            if name == "item":
                for number in range(int(argument or 1)):
                    yield self.item(response, number)
            elif name == "links":
                for request in self.links(response, errback=self.failed):
                    yield request
            elif name == "raise":
                raise RuntimeError("the plan says so")
            elif name == "late":
                await pause(float(argument or 0.3))
            elif name == "first-raises":
                # The first of two requests for one page, once the second one has been judged.
                called = self.crawler.recorder.seen["called"]
                mine = called.count(self.path(response))
                while called.count(self.path(response)) < 2:
                    await pause(0.01)
                if mine == 1:
                    raise RuntimeError("the plan says so")
            elif name == "retry":
                if not response.meta.get("again"):
                    meta = {"again": True}
                    yield response.request.replace(dont_filter=True, meta=meta)
                    return
            elif name == "chain":
                yield response.follow(
                    argument, self.parse_chained, cb_kwargs={"first": response.url}
                )
            elif name == "opt-out":
                for request in self.links(response, meta={"simdedup": False}):
                    yield request
            elif name == "heirs":
                for request in self.links(response, meta=dict(response.meta)):
                    yield request
            elif name == "options":
                for request in self.links(response, meta={"simdedup": json.loads(argument)}):
                    yield request
            elif name == "head":
                yield response.follow(argument, self.parse, method="HEAD")
            elif name == "close":
                raise scrapy.exceptions.CloseSpider("the plan says so")
            elif name == "inline":
                request = scrapy.Request(response.urljoin(argument))
                engine = self.crawler.engine
                if hasattr(engine, "download_async"):
                    await engine.download_async(request)
                else:
                    from scrapy.utils.defer import maybe_deferred_to_future

                    await maybe_deferred_to_future(engine.download(request))

    def parse_chained(self, response: Response, first: str) -> Iterator[Any]:
        self.note(response)
        yield {"url": first, "text": response.text}

    def failed(self, failure: Any) -> None:
        verdict = getattr(failure.value, "verdict", None)
        self.crawler.recorder.seen["errbacks"].append(
            (type(failure.value).__name__, verdict.original if verdict else "")
        )


class SyncSpider(SiteSpider):
    """The same with plain generators and lists, as most spiders are written."""

    name = "sync"

    def parse(self, response: Response, **_: Any) -> Any:
        acts = self.note(response)
        if "raise-at-once" in acts:
            raise RuntimeError("the plan says so")
        return self.act(acts, response)

    def act(self, acts: list[str], response: Response) -> Iterator[Any]:
        for act in acts:
            if act == "item":
                yield self.item(response)
            elif act == "links":
                yield from self.links(response)
            elif act == "raise":
                raise RuntimeError("the plan says so")


class StartItemsSpider(SiteSpider):
    """Yields items from ``start``, before any page.

    And one request: Scrapy 2.13 closes a spider that starts with items alone before they are
    through.
    """

    name = "start-items"

    async def start(self) -> AsyncIterator[Any]:
        for number in range(5):
            yield {"url": f"made-up:{number}", "text": self.text}
        async for request in super().start():
            yield request


class DropFirst:
    """A later pipeline that drops the first item it gets, of all or of one path."""

    def __init__(self) -> None:
        self.dropped = False

    def process_item(self, item: Any, spider: Any = None) -> Any:
        if not self.dropped:
            self.dropped = True
            raise DropItem("the first one")
        return item


class DropAll:
    def process_item(self, item: Any, spider: Any = None) -> Any:
        raise DropItem("all of them")


class BreakFirst:
    """A later pipeline that raises for the first item."""

    def __init__(self) -> None:
        self.broken = False

    def process_item(self, item: Any, spider: Any = None) -> Any:
        if not self.broken:
            self.broken = True
            raise ValueError("the first one")
        return item


class Replace:
    """A pipeline that turns each item into another object."""

    def process_item(self, item: Any, spider: Any = None) -> Any:
        return {"url": item["url"], "text": item["text"], "made_anew": True}


def explode(html: str) -> str:
    """An extractor that always fails."""
    raise RuntimeError("extractor out of order")


class Quiet(scrapy.logformatter.LogFormatter):
    """Does not print scraped items, so that what is printed comes from elsewhere."""

    def scraped(self, item: Any, response: Any, spider: Any) -> Any:
        return None


class BrokenStorage:
    """A feed storage that takes everything and stores nothing."""

    def __init__(self, uri: str, *, feed_options: Any = None) -> None:
        pass

    def open(self, spider: Any) -> Any:
        return io.BytesIO()

    def store(self, file: Any) -> None:
        raise OSError("no room")


def misbehave(html: str) -> str:
    """An extractor that does what a page says; other pages it extracts as usual."""
    from scrapy_simdedup.text.extract import extract

    word = html.removeprefix("<html><body>").removesuffix("</body></html>")
    if word in ("hang", "slow"):
        time.sleep(3600 if word == "hang" else 0.9)
    elif word == "exit":
        os._exit(3)
    elif word == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif word == "raise":
        raise LookupError("no text today")
    elif word == "memory":
        return "x" * (5 << 30)
    elif word == "print":
        print("to standard output, where the parent reads answers", flush=True)
    return extract(html).text


def take_time(html: str) -> str:
    """An extractor that is slow where a page asks for it."""
    from scrapy_simdedup.text.extract import extract

    if "Take your time" in html:
        time.sleep(1.5)
    return extract(html).text


def tell_pid(html: str) -> str:
    """An extractor that writes its process id into the file that the page names."""
    Path(html).write_text(str(os.getpid()))
    return ""


class RuleSpider(CrawlSpider):
    """A CrawlSpider: articles by one rule, listings by another without a callback."""

    name = "rules"
    plan: Any = None
    rules = (
        Rule(LinkExtractor(allow="/story/"), callback="parse_story"),
        Rule(LinkExtractor(allow="/list/")),
    )

    def parse_story(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url, "text": ""}


class TunedSpider(SiteSpider):
    """A spider with settings of its own."""

    name = "tuned"
    custom_settings = {"SIMDEDUP_ACTION": "drop-items"}


class FullDisk(Addon):
    """The add-on, with an index that cannot grow beyond a few pages of the file."""

    def update_settings(self, settings: Any) -> None:
        super().update_settings(settings)
        assert self._session is not None
        index = self._session._index
        opened = index._open

        def full() -> Any:
            known = opened()
            if known is not None:
                execute = index.require()._index.connection.execute
                (pages,) = execute("PRAGMA page_count").fetchone()
                execute(f"PRAGMA max_page_count = {pages + 16}")
            return known

        index._open = full  # type: ignore[method-assign]


class NoPlace(Addon):
    """The add-on, with an index whose place turns out to be none after the start."""

    def update_settings(self, settings: Any) -> None:
        super().update_settings(settings)
        assert self._session is not None
        self._session._index._index = "/dev/null/index.db"


class Impatient(Addon):
    """The add-on, with an index that is tried again soon where it could not be opened."""

    def update_settings(self, settings: Any) -> None:
        super().update_settings(settings)
        opening._RETRY_TIMES, opening._RETRY_SECONDS = 0, 0.5


class Locked(Addon):
    """The add-on, with somebody who locks the index for longer than a page waits."""

    def update_settings(self, settings: Any) -> None:
        super().update_settings(settings)
        assert self._session is not None
        transactions.LOCK_SECONDS = 2.0
        index = self._session._index
        opened = index._open

        def lock() -> None:
            time.sleep(0.7)
            with closing(sqlite3.connect(index.place.path, isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                time.sleep(6)
                other.execute("ROLLBACK")

        def open_and_lock() -> Any:
            known = opened()
            if known is not None:
                threading.Thread(target=lock, daemon=True).start()
            return known

        index._open = open_and_lock  # type: ignore[method-assign]
