"""datasketch's MinHashLSH with its storage in Redis, on the shingles of the same pages."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import redis
from figures import Figures, percentiles
from index_peers import Lsh, minhash
from judged import queries
from made_up import UNIFORM, MadeUp
from own_redis import counting, named, remove, used_memory

_TURN = 1 << 18
# As its documentation does for many insertions.
_BUFFER = 5_000


class RedisLsh(Lsh):
    """The same index as in memory, but for its storage."""

    def __init__(self, url: str) -> None:
        from datasketch import MinHashLSH

        parts = urlsplit(url)
        self._index: Any = MinHashLSH(
            threshold=0.5,
            num_perm=128,
            storage_config={
                "type": "redis",
                "basename": named("datasketch").encode(),
                "redis": {"host": parts.hostname, "port": parts.port or 6379},
            },
        )

    def fill(self, pages: int) -> None:
        """Fill it through an insertion session."""
        made = MadeUp(UNIFORM)
        with self._index.insertion_session(buffer_size=_BUFFER) as session:
            for number in range(1, pages + 1):
                session.insert(number, minhash(made.shingles(number)), check_duplication=False)


def measure(url: str, pages: int, count: int, share: float) -> Figures:
    """Fill it, then look each page up, and add it where nothing is near."""
    client: Any = redis.Redis.from_url(url)
    remove(client, named("datasketch"))
    before = used_memory(client)
    with counting() as trips:
        index = RedisLsh(url)
        start = time.perf_counter()
        index.fill(pages)
        seconds = time.perf_counter() - start
        bytes_per_page = (used_memory(client) - before) / pages
        trips[0] = 0
        took = list(_judged(index, pages, count, share))
        made = trips[0]
    remove(client, named("datasketch"))
    planted = [found for _, found in took if found is not None]
    times = [seconds for seconds, _ in took]
    return {
        "pages": pages,
        **percentiles(times),
        "per_second": len(times) / sum(times),
        "trips": made / len(times),
        "recall": sum(planted) / len(planted) if planted else 1.0,
        "bytes_per_page": bytes_per_page,
        "build_s": seconds,
    }


def _judged(
    index: RedisLsh, pages: int, count: int, share: float
) -> Iterator[tuple[float, bool | None]]:
    for query in queries(pages, count, share, _TURN):
        sign = index.sign(query)
        start = time.perf_counter()
        near = set(index.near(sign))
        if not near:
            index.add(query.number, sign)
        took = time.perf_counter() - start
        yield took, None if query.original is None else query.original in near
