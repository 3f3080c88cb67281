"""Rows, ranges and the planner: which part of the ``bands`` table a look-up must read.

A Hamming look-up is exact by the pigeonhole principle. A fingerprint is stored under several
rotations, so any aligned part of it is the prefix of some key, and a part with few flipped
bits is a handful of key ranges. With ``m`` parts and a limit of ``k = m * a + b`` bits,
``b + 1`` parts are searched with ``a`` flips and the others with ``a - 1``: if all of them
had more, more than ``k`` bits would differ (multi-index hashing, Norouzi et al. 2012).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Rows = Sequence[tuple[int, int]]

# What a look-up costs, in microseconds, as benchmarks/planner.py measures it: to run one range
# query, to read one row, to compare one fingerprint in memory. To start such a scan costs as
# much as a score of ranges, by estimate: the fingerprints must first be brought up to date.
RANGE_COST = 9.0
ROW_COST = 0.4
SCAN_COST = 0.001
SCAN_START = 150.0

# A plan that reads more rows than this has met a crowd of alike fingerprints: scan instead.
_MOST_ROWS = 4096


class Range(NamedTuple):
    """All keys of a band from ``low`` to ``high``, both included, unsigned."""

    band: int
    low: int
    high: int


@dataclass(frozen=True)
class Plan:
    """What to read: ranges of rows, or every row of ``scan_band``.

    A range that holds more than ``most_rows`` rows is left out where ``scan_band`` is None;
    else the whole plan falls back to the scan.
    """

    ranges: Sequence[Range]
    most_rows: int = _MOST_ROWS
    scan_band: int | None = None


@dataclass(frozen=True)
class Candidates:
    """Rows that a plan found, as three arrays of shape ``(rows,)``: band, key, page number."""

    bands: npt.NDArray[np.intp]
    keys: npt.NDArray[np.uint64]
    pages: npt.NDArray[np.int64]


def rotate(value: int, by: int, bits: int = 64) -> int:
    """Rotate a value of ``bits`` bits left."""
    return ((value << by) | (value >> (bits - by))) & ((1 << bits) - 1) if by else value


def radii(limit: int, parts: int) -> list[int]:
    """Return how many flips each of ``parts`` parts is searched with; -1: not searched."""
    flips, more = divmod(limit, parts)
    return [flips if part <= more else flips - 1 for part in range(parts)]


@lru_cache(maxsize=64)
def _masks(width: int, flips: int) -> tuple[int, ...]:
    """Return every ``width``-bit value with at most ``flips`` bits set."""
    return tuple(
        sum(1 << bit for bit in bits)
        for count in range(flips + 1)
        for bits in combinations(range(width), count)
    )


def _ranges(value: int, limit: int, width: int, bits: int) -> list[Range]:
    """Return the key ranges of an exact look-up by prefixes of ``width`` bits."""
    ranges = []
    below = 64 - width
    for part, flips in enumerate(radii(limit, bits // width)):
        if flips < 0:
            continue
        band = part * width // 16
        prefix = rotate(value, part * width, bits) >> (bits - width)
        for mask in _masks(width, flips):
            low = (prefix ^ mask) << below
            ranges.append(Range(band, low, low | ((1 << below) - 1)))
    return ranges


@lru_cache(maxsize=1024)
def _range_count(limit: int, width: int, bits: int) -> int:
    return sum(
        comb(width, ones) for flips in radii(limit, bits // width) for ones in range(flips + 1)
    )


def choose_width(limit: int, size: int, bits: int = 64) -> int:
    """Return the prefix width of the cheapest exact plan, 16 or 32 bits, or 0 for a scan."""
    costs = {0: SCAN_START + SCAN_COST * size}
    for width in (16, 32) if bits == 64 else (16,):
        count = _range_count(limit, width, bits)
        costs[width] = count * (RANGE_COST + ROW_COST * size / 2**width)
    return min(costs, key=lambda width: costs[width])


def plan_hamming(
    value: int, limit: int, size: int, width: int | None = None, *, bits: int = 64
) -> Plan:
    """Plan an exact look-up of all fingerprints within ``limit`` bits of ``value``.

    A fingerprint of 32 ``bits`` is stored under two rotations, as the upper half of a key.
    ``size`` is the number of rows in the band; ``width`` forces a plan (16, 32, or 0 for the
    scan), else the cheapest is chosen. A negative limit finds nothing.
    """
    if limit < 0:
        return Plan([])
    if width is None:
        width = choose_width(limit, size, bits)
    if not width:
        return Plan([], scan_band=0)
    return Plan(_ranges(value, limit, width, bits), scan_band=0)
