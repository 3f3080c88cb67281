"""A text as the methods see it: terms in order, their hashes, their weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import xxhash

from scrapy_simdedup.text.normalise import normalise
from scrapy_simdedup.text.segment import segment
from scrapy_simdedup.text.weigh import weigh

# A text is cut here, in characters, before anything else sees it: a bound on time and memory
# that treats equal texts equally. It is a thick book's worth.
LONGEST_TEXT = 1_000_000

Hashes = npt.NDArray[np.uint64]


def _mix(values: Hashes) -> Hashes:
    """Scramble 64-bit values (the finaliser of SplitMix64, Steele et al. 2014)."""
    values = values ^ (values >> np.uint64(30))
    values = values * np.uint64(0xBF58476D1CE4E5B9)
    values = values ^ (values >> np.uint64(27))
    values = values * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


@dataclass(frozen=True)
class Shape:
    """What shapes a signature besides the text, and is part of an index's identity.

    ``bits`` of a simhash (32 or 64), the number of ``keywords``, and the path of a frozen IDF
    table (``""``: jieba's own, for Chinese).
    """

    bits: int = 64
    keywords: int = 10
    idf: str = ""


@dataclass(frozen=True)
class Document:
    """A main text as it came and as it is compared, its terms in order, and their weights."""

    text: str
    terms: list[str]
    weights: dict[str, int]
    raw: str = ""
    description: str = ""
    shape: Shape = Shape()

    @classmethod
    def from_text(cls, text: str, description: str = "", shape: Shape | None = None) -> Document:
        """Normalise, segment and weigh a main text; ``description`` is the page's own summary."""
        raw = text[:LONGEST_TEXT]
        text = normalise(raw)
        terms = segment(text)
        return cls(text, terms, weigh(terms), raw, description, shape or Shape())

    @cached_property
    def digest(self) -> bytes:
        """XXH3-128 of the normalised text, 16 bytes: equal texts, equal digests."""
        return xxhash.xxh3_128_digest(self.text.encode("utf-8"))

    @cached_property
    def _hash_of(self) -> dict[str, int]:
        return {term: xxhash.xxh3_64_intdigest(term.encode("utf-8")) for term in set(self.terms)}

    def hashes_of(self, weights: Mapping[str, int]) -> tuple[Hashes, npt.NDArray[np.int64]]:
        """Return the XXH3-64 of each weighted term, and the weights, of shape ``(terms,)``."""
        hashes = np.array([self._hash_of[term] for term in weights], dtype=np.uint64)
        return hashes, np.array(list(weights.values()), dtype=np.int64)

    def shingles(self, size: int) -> Hashes:
        """Return the hashes of the distinct ``size``-shingles, in order of first occurrence.

        A shingle is a window of consecutive terms, stop words included; a text shorter than
        the window has none.
        """
        count = len(self.terms) - size + 1
        if count <= 0:
            return np.empty(0, dtype=np.uint64)
        hash_of = self._hash_of
        hashes = np.array([hash_of[term] for term in self.terms], dtype=np.uint64)
        rolled = np.zeros(count, dtype=np.uint64)
        for at in range(size):
            # A polynomial of the term hashes, mixed at each step: order matters, sums do not.
            rolled = _mix(rolled * np.uint64(0x9E3779B97F4A7C15) + hashes[at : at + count])
        _, first = np.unique(rolled, return_index=True)
        return rolled[np.sort(first)]
