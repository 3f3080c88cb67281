"""Other indexes, in memory all of them, on the fingerprints or shingles of the same pages."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np
from children import alone
from figures import Figures, memory, percentiles
from judged import BITS, Query, queries
from made_up import UNIFORM, MadeUp

_TURN = 1 << 19
_CHUNK = 10_000
_LIMIT = 3
_RESEMBLANCE = 0.5


class Peer(Protocol):
    """An index by page number."""

    def fill(self, pages: int) -> None:
        """Put the made-up pages 1 to ``pages`` into the index."""

    def sign(self, query: Query) -> Any:
        """Return a page as the index takes it. This is not timed."""

    def near(self, sign: Any) -> Iterable[int]:
        """Return the numbers of the near pages."""

    def add(self, number: int, sign: Any) -> None:
        """Put a page into the index."""


class Hamming:
    """1e0ng's SimhashIndex."""

    def __init__(self) -> None:
        from simhash import SimhashIndex

        self._index = SimhashIndex([], k=_LIMIT)
        self._index.log.disabled = True

    def fill(self, pages: int) -> None:
        """Fill it page by page."""
        for number, value in _fingerprints(pages):
            self.add(number, _simhash(value))

    def sign(self, query: Query) -> Any:
        """Return its Simhash of the same value."""
        return _simhash(query.fingerprint)

    def near(self, sign: Any) -> Iterable[int]:
        """Return the near pages."""
        return map(int, self._index.get_near_dups(sign))

    def add(self, number: int, sign: Any) -> None:
        """Add a page."""
        self._index.add(str(number), sign)


class MultiHash:
    """faiss' IndexBinaryMultiHash: four hash tables of 16 bits, one thread."""

    def __init__(self) -> None:
        import faiss

        faiss.omp_set_num_threads(1)
        self._index = faiss.IndexBinaryMultiHash(64, 4, 16)
        self._filled = 0
        self._added: list[int] = []

    def fill(self, pages: int) -> None:
        """Fill it in bulk; a page's number there is one less than ours."""
        for first in range(1, pages + 1, _CHUNK):
            numbers = np.arange(first, min(first + _CHUNK, pages + 1), dtype=np.uint64)
            values = MadeUp(UNIFORM).fingerprints(numbers)
            self._index.add(values.view(np.uint8).reshape(-1, 8))
        self._filled = pages

    def sign(self, query: Query) -> Any:
        """Return a row of bytes."""
        return np.array([query.fingerprint], dtype=np.uint64).view(np.uint8).reshape(1, 8)

    def near(self, sign: Any) -> Iterable[int]:
        """Return the near pages; its radius is exclusive."""
        _, _, found = self._index.range_search(sign, _LIMIT + 1)
        most = self._filled
        return [at + 1 if at < most else self._added[at - most] for at in found.tolist()]

    def add(self, number: int, sign: Any) -> None:
        """Add a page."""
        self._index.add(sign)
        self._added.append(number)


class Lsh:
    """datasketch's MinHashLSH on MinHashes of the same shingles."""

    def __init__(self) -> None:
        from datasketch import MinHashLSH

        self._index = MinHashLSH(threshold=_RESEMBLANCE, num_perm=128)

    def fill(self, pages: int) -> None:
        """Fill it page by page."""
        made = MadeUp(UNIFORM)
        for number in range(1, pages + 1):
            self.add(number, minhash(made.shingles(number)))

    def sign(self, query: Query) -> Any:
        """Return its MinHash."""
        return minhash(query.analysis.shingles)

    def near(self, sign: Any) -> Iterable[int]:
        """Return the pages that share a band."""
        return self._index.query(sign)

    def add(self, number: int, sign: Any) -> None:
        """Add a page."""
        self._index.insert(number, sign, check_duplication=False)


# Name, module, adapter, whether it is filled with all pages however many, and the planted pages
# that it can find: those within three bits, or all of them.
PEERS: list[tuple[str, str, Callable[[], Peer], bool, bool]] = [
    ("1e0ng SimhashIndex", "simhash", Hamming, False, True),
    ("faiss IndexBinaryMultiHash", "faiss", MultiHash, True, True),
    ("datasketch MinHashLSH", "datasketch", Lsh, False, False),
]


def measure_all(
    pages: int, peer_pages: int, count: int, share: float, names: Iterable[str] = ()
) -> dict[str, Figures]:
    """Return each installed peer's figures; what is left out or cut short is told."""
    found = {}
    for name, module, peer, whole, bits in PEERS:
        if names and name not in names:
            continue
        if importlib.util.find_spec(module) is None:
            print(f"{name}: skipped, {module} is not installed")
            continue
        size = pages if whole else min(pages, peer_pages)
        if size < pages:
            print(f"{name}: {size:,} pages only, it would take too much memory (--peer-pages)")
        found[name] = alone(measure, peer, size, count, share, bits)
    return found


def measure(peer: Callable[[], Peer], pages: int, count: int, share: float, bits: bool) -> Figures:
    """Fill a peer's index, then look each page up, and add it where nothing is near."""
    index = peer()
    before = memory()
    index.fill(pages)
    filled = memory()
    looked, took = [], []
    planted = found = 0
    for query in queries(pages, count, share, _TURN):
        sign = index.sign(query)
        start = time.perf_counter()
        near = set(index.near(sign))
        between = time.perf_counter()
        if not near:
            index.add(query.number, sign)
        took.append(time.perf_counter() - start)
        looked.append(between - start)
        if query.original is not None and (query.how == BITS or not bits):
            planted += 1
            found += query.original in near
    figures = {
        "pages": pages,
        **percentiles(took),
        **percentiles(looked, "lookup_"),
        "per_second": len(took) / sum(took),
        "recall": found / planted if planted else 1.0,
        **memory(),
    }
    if filled:
        grown = filled["rss_own_mb"] - before["rss_own_mb"]
        figures["bytes_per_page"] = grown * 2**20 / pages
    return figures


def _fingerprints(pages: int) -> Iterable[tuple[int, int]]:
    for first in range(1, pages + 1, _CHUNK):
        numbers = np.arange(first, min(first + _CHUNK, pages + 1), dtype=np.uint64)
        values = MadeUp(UNIFORM).fingerprints(numbers)
        yield from zip(numbers.tolist(), values.tolist(), strict=True)


def _simhash(value: int) -> Any:
    from simhash import Simhash

    return Simhash(value)


def minhash(shingles: Any) -> Any:
    """Return the MinHash of shingle hashes."""
    from datasketch import MinHash

    sign = MinHash(num_perm=128, hashfunc=int)
    sign.update_batch((shingles & np.uint64(0xFFFFFFFF)).tolist())
    return sign
