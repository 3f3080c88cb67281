"""The five keyword rules: digests of a page's abstract and of its heaviest terms.

With T the n heaviest terms and W their weights as density in the page:

1. the digest of the abstract is equal (the meta description, else the first 512 bytes);
2. the digest of T in order of weight is equal;
3. the digest of T in sorted order is equal;
4. rule 2, and the weights are close: the sum of (Wi - Wj)^2 over T, divided by the sum of
   Wi^2 plus the sum of Wj^2, is below a threshold a;
5. rule 3, and the weights are close in the same way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from scrapy_simdedup.index.bands import Plan, Row, Rows, plan_exact
from scrapy_simdedup.methods.base import Limits, Pair
from scrapy_simdedup.text.document import Document
from scrapy_simdedup.text.normalise import normalise
from scrapy_simdedup.text.tfidf import heaviest

ABSTRACT_BYTES = 512

# A description that pages with different texts have is their site's slogan.
_SLOGAN = 0.1
# A description of fewer characters says too little to tell pages apart.
_SHORTEST_DESCRIPTION = 40

_ABSTRACT, _ORDERED, _SORTED = range(3)
_BAND_OF_RULE = {1: _ABSTRACT, 2: _ORDERED, 3: _SORTED, 4: _ORDERED, 5: _SORTED}
_DIGESTS = 3 * 8


def _digest(text: str) -> bytes:
    return hashlib.md5(text.encode("utf-8"), usedforsecurity=False).digest()[:8]


def about_digest(description: str) -> bytes:
    """Return what stands for a page's description in its part, ``b""`` where it says too little."""
    text = normalise(description)
    return _digest(text) if len(text) >= _SHORTEST_DESCRIPTION else b""


def with_about(part: bytes, about: bytes) -> bytes:
    """Return the part of a page with that ``about_digest``, made of the part of its text alone."""
    return about + part[len(about) : _DIGESTS] + b"\1" + part[_DIGESTS + 1 :] if about else part


def abstract(document: Document) -> tuple[str, bool]:
    """Return the page's abstract, and whether it is its meta description."""
    description = normalise(document.description)
    if len(description) >= _SHORTEST_DESCRIPTION:
        return description, True
    start = document.text.encode("utf-8")[:ABSTRACT_BYTES]
    return start.decode("utf-8", "ignore"), False


def weight_distance(one: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> float:
    """Return the distance of two keyword weightings: 0 for equal ones, 1 for unlike ones."""
    total = float((one**2).sum() + (other**2).sum())
    return float(((one - other) ** 2).sum()) / total if total else 0.0


class Keywords:
    """One of the five rules. All five share a part of the signature and its bands."""

    part_name = "keywords"
    bands = 3
    most_rows = most_candidates = 48
    least_shared = 1
    key_bits = 64
    range_bits = 64

    def __init__(self, rule: int) -> None:
        self._rule = rule
        self._band = _BAND_OF_RULE[rule]
        self.name = f"keywords-{rule}"

    def sign(self, document: Document) -> bytes:
        """Return three digests of 8 bytes, a flag, and the weights in sorted order of the terms.

        A text of fewer than n terms has no keyword digests (zeros, which match nothing).
        """
        text, described = abstract(document)
        n = document.shape.keywords
        top = heaviest(document, n)
        digests = [_digest(text), bytes(8), bytes(8)]
        weights = b""
        if len(top) == n:
            terms = [term for term, _ in top]
            # No term has a space in it, so that different lists stay different.
            digests[_ORDERED] = _digest(" ".join(terms))
            digests[_SORTED] = _digest(" ".join(sorted(terms)))
            density = [weight / max(len(document.terms), 1) for _, weight in sorted(top)]
            weights = np.array(density, dtype="<f4").tobytes()
        return b"".join(digests) + bytes([described]) + weights

    def rows(self, part: bytes) -> Rows:
        """Return the row that this rule looks up: its digest, where there is one."""
        digest = part[8 * self._band : 8 * self._band + 8]
        return [(self._band, int.from_bytes(digest, "little"))] if any(digest) else []

    def plan(self, part: bytes, terms: int, limits: Limits, size: int) -> Plan:
        """Return the exact range of the digest; a crowded one is a slogan, and is skipped."""
        return plan_exact(self.rows(part), self.most_rows)

    def pick(self, part: bytes, terms: int, limits: Limits, found: Sequence[Row]) -> list[int]:
        """Return the pages with that digest, first seen first."""
        return sorted({page for _, _, page in found})

    def accepts(self, pair: Pair, limits: Limits) -> bool:
        """Tell whether the rule holds for two pages."""
        new, old = pair.new[self.part_name], pair.old[self.part_name]
        at = slice(8 * self._band, 8 * self._band + 8)
        if new[at] != old[at] or not any(new[at]):
            return False
        if self._rule == 1:
            described = new[_DIGESTS] or old[_DIGESTS]
            return not described or pair.evidence.resemblance >= _SLOGAN
        if self._rule in (4, 5):
            one, other = (
                np.frombuffer(part, dtype="<f4", offset=_DIGESTS + 1).astype(np.float64)
                for part in (new, old)
            )
            return weight_distance(one, other) < limits.keyword_distance
        return True
