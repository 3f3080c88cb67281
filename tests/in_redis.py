"""What tests of the index in Redis have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scrapy_simdedup import Deduplicator
from scrapy_simdedup.index.redis.store import RedisIndex
from stores import RedisStore, new_name
from test_index import fingerprinted


def index_of(dedup: Deduplicator) -> RedisIndex:
    """Return the open index."""
    index = dedup._index
    assert isinstance(index, RedisIndex)
    return index


def judge(dedup: Deduplicator, name: str, value: int, **how: Any) -> Any:
    """Judge a page that has nothing but a fingerprint."""
    return dedup.judge(dedup.page(name), fingerprinted(value), **how)


def other_log(store: RedisStore, folder: Path, settings: Any = None) -> Deduplicator:
    """Open the same index as another machine would, with a log of its own."""
    return Deduplicator(store.index, settings, log=folder / f"{new_name()}.db")
