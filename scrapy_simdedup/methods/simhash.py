"""Simhash (Charikar 2002; Manku, Jain, Das Sarma 2007): one 64-bit fingerprint, few bits apart."""

from __future__ import annotations

import numpy as np

from scrapy_simdedup.index.bands import Candidates, Plan, Rows, plan_hamming, rotate
from scrapy_simdedup.methods.base import Evidence, Limits
from scrapy_simdedup.text.document import Document

BITS = 64

# Of the candidates within the limit the nearest are looked at; more would be one crowd.
_MOST_CANDIDATES = 64


def fingerprint(document: Document) -> int:
    """Return the 64-bit simhash of a document's weighted terms.

    Each term votes with its weight on each bit of its XXH3-64; a bit is set when the votes for
    it outweigh those against it (a tie leaves it clear). A text without terms has no
    fingerprint: 0 is returned, and callers skip such texts first.
    """
    hashes, weights = document.weighted_hashes
    if not len(hashes):
        return 0
    votes = np.unpackbits(
        hashes.astype("<u8").view(np.uint8).reshape(-1, 8), axis=1, bitorder="little"
    )
    # float64 is exact here: sums of integers stay far below 2**53.
    ayes = weights.astype(np.float64) @ votes.astype(np.float64)
    bits = (2 * ayes > weights.sum()).astype(np.uint8)
    return int(np.packbits(bits, bitorder="little").view("<u8")[0])


def distance(one: int, other: int) -> int:
    """Return the Hamming distance of two fingerprints, in bits."""
    return (one ^ other).bit_count()


class Simhash:
    """Proposes every page within the bit limit; two pages match when both limits allow it."""

    name = "simhash"
    bands = 4

    def sign(self, document: Document) -> bytes:
        """Return the fingerprint, 8 bytes, little-endian."""
        return fingerprint(document).to_bytes(8, "little")

    def rows(self, part: bytes) -> Rows:
        """Return the fingerprint four times, rotated left by 0, 16, 32 and 48 bits."""
        value = int.from_bytes(part, "little")
        return [(band, rotate(value, 16 * band)) for band in range(self.bands)]

    def plan(self, part: bytes, terms: int, limits: Limits, size: int) -> Plan:
        """Return the cheapest exact plan for this text's limit in an index of ``size`` pages."""
        return plan_hamming(int.from_bytes(part, "little"), limits.distance_for(terms), size)

    def pick(self, part: bytes, terms: int, limits: Limits, found: Candidates) -> list[int]:
        """Return the pages within the limit, nearest first, ties by first seen."""
        if not len(found.pages):
            return []
        # The dtype matters: left to itself, numpy makes floats of integers on both sides of 2**63.
        rotated = np.array([key for _, key in self.rows(part)], dtype=np.uint64)
        apart = np.bitwise_count(found.keys ^ rotated[found.bands])
        near = apart <= limits.distance_for(terms)
        pages, apart = found.pages[near], apart[near]
        order = np.lexsort((pages, apart))
        return list(dict.fromkeys(pages[order].tolist()))[:_MOST_CANDIDATES]

    def accepts(self, evidence: Evidence, limits: Limits) -> bool:
        """Tell whether the distance is within the smaller limit of the two texts.

        Unless verification is off, the sketch must see a resemblance as well: unrelated texts
        can meet within a few bits.
        """
        return evidence.within_distance and (not limits.verified or evidence.resembles)
