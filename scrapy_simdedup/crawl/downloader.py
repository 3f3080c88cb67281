"""The downloader middleware: judges each final page, tags or drops what is a near-duplicate."""

from __future__ import annotations

import logging

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http import Response, TextResponse

from scrapy_simdedup.analysis import Source
from scrapy_simdedup.config import Config
from scrapy_simdedup.crawl.guard import (
    LOGGED,
    META_OPTIONS,
    META_SCHEDULED,
    META_VERDICT,
    callback_name,
    is_start,
    refusal,
)
from scrapy_simdedup.crawl.ledger import Outputs
from scrapy_simdedup.crawl.names import page_names
from scrapy_simdedup.crawl.session import Session
from scrapy_simdedup.digests import content_digest
from scrapy_simdedup.exceptions import NearDuplicateResponse
from scrapy_simdedup.judge import Judgement
from scrapy_simdedup.verdict import Verdict
from scrapy_simdedup.workers import WorkTimeoutError

logger = logging.getLogger(__name__)


class SimDedupDownloaderMiddleware:
    """Judges responses. Its order (90) is below HttpCompression, redirects and retries.

    So it sees final, decompressed responses only. The verdict is in
    ``response.meta["simdedup_verdict"]`` as a dict; ``response.flags`` gets ``near-duplicate``.
    """

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> SimDedupDownloaderMiddleware:
        """Join the crawler's session. Raises NotConfigured, ConfigError and IndexUnusable."""
        return cls(Session.of(crawler))

    def __init__(self, session: Session) -> None:
        self._session = session
        self._warned_of_order = False

    async def process_response(
        self, request: Request, response: Response, spider: Spider | None = None
    ) -> Response:
        """Return the response, tagged where it is a near-duplicate.

        Raises NearDuplicateResponse (an IgnoreRequest) for one that is to be dropped.
        """
        # Both are inherited by requests that copy their response's meta.
        request.meta.pop(META_VERDICT, None)
        scheduled = bool(request.meta.pop(META_SCHEDULED, False))
        try:
            verdict = await self._judge(request, response, scheduled=scheduled)
        except NearDuplicateResponse:
            raise
        except WorkTimeoutError as error:
            logger.warning("%s %s; it is passed on unjudged", response.url, error)
            verdict = await self._skip(request, response, "timeout")
        except Exception as error:
            verdict = Verdict("error", type(error).__name__)
            self._session.count("pages/error")
            self._session.failed(response.url, error)
            await self._note(request, response, verdict)
        request.meta[META_VERDICT] = verdict.as_dict()
        return response

    async def _judge(self, request: Request, response: Response, *, scheduled: bool) -> Verdict:
        session = self._session
        spider = session.crawler.spider
        assert spider is not None
        reason = refusal(request, response, spider, session.config, scheduled=scheduled)
        if reason:
            return await self._skip(request, response, reason)
        options = request.meta.get(META_OPTIONS)
        config = session.config.override(options) if isinstance(options, dict) else session.config
        names = page_names(session.crawler, request, response)
        assert isinstance(response, TextResponse)
        page = response
        # The charset of the header decides how the bytes are read.
        kind = response.headers.get(b"Content-Type") or b""
        body = content_digest("page", kind, response.body)
        judgement = await session.judge(
            "pages",
            lambda dedup: dedup.page(page.url, names, body),
            lambda: Source((page.text,)),
            config,
            start=is_start(request),
        )
        if judgement is None:
            return await self._skip(request, response, "closed")
        verdict = judgement.verdict
        action = self._action(request, judgement, config)
        if verdict.is_duplicate:
            response.flags.append("near-duplicate")
            await session.found(verdict, f"page {response.url}: {action}", response=response)
        elif verdict.status == "revisit" and action != "keep":
            response.flags.append("revisit")
        if action == "drop":
            session.count("pages/dropped")
            raise NearDuplicateResponse(verdict)
        if session.follows_outputs:
            outputs = Outputs(
                names,
                verdict,
                judgement.claim,
                drop_items=action == "drop-items",
                droppable=verdict.is_duplicate and not verdict.reason and action == "tag",
                url=response.url,
            )
            session.ledger.open(request, outputs)
        return verdict

    @staticmethod
    def _action(request: Request, judgement: Judgement, config: Config) -> str:
        verdict = judgement.verdict
        if verdict.is_duplicate:
            if verdict.reason:
                # It may be the wrong text that is the same.
                return "tag"
            # A crawl whose first pages are dropped goes nowhere.
            start = config.action == "drop" and is_start(request)
            return "drop-items" if start else config.action
        if verdict.status == "revisit" and not verdict.changed:
            # While the visit before may still come to nothing, these may be all its items.
            waits = config.revisit_action == "drop-items" and judgement.original_open
            return "tag" if waits else config.revisit_action
        return "keep"

    async def _skip(self, request: Request, response: Response, reason: str) -> Verdict:
        session = self._session
        verdict = Verdict("skipped", reason)
        session.count(f"pages/{verdict.label}")
        if reason == "callback" and session.crawler.spider:
            session.other_callbacks.add(callback_name(request, session.crawler.spider) or "")
        if reason in LOGGED:
            await self._note(request, response, verdict)
        if reason == "not-text" and not self._warned_of_order:
            self._warned_of_order = True
            logger.warning(
                "%s came compressed: SimDedupDownloaderMiddleware must have an order below"
                " HttpCompressionMiddleware's 590 (its own is 90)",
                response.url,
            )
        return verdict

    async def _note(self, request: Request, response: Response, verdict: Verdict) -> None:
        session = self._session
        try:
            names = page_names(session.crawler, request, response)
            await session.note(lambda dedup: dedup.page(response.url, names), verdict)
        except Exception as error:
            session.failed(f"{response.url} ({verdict.label})", error)
