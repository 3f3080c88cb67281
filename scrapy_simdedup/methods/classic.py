"""The first source's simhash as it stands: TF-IDF weights, no verification, limit by length.

In the source's words a distance of about 3 is near for long texts and about 10 for short ones.
At 10 bits unrelated texts meet by chance: two random 64-bit fingerprints are within 10 bits of
each other once in 100 million pairs (the sum of C(64, i) for i <= 10, by 2**64), so in an
index of a million pages about one page in a hundred has such a neighbour, and real
fingerprints lie closer than random ones. The methods
``simhash`` and ``sketch`` answer both of the source's stated weaknesses, by verification and by
containment; this preset stays because people know it.
"""

from __future__ import annotations

from scrapy_simdedup.methods.base import Limits, Pair
from scrapy_simdedup.methods.simhash import Simhash
from scrapy_simdedup.text.document import Document
from scrapy_simdedup.text.tfidf import integer_weights

# (minimum distinct terms, bits): long texts, short texts.
CLASSIC_DISTANCES = ((100, 3), (0, 10))


class Classic(Simhash):
    """Simhash over TF-IDF weights as integers, low ones removed; the distance alone decides."""

    name = part_name = "classic"

    def sign(self, document: Document) -> bytes:
        """Return the fingerprint of the TF-IDF weighted terms, 8 bytes (or 4), little-endian."""
        return self._signed(document, integer_weights(document))

    def limit(self, limits: Limits, terms: int) -> int:
        """Return the source's limit for a text of that length: 3 bits, or 10 for a short one."""
        return next(bits for least, bits in CLASSIC_DISTANCES if terms >= least)

    def widest(self, limits: Limits) -> int:
        """Return the limit for a short text."""
        return max(bits for _, bits in CLASSIC_DISTANCES)

    def accepts(self, pair: Pair, limits: Limits) -> bool:
        """Tell whether the distance is within the smaller limit of the two texts."""
        return self.within(pair, limits)
