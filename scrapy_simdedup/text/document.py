"""A text as the methods see it: terms in order, their hashes, their weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import xxhash

from scrapy_simdedup.text import chinese
from scrapy_simdedup.text.normalise import clean, fold
from scrapy_simdedup.text.segment import segment
from scrapy_simdedup.text.user_dict import UserDict
from scrapy_simdedup.text.weigh import weigh

# A text is cut here, in characters, before anything else sees it: a bound on time and memory
# that treats equal texts equally. It is a thick book's worth.
LONGEST_TEXT = 1_000_000

Hashes = npt.NDArray[np.uint64]
_Unsigned = TypeVar("_Unsigned", np.uint32, np.uint64)


# The finaliser of SplitMix64 (Steele et al. 2014), and the base of a polynomial; made once, and not
# for each text.
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)
_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_BASE = np.uint64(0x9E3779B97F4A7C15)


def _mix(values: Hashes) -> None:
    """Scramble 64-bit values in place."""
    for shift, factor in zip(_SHIFTS, _FACTORS, strict=False):
        values ^= values >> shift
        values *= factor
    values ^= values >> _SHIFTS[-1]


def hash_terms(terms: Iterable[str]) -> Hashes:
    """Return the XXH3-64 of each term's UTF-8, of shape ``(terms,)``."""
    digests = b"".join(map(xxhash.xxh3_64_digest, map(str.encode, terms)))
    return np.frombuffer(digests, dtype=">u8").astype(np.uint64)


def sample_terms(terms: Iterable[str], count: int) -> npt.NDArray[np.uint32]:
    """Return the ``count`` smallest of the terms' hashes, the low 32 bits, ascending, each once."""
    return _each_once(np.sort(hash_terms(terms).astype("<u4")))[:count]


def _each_once(ascending: npt.NDArray[_Unsigned]) -> npt.NDArray[_Unsigned]:
    return ascending[_first(ascending)]


def _first(ascending: npt.NDArray[_Unsigned]) -> npt.NDArray[np.bool_]:
    """Mark the first of equal values in a row."""
    first = np.ones(len(ascending), dtype=bool)
    np.not_equal(ascending[1:], ascending[:-1], out=first[1:])
    return first


@dataclass(frozen=True)
class Shape:
    """What shapes a signature besides the text, and is part of an index's identity.

    ``bits`` of a simhash (32 or 64), the number of ``keywords``, the path of a frozen IDF table
    (``""``: jieba's own, for Chinese), and a dictionary with which Chinese is cut besides jieba's.
    """

    bits: int = 64
    keywords: int = 10
    idf: str = ""
    user_dict: UserDict | None = None


@dataclass(frozen=True)
class Document:
    """A main text as it is compared, its terms in order, and their weights.

    ``counts`` says how often each term occurs, in order of first occurrence; ``raw`` is the text
    as it came but for broken characters.
    """

    text: str
    terms: list[str]
    counts: Mapping[str, int]
    weights: Mapping[str, int]
    raw: str = ""
    description: str = ""
    shape: Shape = Shape()

    @classmethod
    def from_text(cls, text: str, description: str = "", shape: Shape | None = None) -> Document:
        """Normalise, segment and weigh a main text; ``description`` is the page's own summary."""
        shape = shape or Shape()
        raw = clean(text[:LONGEST_TEXT])
        # Again: a single character may stand for eighteen.
        text = fold(raw)[:LONGEST_TEXT]
        terms = segment(text, partial(chinese.cut, user_dict=shape.user_dict))
        counts = Counter(terms)
        return cls(text, terms, counts, weigh(counts), raw, description, shape)

    @cached_property
    def digest(self) -> bytes:
        """XXH3-128 of the normalised text, 16 bytes: equal texts, equal digests."""
        return xxhash.xxh3_128_digest(self.text.encode("utf-8"))

    @cached_property
    def _places(self) -> dict[str, int]:
        """The places of the distinct terms, in order of first occurrence."""
        return dict(zip(self.counts, range(len(self.counts)), strict=True))

    @cached_property
    def _hashes(self) -> Hashes:
        return hash_terms(self.counts)

    def hashes_of(self, weights: Mapping[str, int]) -> tuple[Hashes, npt.NDArray[np.int64]]:
        """Return the XXH3-64 of each weighted term, and the weights, of shape ``(terms,)``.

        ``weights`` has terms of the document, in its own order.
        """
        if "_hashes" in self.__dict__:
            chosen = np.fromiter(map(weights.__contains__, self.counts), bool, len(self.counts))
            hashes = self._hashes[chosen]
        else:
            # Nobody has asked for those of all terms.
            hashes = hash_terms(weights)
        return hashes, np.fromiter(weights.values(), np.int64, len(weights))

    def shingles(self, size: int) -> Hashes:
        """Return the hashes of the distinct ``size``-shingles, in order of first occurrence.

        A shingle is a window of consecutive terms, stop words included; a text shorter than
        the window has none.
        """
        return self._distinct_shingles(size)[0]

    def smallest_shingles(self, size: int, count: int) -> Hashes:
        """Return the ``count`` smallest hashes of distinct ``size``-shingles, in order of size."""
        known = self._distinct.get(size)
        return (known[1] if known else _each_once(np.sort(self._windows(size))))[:count]

    def _distinct_shingles(self, size: int) -> tuple[Hashes, Hashes]:
        """Return the hashes of the distinct shingles, as they occur and in order of size."""
        known = self._distinct.get(size)
        if known is None:
            windows = self._windows(size)
            order = np.argsort(windows)
            ascending = windows[order]
            starts = np.flatnonzero(_first(ascending))
            if len(starts) < len(windows):
                # Of equal ones the one that occurs first.
                occurs_first = np.zeros(len(windows), dtype=bool)
                occurs_first[np.minimum.reduceat(order, starts)] = True
                known = windows[occurs_first], ascending[starts]
            else:
                known = windows, ascending
            self._distinct[size] = known
        return known

    @cached_property
    def _distinct(self) -> dict[int, tuple[Hashes, Hashes]]:
        return {}

    def _windows(self, size: int) -> Hashes:
        """Return the hash of each window of ``size`` terms."""
        count = len(self.terms) - size + 1
        if count <= 0 or not size:
            return np.empty(0, dtype=np.uint64)
        known = self._rolled.get(size)
        if known is None:
            # A polynomial of the term hashes, mixed at each step: order matters, sums do not.
            # A shorter window is the beginning of a longer one.
            begun = max((each for each in self._rolled if each < size), default=0)
            known = self._rolled[begun][:count].copy() if begun else np.zeros(count, np.uint64)
            for at in range(begun, size):
                known *= _BASE
                known += self._sequence[at : at + count]
                _mix(known)
            self._rolled[size] = known
        return known

    @cached_property
    def _rolled(self) -> dict[int, Hashes]:
        return {}

    @cached_property
    def _sequence(self) -> Hashes:
        places = np.fromiter(map(self._places.__getitem__, self.terms), np.intp, len(self.terms))
        return self._hashes[places]
