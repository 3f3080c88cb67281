"""The piecewise signature: a copy shares at least m of N segments, measured on the smaller page.

The source cuts a text into N pieces of equal length, where one inserted word breaks them all.
Here segments are cut by content, at the ends of sentences, so that one inserted word harms
one segment; of their hashes the N smallest are stored, which is a sample that two versions of
a text draw alike. A short page inside a long one is no copy of it: the sizes must be alike.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import xxhash

from scrapy_simdedup.index.bands import Plan, Row, Rows, most_shared, plan_exact
from scrapy_simdedup.methods.base import Limits, Pair
from scrapy_simdedup.text.document import Document
from scrapy_simdedup.text.normalise import normalise

# The most segments that are ever stored; a smaller N is a matter of judging.
MOST_SEGMENTS = 64

# The smaller text must have at least this share of the larger one's terms.
_SIZE_RATIO = 0.5

# A sentence shorter than this, in characters, goes with the next one: "He said." is in many texts.
_SHORTEST = 12

_ENDS = re.compile(r"(?<=[.!?…])\s+|[。！？；\n]+")
_SILENT = re.compile(r"[\W_]+")


def segments(text: str) -> list[str]:
    """Cut a text at the ends of sentences and lines; letters and digits alone remain."""
    found: list[str] = []
    waiting = ""
    for piece in _ENDS.split(text):
        waiting += _SILENT.sub("", normalise(piece))
        if len(waiting) >= _SHORTEST:
            found.append(waiting)
            waiting = ""
    if waiting:
        found.append(waiting)
    return found


def shared(new: bytes, old: bytes, most: int) -> tuple[int, int]:
    """Return how many segments two pages share, and how many the smaller one has, ``most`` each."""
    one, other = (_hashes(part)[:most] for part in (new, old))
    return len(np.intersect1d(one, other)), min(len(one), len(other))


def _hashes(part: bytes) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    return np.frombuffer(part, dtype="<u4", offset=2)


class Piecewise:
    """Proposes pages with a segment in common; enough of them make a copy."""

    name = part_name = "piecewise"
    bands = 1
    most_rows = 48
    least_shared = 1
    most_candidates = 32
    key_bits = 32
    range_bits = 64

    def sign(self, document: Document) -> bytes:
        """Return the 64 smallest segment hashes, 32 bits each, after their number."""
        hashes = {
            xxhash.xxh3_64_intdigest(segment.encode("utf-8")) & 0xFFFFFFFF
            for segment in segments(document.raw)
        }
        smallest = np.sort(np.array(list(hashes), dtype="<u4"))[:MOST_SEGMENTS]
        return len(hashes).to_bytes(2, "little", signed=False) + smallest.tobytes()

    def rows(self, part: bytes) -> Rows:
        """Return a row for each of the 16 smallest segments: what two versions share at all."""
        return [(0, int(value)) for value in _hashes(part)[:16]]

    def plan(self, part: bytes, terms: int, limits: Limits, size: int) -> Plan:
        """Return one exact range for each row; crowded ones (a site's slogan) are skipped."""
        return plan_exact(self.rows(part), self.most_rows)

    def pick(self, part: bytes, terms: int, limits: Limits, found: Sequence[Row]) -> list[int]:
        """Return the pages that share rows, most shared first."""
        return most_shared(found, self.least_shared)[: self.most_candidates]

    def accepts(self, pair: Pair, limits: Limits) -> bool:
        """Tell whether at least m of N segments are shared, in proportion on a smaller page."""
        most, least = limits.segments
        sizes = sorted((pair.new_terms, pair.old_terms))
        if sizes[0] < _SIZE_RATIO * sizes[1]:
            return False
        common, smaller = shared(pair.new[self.name], pair.old[self.name], most)
        # At least two: one sentence is a quotation.
        return common >= max(2, -(-least * smaller // most))
