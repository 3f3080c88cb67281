"""Made-up pages: any page's values follow from its number, one page or a million at a time.

They are drawn by a counter-based generator (SplitMix64, Steele et al. 2014) of page number,
stream and place. A kind says how alike the pages of an index are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from scrapy_simdedup.methods.sketch import SAMPLE

SEED = 20260101

UNIFORM = "uniform"
# All fingerprints under one 16-bit prefix.
PREFIX = "prefix"
# One template: the same row keys, fingerprints eight flips around one, a fifth of the shingles.
TEMPLATE = "template"
# One fingerprint for all; their shingles are unlike.
IDENTICAL = "identical"
KINDS = (UNIFORM, PREFIX, TEMPLATE, IDENTICAL)

ROWS = 16
# As of the pages of the labelled corpus: the median page has 441 distinct 3-shingles.
_FEWEST, _MOST = 300, 556
NUMBERS, NAMES = 10, 21

_TEMPLATE_FLIPS = 8
_TEMPLATE_SHARE = 5

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]

# As scrapy_simdedup.methods.sketch and scrapy_simdedup.guards.facts lay out their parts.
_SKETCH = np.dtype(
    [
        ("size", "<u4"),
        ("rows", "<u2"),
        ("largest", "<u8"),
        ("keys", "<u4", (ROWS,)),
        ("tags", "<u2", (SAMPLE,)),
    ]
)
_FACTS = np.dtype(
    [("counts", "u1", (2,)), ("numbers", "<u4", (NUMBERS,)), ("names", "<u4", (NAMES,))]
)

# The streams that values are drawn from.
_FINGERPRINT, _KEYS, _SHINGLES, _FACT_TAGS, _DIGEST, _SIZE, _FLIPS, _BODY = range(8)


def mix(values: Words) -> Words:
    """Scramble 64-bit values (the finaliser of SplitMix64)."""
    values = values ^ (values >> np.uint64(30))
    values *= np.uint64(0xBF58476D1CE4E5B9)
    values ^= values >> np.uint64(27)
    values *= np.uint64(0x94D049BB133111EB)
    values ^= values >> np.uint64(31)
    return values


def draw(pages: Words, stream: int, count: int) -> Words:
    """Return ``count`` random values for each page, of shape ``(pages, count)``."""
    starts = mix(mix(pages + np.uint64(SEED)) + np.uint64((stream + 1) << 32))
    steps = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return mix(starts[:, None] + steps)


@dataclass(frozen=True)
class MadeUp:
    """Pages of one kind."""

    kind: str = UNIFORM

    def fingerprints(self, pages: Words) -> Words:
        """Return a simhash for each page."""
        drawn = draw(pages, _FINGERPRINT, 1)[:, 0]
        if self.kind == PREFIX:
            return (drawn >> np.uint64(16)) | np.uint64(0xC0DE << 48)
        if self.kind == TEMPLATE:
            places = np.argsort(draw(pages, _FLIPS, 64), axis=1)[:, :_TEMPLATE_FLIPS]
            flips = np.bitwise_or.reduce(np.uint64(1) << places.astype(np.uint64), axis=1)
            return _common(_FINGERPRINT, 1)[0] ^ flips
        return np.broadcast_to(_common(_FINGERPRINT, 1), len(pages)) if self.identical else drawn

    @property
    def identical(self) -> bool:
        """Whether the pages share their fingerprint."""
        return self.kind == IDENTICAL

    def row_keys(self, pages: Words) -> npt.NDArray[np.uint32]:
        """Return the sketch's row keys, of shape ``(pages, ROWS)``."""
        if self.kind == TEMPLATE:
            return np.broadcast_to(_common(_KEYS, ROWS).astype("<u4"), (len(pages), ROWS))
        return draw(pages, _KEYS, ROWS).astype("<u4")

    def sizes(self, pages: Words) -> Words:
        """Return how many distinct shingles each page has."""
        return np.uint64(_FEWEST) + draw(pages, _SIZE, 1)[:, 0] % np.uint64(_MOST - _FEWEST)

    def smallest(self, pages: Words, count: int) -> Words:
        """Return each page's ``count`` smallest shingle hashes, ascending.

        A page's hashes are drawn one from each of as many equal strata as it has shingles, so
        that the smallest of them are uniform as well, and the others need not be drawn.
        """
        step = (np.uint64(1 << 32) // self.sizes(pages) - np.uint64(1)) | np.uint64(1)
        places = np.arange(count, dtype=np.uint64)
        drawn = draw(pages, _SHINGLES, count)
        if self.kind == TEMPLATE:
            # Each fifth stratum's hash is the template's: those of equal strata are equal.
            step = np.full_like(step, ((1 << 32) // _MOST - 1) | 1)
            drawn[:, ::_TEMPLATE_SHARE] = _common(_SHINGLES, count)[::_TEMPLATE_SHARE]
        return places * (step[:, None] << np.uint64(32)) + (drawn >> np.uint64(32)) * step[:, None]

    def shingles(self, page: int) -> Words:
        """Return all shingle hashes of one page, ascending."""
        pages = np.array([page], dtype=np.uint64)
        return self.smallest(pages, int(self.sizes(pages)[0]))[0]

    def parts(self, pages: Words) -> dict[str, Bytes]:
        """Return each page's signature parts as bytes, of shape ``(pages, length)``."""
        hashes = self.smallest(pages, SAMPLE)
        sketch = np.zeros(len(pages), dtype=_SKETCH)
        sketch["size"], sketch["rows"] = self.sizes(pages), ROWS
        sketch["largest"] = hashes[:, -1]
        sketch["keys"], sketch["tags"] = self.row_keys(pages), hashes.astype("<u2")
        return {
            "simhash": as_bytes(self.fingerprints(pages).astype("<u8")),
            "sketch": as_bytes(sketch),
            "facts": as_bytes(_facts(pages)),
            # Few pages have any, and then a hundred bytes.
            "rest": np.zeros((len(pages), 0), dtype=np.uint8),
        }


def digests(pages: Words) -> Bytes:
    """Return the digest of each page's text, of shape ``(pages, 16)``."""
    return as_bytes(draw(pages, _DIGEST, 2))


def bodies(pages: Words) -> Bytes:
    """Return the digest of each page's content as it came, of shape ``(pages, 16)``."""
    return as_bytes(draw(pages, _BODY, 2))


def terms(pages: Words) -> Words:
    """Return how many distinct terms each page has."""
    return np.uint64(100) + draw(pages, _SIZE, 2)[:, 1] % np.uint64(200)


def url_of(page: int) -> str:
    """Return a page's URL, of 60 characters."""
    return f"https://www.example.com/archive/{page:017d}/story.html"


def sketch_of(hashes: Words, keys: npt.NDArray[np.uint32]) -> bytes:
    """Return the sketch part for ascending shingle hashes (more than the sample) and row keys."""
    sketch = np.zeros(1, dtype=_SKETCH)
    sketch["size"], sketch["rows"], sketch["largest"] = len(hashes), ROWS, hashes[SAMPLE - 1]
    sketch["keys"], sketch["tags"] = keys, hashes[:SAMPLE].astype("<u2")
    return sketch.tobytes()


def signature_of(parts: Mapping[str, Bytes], at: int = 0) -> dict[str, bytes]:
    """Return the signature of the page at a place of ``parts``."""
    return {name: part[at].tobytes() for name, part in parts.items()}


def as_bytes(values: npt.NDArray[np.generic]) -> Bytes:
    """View the rows of an array as bytes, of shape ``(rows, length)``."""
    values = np.ascontiguousarray(values)
    return values.view(np.uint8).reshape(len(values), -1)


def _facts(pages: Words) -> npt.NDArray[np.void]:
    drawn = draw(pages, _FACT_TAGS, NUMBERS + NAMES).astype("<u4")
    facts = np.zeros(len(pages), dtype=_FACTS)
    facts["counts"] = NUMBERS, NAMES
    facts["numbers"] = np.sort(drawn[:, :NUMBERS], axis=1)
    facts["names"] = np.sort(drawn[:, NUMBERS:], axis=1)
    return facts


@cache
def _common(stream: int, count: int) -> Words:
    """Return values that all pages of a kind share: those of a page that is none."""
    return draw(np.array([2**63], dtype=np.uint64), stream, count)[0]
