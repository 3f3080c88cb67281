"""An index of made-up pages in Redis, filled by the script that claims, many pages at a time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from made_up import MadeUp, bodies, digests, signature_of, terms, url_of
from own_redis import used_memory

from scrapy_simdedup import Deduplicator
from scrapy_simdedup.digests import name_hash
from scrapy_simdedup.index.records import pack
from scrapy_simdedup.index.redis.record import Record
from scrapy_simdedup.index.redis.store import RedisIndex

_AT_ONCE = 250


def fill(index: str, log: Path, pages: int) -> tuple[float, float]:
    """Store the pages 1 to ``pages``, confirmed; return the seconds and the bytes a page."""
    with Deduplicator(index, log=log) as dedup:
        # Past judging, which would compare each page with others.
        store = dedup._index  # noqa: SLF001
        assert isinstance(store, RedisIndex)
        access = store._access  # noqa: SLF001
        link = access.link
        before, start = link.call(used_memory), time.perf_counter()
        for first in range(1, pages + 1, _AT_ONCE):
            records = _records(first, min(first + _AT_ONCE, pages + 1), store.run)
            link.run_all("look", map(store.pages.claiming, records))
        # They are confirmed as they are.
        link.ask(("DEL", access.keys.open(access.run.number)))
        taken = time.perf_counter() - start
        return taken, (link.call(used_memory) - before) / pages


def _records(first: int, end: int, run: int) -> Iterator[Record]:
    """Return the records of some pages, as judging would make them."""
    numbers = np.arange(first, end, dtype=np.uint64)
    parts = MadeUp().parts(numbers)
    body, digest, distinct = bodies(numbers), digests(numbers), terms(numbers).tolist()
    for at, number in enumerate(numbers.tolist()):
        url = url_of(number)
        yield Record(
            url,
            0,
            run,
            True,
            None,
            (name_hash(url),),
            body[at].tobytes(),
            digest[at].tobytes(),
            distinct[at],
            pack(signature_of(parts, at)),
            run,
            None,
            0,
            1,
        )
