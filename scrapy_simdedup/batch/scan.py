"""``scan``: judge pages that lie on disk, in order, as a crawl would have judged them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from scrapy_simdedup.batch.read import Record
from scrapy_simdedup.deduplicator import Deduplicator
from scrapy_simdedup.sites import stored_url
from scrapy_simdedup.verdict import Verdict

FIELDS = ("url", "status", "original", "distance", "resemblance", "method", "reason")


def scan(records: Iterable[Record], dedup: Deduplicator) -> Iterator[dict[str, Any]]:
    """Judge each page and return one dict of ``FIELDS`` for it, in input order."""
    for record in records:
        verdict = _judge(record, dedup)
        yield {
            "url": stored_url(record.url),
            **{name: getattr(verdict, name) for name in FIELDS if name != "url"},
        }


def _judge(record: Record, dedup: Deduplicator) -> Verdict:
    if record.reason:
        verdict = Verdict("skipped", record.reason)
        dedup.note(dedup.page(record.url, (record.key,)), verdict)
        return verdict
    return dedup.check(record.url, html=record.html, text=record.text, key=record.key)


def summary(counts: Counter[str]) -> str:
    """Say in a line what a scan found."""
    told = ", ".join(f"{number} {status}" for status, number in counts.most_common())
    return f"{sum(counts.values())} pages: {told or 'none'}"
