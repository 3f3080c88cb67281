"""``scan``: judge pages that lie on disk, in order, as a crawl would have judged them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from scrapy_simdedup import workers
from scrapy_simdedup.analysis import Analysis, Source
from scrapy_simdedup.batch.record import Record
from scrapy_simdedup.deduplicator import Deduplicator
from scrapy_simdedup.index.records import Subject
from scrapy_simdedup.sites import stored_url
from scrapy_simdedup.verdict import Verdict

FIELDS = ("url", "status", "original", "distance", "resemblance", "method", "reason")

# Pages that are analysed ahead of the one that is judged, for each worker.
_AHEAD = 4


@dataclass(frozen=True)
class _Page:
    """A page on its way: its source where it has one, and its analysis where it needs one."""

    record: Record
    subject: Subject
    source: Source | None = None
    analysis: Future[Analysis] | None = None


def scan(records: Iterable[Record], dedup: Deduplicator) -> Iterator[dict[str, Any]]:
    """Judge each page and return one dict of ``FIELDS`` for it, in input order.

    Pages are analysed by as many workers as the config has; the decisions do not depend on it.
    """
    for page in _begun(records, dedup):
        verdict = _judge(page, dedup)
        yield {
            "url": stored_url(page.record.url),
            **{name: getattr(verdict, name) for name in FIELDS if name != "url"},
        }


def _begun(records: Iterable[Record], dedup: Deduplicator) -> Iterator[_Page]:
    waiting: deque[_Page] = deque()
    for record in records:
        waiting.append(_begin(record, dedup))
        if len(waiting) > _AHEAD * max(1, dedup.config.workers):
            yield waiting.popleft()
    yield from waiting


def _begin(record: Record, dedup: Deduplicator) -> _Page:
    if record.reason:
        return _Page(record, dedup.page(record.url, (record.key,)))
    source = Source.of(record.html, record.text)
    subject = dedup.page(record.url, (record.key,), source.digest)
    if dedup.knows(subject):
        return _Page(record, subject, source)
    return _Page(record, subject, source, _analyse(source, dedup))


def _analyse(source: Source, dedup: Deduplicator) -> Future[Analysis]:
    config = dedup.config
    return workers.submit(
        lambda: source, dedup.recipe(), workers=config.workers, timeout=config.timeout
    )


def _judge(page: _Page, dedup: Deduplicator) -> Verdict:
    if page.source is None:
        verdict = Verdict("skipped", page.record.reason)
        dedup.note(page.subject, verdict)
        return verdict
    # Whether or not it was known when it was read, so that the pace decides nothing.
    known = dedup.recall(page.subject, confirm=True)
    if known is not None:
        return known.verdict
    try:
        analysis = (page.analysis or _analyse(page.source, dedup)).result()
    except Exception as error:
        return dedup.failed(page.subject, error)
    return dedup.judge(page.subject, analysis, confirm=True).verdict
