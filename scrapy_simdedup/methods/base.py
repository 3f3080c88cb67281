"""The protocol of a method: rows to store, ranges to probe, and a rule that disposes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from scrapy_simdedup.index.bands import Plan, Row, Rows, Scan
from scrapy_simdedup.text.document import Document


@dataclass(frozen=True)
class Limits:
    """How near is near: what of the settings a judgement depends on.

    ``distances`` holds (minimum distinct terms, bits) by falling minimum; ``resemblance`` and
    ``containment`` run from 0 to 1, and both at 0 switch verification off. ``segments`` is
    (N, m) of the piecewise signature, ``keyword_distance`` the source's threshold a.
    ``numbers`` and ``names`` are the shares of a new page's numbers and names that the kept one
    must have; 0 switches that guard off.
    """

    distances: tuple[tuple[int, int], ...] = ((0, 3),)
    resemblance: float = 0.3
    containment: float = 0.35
    segments: tuple[int, int] = (32, 16)
    keyword_distance: float = 0.05
    numbers: float = 0.0
    names: float = 0.0

    def distance_for(self, terms: int) -> int:
        """Return the bit limit for a text of that many distinct terms, -1 where there is none."""
        for least, bits in self.distances:
            if terms >= least:
                return bits
        return -1

    @property
    def guarded(self) -> bool:
        """Whether numbers or names have a say."""
        return self.numbers > 0 or self.names > 0

    @property
    def verified(self) -> bool:
        """Whether resemblance and containment have a say."""
        return self.resemblance > 0 or self.containment > 0


@dataclass(frozen=True)
class Evidence:
    """What a comparison of a new page with a kept one found, whatever the method.

    ``distance`` in bits; ``resemblance``, ``containment`` (of the new page in the kept one) and
    the shares of the new page's ``numbers`` and ``names`` that the kept one has from 0 to 1;
    ``other_text`` tells that the prose which neither extraction took is not the same.
    """

    distance: int
    resemblance: float
    containment: float
    new_parts: int
    resembles: bool
    numbers: float = 1.0
    names: float = 1.0
    other_text: bool = False

    def agrees(self, limits: Limits) -> bool:
        """Tell whether the guard on differing numbers and names lets the two be copies."""
        return self.numbers >= limits.numbers and self.names >= limits.names


@dataclass(frozen=True)
class Pair:
    """A new page and a kept one: their signatures, their distinct terms, and the evidence."""

    new: Mapping[str, bytes]
    old: Mapping[str, bytes]
    new_terms: int
    old_terms: int
    evidence: Evidence


class Method(Protocol):
    """One way to call two pages near-duplicates.

    A method signs a document, stores rows ``(band, key)`` of its signature part, plans which
    ranges of rows to probe, picks candidate pages from what they hold, and accepts or refuses
    a candidate on the evidence. Bands are numbered from 0 within the method, keys are unsigned
    64-bit integers.
    """

    @property
    def name(self) -> str:
        """The name in ``SIMDEDUP_METHODS``."""

    @property
    def part_name(self) -> str:
        """The name of its part of a signature; methods may share one, and its bands."""

    @property
    def bands(self) -> int:
        """How many bands the method's rows use."""

    @property
    def most_rows(self) -> int:
        """A key (or range) with more rows than this is crowded."""

    @property
    def least_shared(self) -> int:
        """How many rows a candidate shares with the page at least."""

    @property
    def most_candidates(self) -> int:
        """So many candidates are picked at most."""

    @property
    def key_bits(self) -> int:
        """How many bits its keys have: 64, or 32 where all of them are small."""

    @property
    def range_bits(self) -> int:
        """How many leading bits of a key the widest ranges of a plan have in common, 1 to 64."""

    def sign(self, document: Document) -> bytes:
        """Return the method's part of the signature."""

    def rows(self, part: bytes) -> Rows:
        """Return the rows to store for a signature part."""

    def plan(self, part: bytes, terms: int, limits: Limits, size: int) -> Plan | Scan:
        """Return which rows may belong to near pages, in an index of ``size`` pages."""

    def pick(self, part: bytes, terms: int, limits: Limits, found: Sequence[Row]) -> Sequence[int]:
        """Return the numbers of candidate pages among the rows found, best first."""

    def accepts(self, pair: Pair, limits: Limits) -> bool:
        """Tell whether the new page of a pair is a duplicate of the kept one."""
