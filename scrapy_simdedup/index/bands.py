"""Rows, ranges and the planner: which part of the ``bands`` table a look-up must read.

A Hamming look-up is exact by the pigeonhole principle. A fingerprint is stored under several
rotations, so any aligned part of it is the prefix of some key, and a part with few flipped
bits is a handful of key ranges. With ``m`` parts and a limit of ``k = m * a + b`` bits,
``b + 1`` parts are searched with ``a`` flips and the others with ``a - 1``: if all of them
had more, more than ``k`` bits would differ (multi-index hashing, Norouzi et al. 2012).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import combinations
from math import comb
from typing import NamedTuple

Rows = Sequence[tuple[int, int]]

# What a look-up costs, in microseconds, as benchmarks/planner.py measures it: to run one range
# query, to read one row, to compare one fingerprint in memory. To start such a scan costs as
# much as some fifty ranges, by estimate: the fingerprints must first be brought up to date.
RANGE_COST = 3.2
ROW_COST = 0.4
SCAN_COST = 0.0012
SCAN_START = 150.0

# A range with more rows than this is a crowd of alike fingerprints.
MOST_ROWS = 256

# Ranges of a plan that are worth trying before a scan; and where there is no scan.
_MOST_RANGES = 256
_MOST_PREFIXES = 600


Range = tuple[int, int, int]
"""All keys of a band from a lowest to a highest one, both included, unsigned."""

Row = tuple[int, int, int]
"""A row that a plan found: band, unsigned key, page number."""


class Scan(NamedTuple):
    """Compare all keys of a band with ``key``; wanted are those within ``limit`` bits.

    The upper ``bits`` bits of a key count.
    """

    band: int
    key: int
    limit: int
    bits: int = 64

    def ranges(self) -> list[Range]:
        """Return the ranges of the same look-up by prefixes of 16 bits, however many."""
        return _ranges(self.key >> (64 - self.bits), self.limit, 16, self.bits)

    def turned(self) -> list[int]:
        """Return the key as it stands in each band: those at a limit's distance are the wanted."""
        return rotations(self.key >> (64 - self.bits), self.bits)


class Plan(NamedTuple):
    """Which ranges of rows to read.

    A range that holds more than ``most_rows`` rows is crowded: then the whole of another plan
    is read, the one that ``otherwise`` returns; where that is None, the range is left out.
    ``scan`` is what the ranges spare, where keys are wanted by their distance.
    """

    ranges: Sequence[Range]
    most_rows: int = MOST_ROWS
    otherwise: Callable[[], Plan | Scan] | None = None
    scan: Scan | None = None


def plan_exact(rows: Rows, most_rows: int) -> Plan:
    """Plan the look-up of all that shares a row with these; crowded keys are left out."""
    return Plan([(band, key, key) for band, key in rows], most_rows)


def most_shared(found: Sequence[Row], least: int = 1) -> list[int]:
    """Return the pages with at least ``least`` rows, those with most first, then first seen."""
    if len(found) < least:
        # So it is for most pages.
        return []
    shared = Counter(page for _, _, page in found)
    enough = sorted((-count, page) for page, count in shared.items() if count >= least)
    return [page for _, page in enough]


def rotations(value: int, bits: int = 64) -> list[int]:
    """Return a fingerprint's keys: it, rotated left by 0, 16, 32 ..., as the upper of 64 bits."""
    above, all_bits = 64 - bits, (1 << bits) - 1
    # Twice in a row, a number has all its rotations in it.
    twice = value << bits | value
    return [(twice >> (bits - by) & all_bits) << above for by in range(0, bits, 16)]


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


@lru_cache(maxsize=256)
def _parts(limit: int, width: int, bits: int) -> list[tuple[int, int, tuple[int, ...]]]:
    """Return the parts of a value that are searched: band, place from the right, and flips."""
    return [
        (part * width // 16, bits - (part + 1) * width, _masks(width, flips))
        for part, flips in enumerate(radii(limit, bits // width))
        if flips >= 0
    ]


def _ranges(value: int, limit: int, width: int, bits: int) -> list[Range]:
    """Return the key ranges of an exact look-up by prefixes of ``width`` bits."""
    below = 64 - width
    rest, part = (1 << below) - 1, (1 << width) - 1
    return [
        (band, low, low | rest)
        for band, place, masks in _parts(limit, width, bits)
        for mask in masks
        for low in (((value >> place & part) ^ mask) << below,)
    ]


@lru_cache(maxsize=1024)
def range_count(limit: int, width: int, bits: int) -> int:
    """Return how many ranges an exact look-up by prefixes of ``width`` bits reads."""
    return sum(
        comb(width, ones) for flips in radii(limit, bits // width) for ones in range(flips + 1)
    )


@lru_cache
def farthest(bits: int) -> int:
    """Return the widest limit that a look-up of ``bits`` bits by 16-bit prefixes alone is for."""
    within = (limit for limit in range(bits) if range_count(limit, 16, bits) <= _MOST_PREFIXES)
    return max(within)


def choose_width(limit: int, size: int, bits: int = 64) -> int:
    """Return the prefix width of the cheapest exact plan, 16 or 32 bits, or 0 for a scan."""
    costs = {0: SCAN_START + SCAN_COST * size}
    for width in (16, 32) if bits == 64 else (16,):
        count = range_count(limit, width, bits)
        costs[width] = count * (RANGE_COST + ROW_COST * size / 2**width)
    return min(costs, key=lambda width: costs[width])


@lru_cache(maxsize=1024)
def _chosen(limit: int, magnitude: int, bits: int) -> int:
    return choose_width(limit, 1 << magnitude, bits)


def plan_hamming(
    value: int, limit: int, size: int, width: int | None = None, *, bits: int = 64
) -> Plan | Scan:
    """Plan an exact look-up of all fingerprints within ``limit`` bits of ``value``.

    A fingerprint of 32 ``bits`` is stored under two rotations, as the upper half of a key.
    ``size`` is the number of rows in the band, of which the power of two counts; ``width``
    forces a plan (16, 32, or 0 for the scan), else the cheapest is chosen. A negative limit
    finds nothing. Where alike fingerprints crowd a range, longer prefixes are tried, then the
    scan.
    """
    if limit < 0:
        return Plan([])
    if width is None:
        width = _chosen(limit, size.bit_length(), bits)
    scan = Scan(0, value << (64 - bits), limit, bits)
    if not width:
        return scan
    wider = 32 if width == 16 and bits == 64 and range_count(limit, 32, 64) <= _MOST_RANGES else 0
    return Plan(
        _ranges(value, limit, width, bits),
        otherwise=partial(plan_hamming, value, limit, size, wider, bits=bits),
        scan=scan,
    )
