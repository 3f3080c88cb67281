"""Bottom-k sketch (Broder 1997): resemblance, and containment with its direction.

What is kept of a page is a uniform sample of its distinct 3-shingles: the 128 smallest hashes
as 16-bit tags, the largest of them, and the size of the set. A new page's whole shingle set is
held against that sample. Both sets are cut at the sample's largest hash, and within that cut
the sample is complete, so two ratios are unbiased estimates: how much of the new page is in
the old one, and how much of the old one is in the new page.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scrapy_simdedup.index.bands import Plan, Row, Rows, most_shared, plan_exact
from scrapy_simdedup.methods.base import Limits, Pair
from scrapy_simdedup.text.document import Document, Hashes

SAMPLE = 128
SHINGLE = 3
PARTS = 8

# Rows that propose: the smallest 5-shingle hashes. Two in common make a candidate.
ROWS = 16
_ROW_SHINGLE = 5

# A part is new when less than this share of its sampled shingles is known.
_KNOWN_SHARE = 0.25

# A copy has something of the original in all of its eight parts but so many.
MOST_NEW_PARTS = 2

_ROW_KEY = np.dtype("<u4")
_TAG = np.dtype("<u2")
_HEADER = struct.Struct("<IHQ")


class Header(NamedTuple):
    """How a sketch begins: the set's size, the number of row keys, the sample's largest hash."""

    size: int
    rows: int
    largest: int


@dataclass(frozen=True)
class Overlap:
    """How a new page's shingles lie in a kept page's, estimated.

    ``resemblance`` is the Jaccard index, ``containment`` the share of the new page that is in
    the kept one, both from 0 to 1; ``new_parts`` counts those of eight equal parts of the new
    page of which the kept page knows next to nothing.
    """

    resemblance: float
    containment: float
    new_parts: int


def overlap(shingles: Hashes, part: bytes) -> Overlap:
    """Hold a page's distinct shingles, in reading order, against another page's sketch."""
    (size, _, largest), _, tags = unpack_sketch(part)
    if not size or not len(shingles):
        return Overlap(0.0, 0.0, PARTS)
    inside = np.flatnonzero(shingles <= np.uint64(largest))
    in_sample = np.zeros(1 << 16, dtype=bool)
    in_sample[tags] = True
    known = inside[in_sample[_tags(shingles[inside])]]
    if not len(known):
        return Overlap(0.0, 0.0, PARTS)
    # Tags of 16 bits can meet by chance; no more shingles are shared than the sample holds.
    hits = min(len(known), len(tags))
    containment = hits / len(inside)
    common = min(containment * len(shingles), hits / len(tags) * size, size, len(shingles))
    resemblance = common / (size + len(shingles) - common)
    counts = zip(_in_parts(known, len(shingles)), _in_parts(inside, len(shingles)), strict=True)
    new = sum(of_known < _KNOWN_SHARE * of_all for of_known, of_all in counts)
    return Overlap(resemblance, containment, new)


def _in_parts(places: npt.NDArray[np.intp], length: int) -> list[int]:
    """Count the places in each of eight equal parts; the first ones take what is left over."""
    whole, more = divmod(length, PARTS)
    ends = [whole * part + min(part, more) for part in range(1, PARTS)]
    # So few numbers are faster without numpy.
    first = [0, *np.searchsorted(places, ends).tolist(), len(places)]
    return [end - start for start, end in pairwise(first)]


def resembles(found: Overlap, limits: Limits) -> bool:
    """Tell whether the new page brings too little that the kept one lacks.

    The two must resemble each other, and of the new page a fair share must be in the kept one,
    and something of nearly all its parts: so does a reworded or shortened copy, while a page
    that wraps or quotes the other has whole parts of its own.
    """
    if found.resemblance < limits.resemblance:
        return False
    return not limits.containment or (
        found.containment >= limits.containment and found.new_parts <= MOST_NEW_PARTS
    )


def _tags(hashes: Hashes) -> npt.NDArray[np.uint16]:
    # The low bits: the high ones of the smallest hashes are all zero.
    return hashes.astype(np.uint16)


def unpack_sketch(
    part: bytes,
) -> tuple[Header, npt.NDArray[np.uint32], npt.NDArray[np.uint16]]:
    """Return a sketch's header, row keys and tags."""
    header = Header._make(_HEADER.unpack_from(part))
    keys = np.frombuffer(part, dtype=_ROW_KEY, count=header.rows, offset=_HEADER.size)
    tags = np.frombuffer(part, dtype=_TAG, offset=_HEADER.size + keys.nbytes)
    return header, keys, tags


class Sketch:
    """Proposes pages that share two of sixteen row keys; resemblance and containment dispose."""

    name = part_name = "sketch"
    bands = 1
    # Template residue fills a key with pages; keys with more rows than this are not evidence.
    most_rows = 48
    least_shared = 2
    most_candidates = 32
    key_bits = 32
    range_bits = 64

    def sign(self, document: Document) -> bytes:
        """Return header, row keys and tags: 14 + 4 * rows + 2 * tags bytes, 334 at most."""
        shingles = document.shingles(SHINGLE)
        sample = document.smallest_shingles(SHINGLE, SAMPLE)
        rows = document.smallest_shingles(_ROW_SHINGLE, ROWS)
        # A small set is known whole, up to the largest hash there can be.
        largest = int(sample[-1]) if len(shingles) > SAMPLE else 2**64 - 1
        header = _HEADER.pack(len(shingles), len(rows), largest)
        return header + rows.astype(_ROW_KEY).tobytes() + _tags(sample).tobytes()

    def rows(self, part: bytes) -> Rows:
        """Return a row for each row key (the low 32 bits of the hash)."""
        _, count, _ = _HEADER.unpack_from(part)
        keys = struct.unpack_from(f"<{count}I", part, _HEADER.size)
        return [(0, key) for key in dict.fromkeys(keys)]

    def plan(self, part: bytes, terms: int, limits: Limits, size: int) -> Plan:
        """Return one exact range for each row key; crowded keys are skipped."""
        return plan_exact(self.rows(part), self.most_rows)

    def pick(self, part: bytes, terms: int, limits: Limits, found: Sequence[Row]) -> list[int]:
        """Return the pages that share at least two row keys, most shared first."""
        return most_shared(found, self.least_shared)[: self.most_candidates]

    def accepts(self, pair: Pair, limits: Limits) -> bool:
        """Tell whether the new page brings too little that the kept one lacks."""
        return limits.verified and pair.evidence.resembles
