"""Rows in Redis: many to a key, packed. A key of its own for each row would cost ten times that.

A row says that a page has a key in a band. The first 16 bits of the key choose a bucket, a
string to which rows are appended; what is left of the key stands in the row, before the page's
number. A key that is looked up is found in a bucket by its bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scrapy_simdedup.index.bands import Range, Row, Scan

# Bytes of a page's number.
PAGE_BYTES = 5

# Rows with one key that are stored at most: a method looks at so many pages at most.
MOST_EQUAL = 64

_SPACE_BYTES = 6


class Cell(NamedTuple):
    """Where the rows with one key lie: a bucket, and what they begin with there."""

    bucket: str
    start: bytes

    def row(self, page: int) -> bytes:
        """Return the row of a page."""
        return self.start + page.to_bytes(PAGE_BYTES, "big")


class Layout:
    """Which cell a key belongs to; ``short`` are the bands whose keys have 32 bits.

    ``prefix`` is that of all the index's keys. Rows of another space than 0 lie in buckets of
    their own, with their space in them: few pages of a site would not fill a bucket.
    """

    def __init__(self, prefix: str, short: Collection[int]) -> None:
        self._prefix = prefix
        self._short = short

    def cell(self, space: int, band: int, key: int) -> Cell:
        """Return the cell of a key."""
        bits = 32 if band in self._short else 64
        rest = (key & ((1 << bits - 16) - 1)).to_bytes(bits // 8 - 2, "big")
        return Cell(self.bucket(space, band, key >> bits - 16), rest + _space(space))

    def bucket(self, space: int, band: int, number: int) -> str:
        """Return the name of a bucket: that of the keys that begin with these 16 bits."""
        return f"{self._prefix}:{band}{'+' if space else ''}:{number:04x}"


def _space(space: int) -> bytes:
    return space.to_bytes(_SPACE_BYTES, "big") if space else b""


def row_bytes(space: int) -> int:
    """Return the length of a row with a long key."""
    return 6 + len(_space(space)) + PAGE_BYTES


def pages_of(packed: bytes) -> list[int]:
    """Read page numbers that stand one after the other."""
    return [
        int.from_bytes(packed[at : at + PAGE_BYTES], "big")
        for at in range(0, len(packed), PAGE_BYTES)
    ]


def near(space: int, scan: Scan, ranges: Sequence[Range], buckets: Iterable[bytes]) -> list[Row]:
    """Return the rows of whole buckets, one for each range, that a scan wants."""
    size = row_bytes(space)
    contents = list(buckets)
    counts = [len(content) // size for content in contents]
    table = np.frombuffer(b"".join(contents), dtype=np.uint8).reshape(-1, size)
    band = np.repeat([band for band, _, _ in ranges], counts)
    high = np.repeat(np.array([low for _, low, _ in ranges], dtype=np.uint64), counts)
    keys = _numbers(table[:, :6]) | high
    apart = np.bitwise_count(keys ^ np.array(scan.turned(), dtype=np.uint64)[band])
    wanted = apart <= scan.limit
    if space:
        wanted &= (table[:, 6:-PAGE_BYTES] == np.frombuffer(_space(space), np.uint8)).all(axis=1)
    found = np.flatnonzero(wanted)
    pages = _numbers(table[found, -PAGE_BYTES:])
    return list(zip(band[found].tolist(), keys[found].tolist(), pages.tolist(), strict=True))


def _numbers(table: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint64]:
    """Read each row of bytes as one big-endian number."""
    wide = np.zeros((len(table), 8), dtype=np.uint8)
    wide[:, 8 - table.shape[1] :] = table
    return wide.view(">u8")[:, 0].astype(np.uint64)
