"""Exact look-ups: every plan finds just what is within the limit."""

from __future__ import annotations

import random
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from scrapy_simdedup.index.bands import (
    Plan,
    Row,
    Scan,
    choose_width,
    plan_hamming,
    radii,
    rotations,
)
from scrapy_simdedup.methods.base import Limits
from scrapy_simdedup.methods.simhash import Simhash, distance

VALUES = st.integers(0, 2**64 - 1)
FULL = 2**64 - 1


def rotate(value: int, by: int, bits: int = 64) -> int:
    """Rotate left, digit by digit."""
    digits = f"{value:0{bits}b}"
    return int(digits[by:] + digits[:by], 2)


class Store:
    """The bands table in memory; page numbers are places in the list of fingerprints."""

    def __init__(self, values: Sequence[int]) -> None:
        rows = sorted(
            (band, key, page)
            for page, value in enumerate(values)
            for band, key in Simhash().rows(value.to_bytes(8, "little"))
        )
        self._rows = rows

    def find(self, plan: Plan | Scan) -> list[Row]:
        if isinstance(plan, Scan):
            return [row for row in self._rows if row[0] == plan.band]
        found: list[Row] = []
        for band, low, high in plan.ranges:
            start = bisect_left(self._rows, (band, low, -1))
            found += self._rows[start : bisect_right(self._rows, (band, high, FULL), start)]
        return found


def spread(bits: int) -> int:
    """Return a mask of so many bits, one in each band in turn: the worst case for bands."""
    return sum(1 << (16 * (at % 4) + 5 + at // 4) for at in range(bits))


def planted(query: int, limit: int, pick: random.Random) -> list[int]:
    """Return fingerprints around a query: at every distance to just beyond the limit, and far."""
    values = [query]
    for bits in range(1, limit + 4):
        masks = [
            sum(1 << bit for bit in pick.sample(range(64), bits)),
            spread(bits),
            ((1 << bits) - 1) << pick.randrange(64 - bits),
            # At the seams of the bands, and around the corner.
            rotate((1 << bits) - 1, 64 - bits // 2),
            rotate((1 << bits) - 1, 32 - bits // 2),
        ]
        values += [query ^ mask for mask in masks]
    values += [pick.getrandbits(64) for _ in range(20)]
    values += [query ^ FULL, 0, FULL, 1 << 63, (1 << 63) - 1]
    return list(dict.fromkeys(values))


def within(values: Sequence[int], query: int, limit: int) -> set[int]:
    return {page for page, value in enumerate(values) if distance(value, query) <= limit}


def looked_up(store: Store, query: int, limit: int, plan: Plan | Scan) -> list[int]:
    part = query.to_bytes(8, "little")
    return Simhash().pick(part, 100, Limits(((0, limit),)), store.find(plan))


@given(VALUES, st.sampled_from([32, 64]))
def test_keys_are_rotations_at_the_upper_end(value: int, bits: int) -> None:
    value >>= 64 - bits
    wanted = [rotate(value, by, bits) << 64 - bits for by in range(0, bits, 16)]
    assert rotations(value, bits) == wanted


@given(st.integers(0, 64), st.sampled_from([2, 4]))
def test_if_all_parts_had_more_flips_the_whole_would_be_beyond_the_limit(
    limit: int, parts: int
) -> None:
    flips = radii(limit, parts)
    assert len(flips) == parts
    # One flip less anywhere and a pair could slip through; one more is work for nothing.
    assert sum(each + 1 for each in flips) == limit + 1
    assert min(flips) >= -1
    assert max(flips) - min(flips) <= 1


@pytest.mark.parametrize("limit", range(11))
@pytest.mark.parametrize("width", [16, 32, 0, None])
def test_a_plan_finds_exactly_what_is_within_the_limit(limit: int, width: int | None) -> None:
    # Two wide prefixes at 9 and 10 bits are a hundred thousand ranges and more.
    examples = 2 if width == 32 and limit > 8 else 12

    # Fingerprints that miss do not get simpler; shrinking them would take minutes.
    @settings(max_examples=examples, deadline=None, phases=[Phase.generate])
    @given(VALUES, st.integers(0, 1000))
    def check(query: int, seed: int) -> None:
        values = planted(query, limit, random.Random(seed))
        plan = plan_hamming(query, limit, len(values), width)
        found = looked_up(Store(values), query, limit, plan)
        assert len(found) == len(set(found))
        assert set(found) == within(values, query, limit)
        apart = [distance(values[page], query) for page in found]
        assert apart == sorted(apart)

    check()


@pytest.mark.parametrize("query", [0, 1, 1 << 63, (1 << 63) - 1, FULL, 0x8000000080000001])
@pytest.mark.parametrize("width", [16, 32, 0])
def test_keys_beyond_the_signed_range(query: int, width: int) -> None:
    values = planted(query, 3, random.Random(query))
    found = looked_up(Store(values), query, 3, plan_hamming(query, 3, 100, width))
    assert set(found) == within(values, query, 3)


@pytest.mark.parametrize("limit", [0, 3, 4, 5, 6, 10])
@pytest.mark.parametrize("width", [16, 0, None])
def test_pairs_on_the_border_of_the_bands(limit: int, width: int | None) -> None:
    query = 0x0123456789ABCDEF
    values = [query ^ spread(limit), query ^ spread(limit + 1)]
    plan = plan_hamming(query, limit, 2, width)
    assert looked_up(Store(values), query, limit, plan) == [0]


@given(VALUES, st.integers(0, 6), st.sampled_from([16, 32]))
@settings(max_examples=40, deadline=None)
@example(FULL, 3, 16)
def test_ranges_do_not_overlap_and_stay_in_their_band(query: int, limit: int, width: int) -> None:
    plan = plan_hamming(query, limit, 100, width)
    assert isinstance(plan, Plan)
    ranges = plan.ranges
    assert len(set(ranges)) == len(ranges)
    assert all(0 <= band < 4 and 0 <= low <= high <= FULL for band, low, high in ranges)
    for (band, _, high), (other, low, _) in pairwise(sorted(ranges)):
        assert band != other or high < low


def test_a_text_without_a_limit_finds_nothing() -> None:
    assert plan_hamming(5, -1, 1000) == Plan([])


def test_wide_limits_scan_and_narrow_ones_do_not() -> None:
    assert choose_width(3, 1000) == 16
    # Short prefixes hold thousands of rows each in an index of this size.
    assert choose_width(3, 10**8) == 32
    assert choose_width(10, 10**6) == 0
    assert choose_width(64, 100) == 0


@pytest.mark.parametrize("size", [0, 100, 10**4, 10**6, 10**7])
def test_the_choice_is_what_the_plan_does(size: int) -> None:
    for limit in range(11):
        width, plan = choose_width(limit, 1 << size.bit_length()), plan_hamming(7, limit, size)
        if not width:
            assert plan == Scan(0, 7, limit)
            continue
        assert isinstance(plan, Plan)
        forced = plan_hamming(7, limit, size, width)
        assert isinstance(forced, Plan)
        assert plan.ranges == forced.ranges


@pytest.mark.parametrize("limit", range(11))
def test_a_crowd_ends_with_the_scan(limit: int) -> None:
    """However many alike fingerprints there are, some plan is exact; none is tried in vain."""
    plan: Plan | Scan = plan_hamming(7, limit, 100, 16)
    tried = 0
    while isinstance(plan, Plan):
        assert plan.otherwise is not None
        assert len(plan.ranges) < 1000
        tried += 1
        plan = plan.otherwise()
    assert tried <= 2
    assert plan == Scan(0, 7, limit)
