"""The spider middleware: follows what a page's callback yields, and drops or tags its items."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.http import Response

from scrapy_simdedup.crawl.compat import send
from scrapy_simdedup.crawl.ledger import Outputs
from scrapy_simdedup.crawl.names import fingerprint, first_fingerprint
from scrapy_simdedup.crawl.session import Session
from scrapy_simdedup.crawl.tags import Tagger
from scrapy_simdedup.exceptions import NearDuplicateItem
from scrapy_simdedup.verdict import Verdict


class SimDedupSpiderMiddleware:
    """Stands nearest to the engine (order 10), so it sees just the outputs that go there."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> SimDedupSpiderMiddleware:
        """Join the crawler's session. Raises NotConfigured, ConfigError and IndexUnusable."""
        return cls(Session.of(crawler))

    def __init__(self, session: Session) -> None:
        self._session = session
        self._tagger = Tagger(session.config.tag_field)
        session.follows_outputs = True

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any], spider: Spider | None = None
    ) -> AsyncIterator[Any]:
        """Pass on what the callback yields, but for the items of a page that loses them."""
        ledger = self._session.ledger
        outputs = ledger.find(response) or self._unjudged(response)
        try:
            async for output in result:
                if isinstance(output, Request):
                    outputs.asked_again |= self._asks_again(output, outputs)
                elif output is not None:
                    if outputs.drop_items and outputs.verdict is not None:
                        await self._drop(output, response, outputs.verdict)
                        continue
                    if outputs.droppable:
                        self._session.count("items/droppable")
                    self._tagger.tag(output, outputs.verdict)
                    ledger.yielded(output, outputs)
                yield output
        except Exception:
            ledger.raised(response)
            raise
        ledger.finished(outputs)

    def process_spider_exception(
        self, response: Response, exception: Exception, spider: Spider | None = None
    ) -> None:
        """Take note of a callback that raised; others may handle it."""
        self._session.ledger.raised(response)

    def _asks_again(self, request: Request, outputs: Outputs) -> bool:
        """Tell whether a request is one that led to the page: a retry."""
        try:
            return fingerprint(self._session.crawler, request) in outputs.names
        except Exception as error:
            # The project's own fingerprinter; Scrapy will tell of it in its own way.
            self._session.failed(f"the request {request.url}", error)
            return False

    def _unjudged(self, response: Response) -> Outputs:
        # Items of a page that was not judged still belong to it.
        outputs = Outputs([], url=response.url)
        if response.request is not None:
            outputs.names.append(first_fingerprint(self._session.crawler, response.request))
            self._session.ledger.open(response.request, outputs)
        return outputs

    async def _drop(self, item: Any, response: Response, verdict: Verdict) -> None:
        """Drop an item before any pipeline sees it, in the way Scrapy tells of drops."""
        session = self._session
        session.count("items/dropped")
        await send(
            session.crawler,
            signals.item_dropped,
            item=item,
            response=response,
            spider=session.crawler.spider,
            exception=NearDuplicateItem(verdict),
        )
