"""``scan``: judge pages that lie on disk, in order, as a crawl would have judged them."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from functools import partial
from typing import Any

from scrapy_simdedup import workers
from scrapy_simdedup.analysis import Analysis, Source
from scrapy_simdedup.batch.read import Record
from scrapy_simdedup.deduplicator import Deduplicator
from scrapy_simdedup.sites import stored_url
from scrapy_simdedup.verdict import Verdict

FIELDS = ("url", "status", "original", "distance", "resemblance", "method", "reason")

# Pages that are analysed ahead of the one that is judged, for each worker.
_AHEAD = 4


def scan(records: Iterable[Record], dedup: Deduplicator) -> Iterator[dict[str, Any]]:
    """Judge each page and return one dict of ``FIELDS`` for it, in input order.

    Pages are analysed by as many workers as the config has; the decisions do not depend on it.
    """
    for record, future in _analysed(records, dedup):
        verdict = _judge(record, future, dedup)
        yield {
            "url": stored_url(record.url),
            **{name: getattr(verdict, name) for name in FIELDS if name != "url"},
        }


def _analysed(
    records: Iterable[Record], dedup: Deduplicator
) -> Iterator[tuple[Record, Future[Analysis] | None]]:
    config, recipe = dedup.config, dedup.recipe()
    waiting: deque[tuple[Record, Future[Analysis] | None]] = deque()
    for record in records:
        future = None
        if not record.reason:
            source = partial(Source.of, record.html, record.text)
            future = workers.submit(source, recipe, workers=config.workers, timeout=config.timeout)
        waiting.append((record, future))
        if len(waiting) > _AHEAD * max(1, config.workers):
            yield waiting.popleft()
    yield from waiting


def _judge(record: Record, future: Future[Analysis] | None, dedup: Deduplicator) -> Verdict:
    subject = dedup.page(record.url, (record.key,))
    if future is None:
        verdict = Verdict("skipped", record.reason)
        dedup.note(subject, verdict)
        return verdict
    try:
        analysis = future.result()
    except Exception as error:
        return dedup.failed(subject, error)
    return dedup.judge(subject, analysis, confirm=True).verdict


def summary(counts: Counter[str]) -> str:
    """Say in a line what a scan found."""
    told = ", ".join(f"{number} {status}" for status, number in counts.most_common())
    return f"{sum(counts.values())} pages: {told or 'none'}"
