"""Adapters: each peer's own features and index, behind one small protocol."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from functools import lru_cache
from typing import Any, ClassVar, Protocol

_WORD = re.compile(r"[^\W_]+")

# gaoya's default limit, which comes with 20 bands of 5.
GAOYA = 0.75

Near = list[tuple[float, int]]


class PeerIndex(Protocol):
    """Kept pages by number."""

    def near(self, sign: Any) -> Near:
        """Return the pages that the peer calls near, with a closeness."""

    def add(self, number: int, sign: Any) -> None:
        """Keep a page."""


def _shingles(text: str, words: list[str] | None) -> list[bytes]:
    terms = words if words is not None else _WORD.findall(text.lower())
    count = max(1, len(terms) - 2)
    return [" ".join(terms[at : at + 3]).encode() for at in range(count)]


class Hamming:
    """1e0ng's SimhashIndex; it returns names alone, so the closest is looked up."""

    def __init__(self, limit: int) -> None:
        from simhash import SimhashIndex

        self._index = SimhashIndex([], k=limit)
        self._index.log.disabled = True
        self._kept: dict[int, Any] = {}

    def near(self, sign: Any) -> Near:
        """Return the near pages."""
        found = map(int, self._index.get_near_dups(sign))
        return [(-sign.distance(self._kept[number]), number) for number in found]

    def add(self, number: int, sign: Any) -> None:
        """Keep a page."""
        self._kept[number] = sign
        self._index.add(str(number), sign)


def sign_1e0ng(text: str, words: list[str] | None) -> Any:
    """Sign by its own character 4-grams, or by given words."""
    from simhash import Simhash

    return Simhash(text if words is None else dict(Counter(words)))


class Datasketch:
    """MinHashLSH as it is queried."""

    filtered: ClassVar[bool] = False

    def __init__(self, limit: float) -> None:
        from datasketch import MinHashLSH

        self._index = MinHashLSH(params=_bands(limit), num_perm=128)
        self._least = limit if self.filtered else 0.0
        self._kept: dict[int, Any] = {}

    def near(self, sign: Any) -> Near:
        """Return the near pages."""
        found = ((sign.jaccard(self._kept[key]), key) for key in self._index.query(sign))
        return [each for each in found if each[0] >= self._least]

    def add(self, number: int, sign: Any) -> None:
        """Keep a page."""
        self._kept[number] = sign
        self._index.insert(number, sign)


@lru_cache
def _bands(limit: float) -> tuple[int, int]:
    """Return the bands and rows that MinHashLSH takes for a limit; it is slow to find them."""
    from datasketch import MinHashLSH

    index = MinHashLSH(threshold=limit, num_perm=128)
    return index.b, index.r


class DatasketchFiltered(Datasketch):
    """Hits whose estimated Jaccard is below the limit are dropped."""

    filtered = True


def sign_datasketch(text: str, words: list[str] | None) -> Any:
    """Sign by word 3-shingles, or by given words."""
    from datasketch import MinHash

    sign = MinHash(num_perm=128)
    sign.update_batch(_shingles(text, words))
    return sign


class Rensa:
    """RMinHashDeduplicator, which looks up by its bands and verifies by the estimate."""

    def __init__(self, limit: float) -> None:
        from rensa import RMinHashDeduplicator

        self._index = RMinHashDeduplicator(threshold=limit, num_perm=128, use_lsh=True)
        self._kept: dict[int, Any] = {}

    def near(self, sign: Any) -> Near:
        """Return the near pages."""
        found = map(int, self._index.get_duplicates(sign))
        return [(sign.jaccard(self._kept[number]), number) for number in found]

    def add(self, number: int, sign: Any) -> None:
        """Keep a page."""
        self._kept[number] = sign
        self._index.add(str(number), sign)


def sign_rensa(text: str, words: list[str] | None) -> Any:
    """Sign by words, or by given words."""
    from rensa import RMinHash

    sign = RMinHash(num_perm=128, seed=42)
    sign.update(text.split() if words is None else words)
    return sign


class Gaoya:
    """MinHashStringIndex, which verifies by the estimate as well."""

    def __init__(self, limit: float) -> None:
        from gaoya.minhash import MinHashStringIndex

        # The analyser "word" splits at white space, which sign_gaoya has done already.
        bands = {} if limit == GAOYA else {"num_bands": None, "band_size": None}
        hashes = 128 if bands else None
        self._index = MinHashStringIndex(
            jaccard_threshold=limit, num_hashes=hashes, analyzer=list, **bands
        )

    def near(self, sign: Any) -> Near:
        """Return the near pages."""
        found = self._index.query(sign, return_similarity=True)
        return [(closeness, number) for number, closeness in found]

    def add(self, number: int, sign: Any) -> None:
        """Keep a page."""
        self._index.insert_document(number, sign)


def sign_gaoya(text: str, words: list[str] | None) -> Any:
    """Sign by words, or by given words."""
    return text.split() if words is None else words


class Trafilatura:
    """trafilatura has no index: every kept page is compared."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._kept: list[tuple[int, Any]] = []

    def near(self, sign: Any) -> Near:
        """Return the near pages."""
        found = ((sign.similarity(kept), number) for number, kept in self._kept)
        return [each for each in found if each[0] >= self._limit]

    def add(self, number: int, sign: Any) -> None:
        """Keep a page."""
        self._kept.append((number, sign))


def sign_trafilatura(text: str, words: list[str] | None) -> Any:
    """Sign by its own choice of longer words, or by given words."""
    from trafilatura.deduplication import Simhash

    return Simhash(text if words is None else " ".join(words))


class TermProfile:
    """MD5 of the quantised term frequencies; pages are near when it is equal."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._kept: dict[bytes, int] = {}

    def _digest(self, counts: Counter[str]) -> bytes:
        most = max(counts.values(), default=0)
        step = round(most * self._rate)
        if step < 2:
            step = 2 if most > 1 else 1
        kept = [(count // step * step, term) for term, count in counts.items() if count >= step]
        lines = (f"{term} {count}" for count, term in sorted(kept, key=lambda e: (-e[0], e[1])))
        return hashlib.md5("\n".join(lines).encode(), usedforsecurity=False).digest()

    def near(self, sign: Any) -> Near:
        """Return the near pages."""
        number = self._kept.get(self._digest(sign))
        return [] if number is None else [(1.0, number)]

    def add(self, number: int, sign: Any) -> None:
        """Keep a page."""
        self._kept[self._digest(sign)] = number


def sign_profile(text: str, words: list[str] | None) -> Any:
    """Sign by words of three letters and more, counted, or by given words."""
    terms = words if words is not None else _WORD.findall(text.lower())
    return Counter(term for term in terms if words is not None or len(term) > 2)
