"""Simhash and sketch: golden values, estimates, rules."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from itertools import pairwise

import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_simdedup.methods import FIRST_BAND, METHODS
from scrapy_simdedup.methods.base import Evidence, Limits, Pair
from scrapy_simdedup.methods.simhash import Simhash, distance, fingerprint
from scrapy_simdedup.methods.sketch import Overlap, Sketch, overlap, resembles
from scrapy_simdedup.text.document import Document
from texts import chinese, story

GOLDEN = {
    "The ferry left the harbour at dawn, and the lighthouse keeper counted eleven lanterns on"
    " the pier.": 0x4135003C56560B05,
    "Grandmother's recipe for plum jam needs 3 kg of fruit, a copper pan and a long, quiet"
    " Sunday.": 0x7600CE85BE973882,
    "清晨的渡口很安静，老船工把木船系在石桥下面，等第一班乘客过河。": 0x4E44258A1C720405,
    "新版 RocketStove 2.0 炉子 🔥 今天上市，工程师说它比 2019 年的型号"
    " saves 40% 燃料。": 0x4189E8232E164814,
    "Утром паром вышел из гавани, а смотритель маяка насчитал на причале одиннадцать"
    " фонарей.": 0x804C5C6DE5B22D89,
    story(7): 0x487CE684C7C34457,
    chinese(7): 0xBC05E01AED25E332,
}

SKETCHES = ["8ab61afd4345905fbba8014d751170dd", "e5b7c167d87056d8b7aca293011eaa36"]

WEIGHTS = st.dictionaries(
    st.text("abcdefgh", min_size=1, max_size=4), st.integers(1, 5), min_size=1, max_size=20
)


def weighted(weights: dict[str, int]) -> Document:
    return Document("", list(weights), dict.fromkeys(weights, 1), weights)


def term_hash(term: str) -> int:
    return xxhash.xxh3_64_intdigest(term.encode())


@pytest.mark.parametrize(("text", "value"), GOLDEN.items(), ids=range(len(GOLDEN)))
def test_fingerprints_are_the_same_for_good(text: str, value: int) -> None:
    # If this fails, every index in the world is out of date: raise ALGORITHM.
    assert f"{fingerprint(Document.from_text(text)):016x}" == f"{value:016x}"


def test_sketches_and_digests_are_the_same_for_good() -> None:
    sketch = Sketch()
    signed = [sketch.sign(Document.from_text(text)) for text in (story(7), chinese(7))]
    assert [xxhash.xxh3_128_hexdigest(part) for part in signed] == SKETCHES
    assert Document.from_text(story(7)).digest.hex() == "89428d8fa47d35f6d42cbf0a50505503"
    assert Document.from_text(chinese(7)).digest.hex() == "9516220dca131160438b803cfda9993b"


SIGN = """
import sys
from scrapy_simdedup.methods import METHODS
from scrapy_simdedup.text.document import Document
for text in sys.argv[1:]:
    document = Document.from_text(text)
    print(*(method.sign(document).hex() for method in METHODS.values()))
"""


def test_signatures_do_not_depend_on_the_hash_seed() -> None:
    texts = list(GOLDEN)
    runs = [
        subprocess.run(
            [sys.executable, "-c", SIGN, *texts],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for seed in ("1", "2")
    ]
    here = [
        method.sign(Document.from_text(text)).hex() for text in texts for method in METHODS.values()
    ]
    assert runs == [here, here]


def test_a_tie_leaves_the_bit_clear() -> None:
    one, other = term_hash("harbour"), term_hash("meadow")
    assert fingerprint(weighted({"harbour": 1, "meadow": 1})) == one & other
    assert fingerprint(weighted({"harbour": 2, "meadow": 1})) == one
    assert fingerprint(weighted({"harbour": 2, "meadow": 3})) == other


@settings(max_examples=60, deadline=None)
@given(WEIGHTS)
def test_a_fingerprint_is_the_weighted_majority(weights: dict[str, int]) -> None:
    expected = 0
    for bit in range(64):
        votes = sum(
            weight if term_hash(term) >> bit & 1 else -weight for term, weight in weights.items()
        )
        expected |= (votes > 0) << bit
    assert fingerprint(weighted(weights)) == expected


@settings(max_examples=60, deadline=None)
@given(WEIGHTS, st.randoms(use_true_random=False))
def test_the_order_of_terms_is_nothing_to_simhash(
    weights: dict[str, int], pick: random.Random
) -> None:
    shuffled = list(weights.items())
    pick.shuffle(shuffled)
    assert fingerprint(weighted(dict(shuffled))) == fingerprint(weighted(weights))


def test_a_text_without_terms_has_fingerprint_zero() -> None:
    assert fingerprint(Document.from_text("")) == 0
    assert fingerprint(Document.from_text("。！🔥")) == 0


@pytest.mark.parametrize(
    ("one", "other", "bits"),
    [(0, 0, 0), (0, 2**64 - 1, 64), (1 << 63, 1, 2), (0x8000000000000000, 0x7FFFFFFFFFFFFFFF, 64)],
)
def test_distance_counts_differing_bits(one: int, other: int, bits: int) -> None:
    assert distance(one, other) == distance(other, one) == bits


def test_unrelated_texts_are_far_apart_and_close_ones_near() -> None:
    values = [fingerprint(Document.from_text(story(seed, 1000))) for seed in range(100)]
    pairs = [distance(one, other) for at, one in enumerate(values) for other in values[:at]]
    # 64 fair coins would fall 32 bits apart; these texts share one content word in eight.
    assert 28 < sum(pairs) / len(pairs) < 33
    assert min(pairs) > 10
    assert distance(values[0], fingerprint(Document.from_text(f"{story(0, 1000)} end"))) <= 3


@pytest.mark.parametrize("value", [0, 1, (1 << 63) | 1, 2**64 - 1, 0x00FF7F3C80C10A55, 1 << 47])
def test_simhash_stores_and_reads_back_all_64_bits(value: int) -> None:
    method, part = Simhash(), value.to_bytes(8, "little")
    rows = method.rows(part)
    back = [(key >> 16 * band | key << 64 - 16 * band) % 2**64 for band, key in rows]
    assert back == [value] * 4
    # Neighbours at 0 to 6 bits, each under every rotation, in no order.
    neighbours = {page: value ^ ((1 << page) - 1) for page in range(7)}
    found = [
        (band, key, page)
        for page in (3, 6, 0, 5, 1, 4, 2)
        for band, key in method.rows(neighbours[page].to_bytes(8, "little"))
    ]
    for bits in range(7):
        picked = method.pick(part, 100, Limits(((0, bits),)), found)
        assert picked == list(range(bits + 1))


def test_equally_near_pages_come_in_the_order_they_were_kept() -> None:
    found = [(0, 0b100, 9), (0, 0b001, 4), (0, 0b010, 7)]
    assert Simhash().pick(bytes(8), 100, Limits(), found) == [4, 7, 9]


def test_limits_by_length() -> None:
    limits = Limits(((200, 3), (50, 6), (20, 10)))
    wanted = {500: 3, 200: 3, 199: 6, 50: 6, 49: 10, 20: 10, 19: -1, 0: -1}
    assert {terms: limits.distance_for(terms) for terms in wanted} == wanted


@pytest.mark.parametrize("words", [3, 20, 60, 400])
def test_a_sketch_has_the_size_that_is_documented(words: int) -> None:
    document = Document.from_text(story(8, words))
    shingles, rows = len(document.shingles(3)), len(document.shingles(5))
    size = len(Sketch().sign(document))
    assert size == 14 + 4 * min(rows, 16) + 2 * min(shingles, 128)
    assert size <= 334
    assert len(Sketch().sign(Document.from_text(story(8, 5000)))) == 334


def test_a_text_shorter_than_a_shingle_has_an_empty_sketch() -> None:
    part = Sketch().sign(Document.from_text("two words"))
    assert len(part) == 14
    assert list(Sketch().rows(part)) == []
    assert overlap(Document.from_text(story(1)).shingles(3), part) == Overlap(0.0, 0.0, 8)


def against(new: str, kept: str) -> tuple[Overlap, float, float, int, int]:
    """Return the estimate, exact resemblance and containment, and the sizes of both sets."""
    fresh, old = Document.from_text(new), Document.from_text(kept)
    one, other = set(fresh.shingles(3).tolist()), set(old.shingles(3).tolist())
    found = overlap(fresh.shingles(3), Sketch().sign(old))
    common = len(one & other)
    return found, common / len(one | other), common / len(one), len(one), len(other)


@pytest.mark.parametrize("text", [story(3, 20), story(3, 2000), chinese(3), chinese(3, 90)])
def test_a_text_is_all_in_itself(text: str) -> None:
    assert against(text, text)[0] == Overlap(1.0, 1.0, 0)


def test_unrelated_texts_have_nothing_in_common() -> None:
    assert against(story(1, 120), story(2, 120))[0] == Overlap(0.0, 0.0, 8)
    # Long ones may meet in a tag of 16 bits: 1000 shingles, of which 128 are compared.
    found = against(story(1, 1000), story(2, 1000))[0]
    assert found.resemblance < 0.05
    assert found.containment < 0.05
    assert found.new_parts == 8


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("sizes", [(400, 400), (400, 1200), (1200, 400)])
@pytest.mark.parametrize("seed", range(4))
def test_estimates_are_near_the_truth(share: float, sizes: tuple[int, int], seed: int) -> None:
    new_words, kept_words = sizes
    common = story(100 + seed, round(share * min(sizes)))
    rest = {200: new_words, 300: kept_words}
    new, kept = (
        "\n\n".join([common, story(which + seed, max(words - round(share * min(sizes)), 8))])
        for which, words in rest.items()
    )
    found, resemblance, containment, new_size, kept_size = against(new, kept)
    # So many of the new page's shingles lie below the sample's largest. A share of n draws
    # has a standard deviation of at most 0.5 / sqrt(n); four of them are never exceeded here.
    sampled = 128 * new_size / kept_size
    tolerance = 4 * 0.5 / sampled**0.5
    assert found.containment == pytest.approx(containment, abs=tolerance)
    assert found.resemblance == pytest.approx(resemblance, abs=tolerance)


@pytest.mark.parametrize("seed", range(5))
def test_the_direction_matters(seed: int) -> None:
    whole = story(seed, 600)
    half = whole[: len(whole) // 2]
    wrapped = f"{story(50 + seed, 600)}\n\n{whole}"
    part_of_old = against(half, whole)[0]
    assert part_of_old.containment > 0.9
    assert part_of_old.new_parts == 0
    around_old = against(wrapped, whole)[0]
    assert 0.4 < around_old.containment < 0.6
    assert around_old.new_parts in (3, 4, 5)
    # Alike as sets, and yet only one of them brings nothing new.
    assert abs(part_of_old.resemblance - around_old.resemblance) < 0.2
    assert resembles(part_of_old, Limits())
    assert not resembles(around_old, Limits())


def test_new_parts_count_where_the_news_are() -> None:
    old = story(4, 800)
    news = story(5, 200)
    assert against(f"{news}\n\n{old}", old)[0].new_parts in (1, 2)
    assert against(f"{old}\n\n{news}", old)[0].new_parts in (1, 2)


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (Overlap(0.30, 0.35, 2), True),
        (Overlap(0.29, 1.00, 0), False),
        (Overlap(0.60, 0.70, 3), False),
        (Overlap(0.60, 0.70, 2), True),
        (Overlap(0.30, 0.34, 0), False),
        (Overlap(1.00, 1.00, 0), True),
        (Overlap(0.00, 0.00, 8), False),
    ],
)
def test_the_borders_of_the_rule(found: Overlap, verdict: bool) -> None:
    assert resembles(found, Limits(resemblance=0.3, containment=0.35)) is verdict


def test_each_limit_can_be_switched_off() -> None:
    assert resembles(Overlap(0.0, 0.9, 0), Limits(resemblance=0))
    assert resembles(Overlap(0.9, 0.0, 8), Limits(containment=0))
    assert not resembles(Overlap(0.9, 0.9, 3), Limits())


@settings(max_examples=60, deadline=None)
@given(st.floats(0, 1), st.floats(0, 1), st.integers(0, 8), st.floats(0, 1), st.floats(0, 1))
def test_more_of_the_same_never_resembles_less(
    resemblance: float, containment: float, new_parts: int, least: float, most: float
) -> None:
    limits = Limits(resemblance=least, containment=most)
    if resembles(Overlap(resemblance, containment, new_parts), limits):
        assert resembles(Overlap(1.0, containment, new_parts), limits)
        assert resembles(Overlap(resemblance, 1.0, new_parts), limits)
        assert resembles(Overlap(resemblance, containment, 0), limits)


@pytest.mark.parametrize(
    ("within", "alike", "verified", "simhash", "sketch"),
    [
        (True, True, True, True, True),
        (True, False, True, False, False),
        (False, True, True, False, True),
        (True, False, False, True, False),
        (False, True, False, False, False),
    ],
)
def test_simhash_proposes_and_resemblance_disposes(
    within: bool, alike: bool, verified: bool, simhash: bool, sketch: bool
) -> None:
    limits = Limits() if verified else Limits(resemblance=0, containment=0)
    evidence = Evidence(3, 0.5, 0.5, 0, alike)
    near = bytes([0b111 if within else 0b1111]) + bytes(7)
    pair = Pair({"simhash": near}, {"simhash": bytes(8)}, 60, 60, evidence)
    assert METHODS["simhash"].accepts(pair, limits) is simhash
    assert METHODS["sketch"].accepts(pair, limits) is sketch


def test_two_shared_rows_make_a_candidate() -> None:
    found = [(0, 0, page) for page in (5, 3, 3, 8, 8, 8, 2)]
    part = Sketch().sign(Document.from_text(story(1)))
    assert Sketch().pick(part, 60, Limits(), found) == [8, 3]


def test_sketch_rows_are_found_by_the_plan_of_the_same_text() -> None:
    part = Sketch().sign(Document.from_text(story(9)))
    rows = list(Sketch().rows(part))
    assert len(rows) == 16
    plan = Sketch().plan(part, 60, Limits(), 1000)
    assert [(band, low) for band, low, _ in plan.ranges] == rows
    assert all(low == high for _, low, high in plan.ranges)
    # Crowded keys are left out, never answered by reading the whole band.
    assert plan.otherwise is None


def test_methods_have_room_for_their_bands() -> None:
    firsts = sorted(FIRST_BAND.values())
    assert firsts[0] >= 1
    assert all(after - before >= 16 for before, after in pairwise(firsts))
    assert all(method.bands <= 16 and name == method.name for name, method in METHODS.items())
    # Numbers that files out there have: a new part goes to the end.
    assert FIRST_BAND == {
        "simhash": 16,
        "sketch": 32,
        "classic": 48,
        "piecewise": 64,
        "keywords": 80,
    }
