"""Simhash (Charikar 2002; Manku, Jain, Das Sarma 2007): one 64-bit fingerprint, few bits apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from scrapy_simdedup.index.bands import MOST_ROWS, Plan, Row, Rows, Scan, plan_hamming, rotations
from scrapy_simdedup.methods.base import Limits, Pair
from scrapy_simdedup.text.document import Document, Hashes

# Beyond so many pages a 32-bit fingerprint meets others by chance.
MOST_PAGES_32 = 100_000


def fingerprint(document: Document) -> int:
    """Return the 64-bit simhash of a document's weighted terms, 0 where it has none."""
    return simhash(*document.hashes_of(document.weights), 64)


def simhash(hashes: Hashes, weights: npt.NDArray[np.int64], bits: int) -> int:
    """Return the simhash of weighted term hashes, both of shape ``(terms,)``.

    Each term votes with its weight on each of the low ``bits`` bits of its hash; a bit is set
    when the votes for it outweigh those against it (a tie leaves it clear).
    """
    if not len(hashes):
        return 0
    votes = np.unpackbits(hashes.astype("<u8").view(np.uint8), bitorder="little").reshape(-1, 64)
    # float32 is fast, and exact here: the weights of a text of a million characters add up to
    # less than 2**24.
    ayes = weights.astype(np.float32) @ votes.astype(np.float32)
    set_bits = 2 * ayes > weights.sum()
    value = int(np.packbits(set_bits, bitorder="little").view("<u8")[0])
    return value & ((1 << bits) - 1)


def distance(one: bytes | int, other: bytes | int) -> int:
    """Return the Hamming distance of two fingerprints, in bits."""
    a, b = (v if isinstance(v, int) else int.from_bytes(v, "little") for v in (one, other))
    return (a ^ b).bit_count()


class Simhash:
    """Proposes every page within the bit limit; two pages match when both limits allow it."""

    name = part_name = "simhash"
    bands = 4
    most_rows = MOST_ROWS
    least_shared = 1
    # Of the candidates within the limit the nearest are looked at; more would be one crowd.
    most_candidates = 64
    key_bits = 64
    range_bits = 16

    def sign(self, document: Document) -> bytes:
        """Return the fingerprint, 8 bytes (or 4), little-endian."""
        return self._signed(document, document.weights)

    @staticmethod
    def _signed(document: Document, weights: Mapping[str, int]) -> bytes:
        bits = document.shape.bits
        return simhash(*document.hashes_of(weights), bits).to_bytes(bits // 8, "little")

    def rows(self, part: bytes) -> Rows:
        """Return the fingerprint under rotations by 0, 16, 32 and 48 bits (0 and 16 of 32)."""
        value, bits = int.from_bytes(part, "little"), 8 * len(part)
        return list(enumerate(rotations(value, bits)))

    def limit(self, limits: Limits, terms: int) -> int:
        """Return how many bits a text of so many distinct terms may differ in."""
        return limits.distance_for(terms)

    def widest(self, limits: Limits) -> int:
        """Return how many bits a text of any length may differ in."""
        return max(bits for _, bits in limits.distances)

    def plan(
        self, part: bytes, terms: int, limits: Limits, size: int, width: int | None = None
    ) -> Plan | Scan:
        """Return the cheapest exact plan for this text's limit in an index of ``size`` pages.

        ``width`` forces a plan by prefixes of so many bits.
        """
        value, bits = int.from_bytes(part, "little"), 8 * len(part)
        return plan_hamming(value, self.limit(limits, terms), size, width, bits=bits)

    def pick(self, part: bytes, terms: int, limits: Limits, found: Sequence[Row]) -> list[int]:
        """Return the pages within the limit, nearest first, ties by first seen."""
        if not found:
            # So it is for most pages.
            return []
        rotated = [key for _, key in self.rows(part)]
        limit = self.limit(limits, terms)
        near = sorted(
            (apart, page)
            for band, key, page in found
            if (apart := (key ^ rotated[band]).bit_count()) <= limit
        )
        return list(dict.fromkeys(page for _, page in near))[: self.most_candidates]

    def within(self, pair: Pair, limits: Limits) -> bool:
        """Tell whether the distance is within the smaller limit of the two texts."""
        allowed = min(self.limit(limits, terms) for terms in (pair.new_terms, pair.old_terms))
        return distance(pair.new[self.part_name], pair.old[self.part_name]) <= allowed

    def accepts(self, pair: Pair, limits: Limits) -> bool:
        """Tell whether the two are near, and resemble each other.

        Unless verification is off, the sketch must see a resemblance as well: unrelated texts
        can meet within a few bits.
        """
        return self.within(pair, limits) and (not limits.verified or pair.evidence.resembles)
