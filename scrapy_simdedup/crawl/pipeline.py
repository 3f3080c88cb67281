"""The item pipeline: judges items by their own fields, where ``SIMDEDUP_ITEM_FIELDS`` says so."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from itemadapter import ItemAdapter
from scrapy import Spider
from scrapy.crawler import Crawler

from scrapy_simdedup.analysis import Source
from scrapy_simdedup.crawl.guard import run_by_tool
from scrapy_simdedup.crawl.session import Naming, Session
from scrapy_simdedup.crawl.tags import Tagger
from scrapy_simdedup.deduplicator import Deduplicator
from scrapy_simdedup.exceptions import NearDuplicateItem
from scrapy_simdedup.index.records import Claim, Subject
from scrapy_simdedup.item_rules import ItemRule
from scrapy_simdedup.verdict import Verdict
from scrapy_simdedup.workers import WorkTimeoutError

logger = logging.getLogger(__name__)


class SimDedupPipeline:
    """Stands before pipelines that store (order 300) and after those that clean.

    An item's text must be in its fields by then. Place it before pipelines that turn the item
    into another object: a page's items are told apart by identity.
    """

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> SimDedupPipeline:
        """Join the crawler's session. Raises NotConfigured, ConfigError and IndexUnusable."""
        return cls(Session.of(crawler))

    def __init__(self, session: Session) -> None:
        self._session = session
        self._tagger = Tagger(session.config.tag_field)

    async def process_item(self, item: Any, spider: Spider | None = None) -> Any:
        """Return the item; raises NearDuplicateItem (a DropItem) for one that is dropped."""
        session = self._session
        own = session.crawler.spider
        if not session.config.item_fields or own is None or run_by_tool(own):
            return item
        claim: Claim | None = None
        rule = self._rule(item)
        if rule is not None:
            try:
                claim = await self._judge(item, rule)
            except NearDuplicateItem:
                raise
            except WorkTimeoutError as error:
                logger.warning("an item of class %s %s", type(item).__qualname__, error)
                session.count("items/skipped/timeout")
                self._tagger.tag(item, Verdict("skipped", "timeout"))
            except Exception as error:
                session.failed(f"an item of class {type(item).__qualname__}", error)
                session.count("items/error")
                self._tagger.tag(item, Verdict("error", type(error).__name__))
        session.ledger.passed(item, claim)
        return item

    def _rule(self, item: Any) -> ItemRule | None:
        if not ItemAdapter.is_item(item):
            return None
        paths = {"", *(f"{base.__module__}.{base.__qualname__}" for base in type(item).__mro__)}
        if isinstance(item, dict):
            paths.add("dict")
        return next((r for r in self._session.config.item_fields if r.item_class in paths), None)

    async def _judge(self, item: Any, rule: ItemRule) -> Claim | None:
        """Judge and act on an item; return its claim."""
        session = self._session
        adapter = ItemAdapter(item)
        source = Source(tuple(_texts(adapter, rule.html)), tuple(_texts(adapter, rule.text)))
        url, naming = self._naming(adapter, rule, source)
        if not source.html and not source.text:
            verdict = Verdict("skipped", "no-field")
            await session.note(naming, verdict)
            session.count(f"items/{verdict.label}")
            self._tagger.tag(item, verdict)
            return None
        judgement = await session.judge("items", naming, lambda: source, session.config)
        if judgement is None:
            session.count("items/skipped/closed")
            return None
        verdict = judgement.verdict
        if verdict.is_duplicate:
            action = "tag" if verdict.reason else session.config.item_action
            await session.found(verdict, f"item of {url}: {action}", item=item)
            if action == "drop":
                session.count("items/dropped")
                raise NearDuplicateItem(verdict)
        self._tagger.tag(item, verdict)
        return judgement.claim

    def _naming(self, adapter: ItemAdapter, rule: ItemRule, source: Source) -> tuple[str, Naming]:
        """Return the item's URL, and the function that names it to the deduplicator."""
        outputs = self._session.ledger.source(adapter.item)
        url = outputs.url if outputs else ""
        value = adapter.get(rule.key) if rule.key else None
        several = False
        body = source.digest
        key: str | bytes
        if value is not None and value != "":
            key = str(value)
            url = url or key
        elif outputs is not None and outputs.names:
            key, several = outputs.names[0], True
        else:
            # From start(), or made anew by an earlier pipeline: nothing names it but its text.
            key = body

        def naming(dedup: Deduplicator) -> Subject:
            return dedup.item(url, rule.item_class, key, body, several=several)

        return url, naming


def _texts(adapter: ItemAdapter, names: Iterable[str]) -> Iterable[str]:
    """Return the texts of an item's fields; a list of strings is one text each."""
    for name in names:
        value = adapter.get(name)
        values = value if isinstance(value, list | tuple) else [value]
        yield from (each for each in values if isinstance(each, str) and each)
