"""Crowds: very many alike fingerprints or sketch keys hide no pair, and cost no long look-up."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from scrapy_simdedup.analysis import Analysis, Source, analyse
from scrapy_simdedup.candidates import plans, propose
from scrapy_simdedup.compare import Rules
from scrapy_simdedup.deduplicator import Deduplicator
from scrapy_simdedup.index import bands
from scrapy_simdedup.index.bands import Plan
from scrapy_simdedup.index.records import NewPage
from test_index import BITS_ONLY, fingerprinted
from texts import reworded, story

CROWD = 3000
PREFIX = 0xABCD << 48
WIDE_PREFIX = 0xABCD1234 << 32

#: What a range and a sketch key may hold at most; and the pages that a fingerprint proposes.
RANGE_ROWS, KEY_ROWS, CANDIDATES = 256, 48, 64

fingerprinted = lru_cache(maxsize=None)(fingerprinted)


def fill(path: Path, settings: dict[str, Any], analyses: list[Analysis]) -> None:
    """Make an index of so many pages, in this order, whatever they are to each other."""
    with Deduplicator(path, settings) as dedup, dedup._index.write():
        claims = [
            dedup._index.pages.insert(
                NewPage(dedup.page(f"{at}"), each.digest, each.terms, each.signature, None)
            )
            for at, each in enumerate(analyses)
        ]
        dedup._index.claims.confirm(claims)
    assert [claim.page for claim in claims] == list(range(1, len(analyses) + 1))


class Reading:
    """Stands for the connection of a look-up, and counts the rows that are read."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.rows = 0

    def execute(self, *arguments: Any) -> Any:
        reading, cursor = self, self._connection.execute(*arguments)

        class Counted:
            def fetchall(self) -> list[Any]:
                got = cursor.fetchall()
                reading.rows += len(got)
                return got

            def fetchmany(self, most: int) -> list[Any]:
                got = cursor.fetchmany(most)
                reading.rows += len(got)
                return got

        return Counted()


class Watched:
    """An open index, and what its look-ups do."""

    def __init__(self, dedup: Deduplicator) -> None:
        self.dedup = dedup
        self.lookup = dedup._index._lookup
        self.reading = self.lookup._connection = Reading(self.lookup._connection)
        #: The widths of the prefixes that were looked up, in turn; 0 for the scan.
        self.widths: list[int] = []
        ranges, scan = self.lookup._ranges, self.lookup._scan

        def watched_ranges(base: int, plan: Plan) -> Any:
            width = 64 - (plan.ranges[0][2] - plan.ranges[0][1]).bit_length()
            if self.widths[-1:] != [width]:
                self.widths.append(width)
            return ranges(base, plan)

        def watched_scan(*arguments: Any) -> Any:
            self.widths.append(0)
            return scan(*arguments)

        self.lookup._ranges, self.lookup._scan = watched_ranges, watched_scan

    def proposed(self, analysis: Analysis) -> list[int]:
        """Return the pages that the methods propose, and begin to count from here."""
        self.widths.clear()
        self.reading.rows = 0
        rules = Rules.of(self.dedup.config)
        index = self.dedup._index
        sight = index.look(self.dedup.page("q"), lambda: plans(index, analysis, rules))
        return list(propose(analysis, rules, sight.rows()))


@contextmanager
def watched(path: Path, settings: dict[str, Any]) -> Iterator[Watched]:
    with Deduplicator(path, settings) as dedup:
        yield Watched(dedup)


def crowd(prefix: int, bits: int) -> list[int]:
    """Return different fingerprints that have a prefix in common and nothing else."""
    pick = random.Random(f"crowd {bits}")
    return [prefix | value for value in pick.sample(range(1 << (64 - bits)), CROWD)]


def around(values: list[int], limit: int) -> list[int]:
    """Return fingerprints near some of these, at every distance, and others of the crowd."""
    pick = random.Random("around")
    queries = [pick.choice(values) & ~0xFFFF | pick.getrandbits(16) for _ in range(5)]
    for apart in range(limit + 2):
        for _ in range(6):
            query = pick.choice(values)
            for bit in pick.sample(range(64), apart):
                query ^= 1 << bit
            queries.append(query)
    return queries


def within(values: list[int], query: int, limit: int) -> list[int]:
    """Return the page numbers of the values near a query, nearest first, by comparing all."""
    near = [((value ^ query).bit_count(), at + 1) for at, value in enumerate(values)]
    return [page for apart, page in sorted(near) if apart <= limit]


@pytest.mark.parametrize(
    ("prefix", "bits", "limit", "widths"),
    [
        # Crowded 16-bit prefixes, and longer ones that are not.
        (PREFIX, 16, 3, [16, 32]),
        # There are too many longer ones at this limit.
        (PREFIX, 16, 4, [16, 0]),
        # Both are crowded.
        (WIDE_PREFIX, 32, 3, [16, 32, 0]),
        # A wide limit is a scan from the start.
        (PREFIX, 16, 10, [0]),
    ],
)
def test_a_crowd_under_one_prefix(tmp_path, monkeypatch, prefix, bits, limit, widths):
    if limit == 4:
        # So it would begin in an index some ten times larger.
        monkeypatch.setattr(bands, "_chosen", lambda *_: 16)
    values = crowd(prefix, bits)
    settings = {**BITS_ONLY, "SIMDEDUP_MAX_DISTANCE": limit}
    fill(tmp_path / "index.db", settings, [fingerprinted(value) for value in values])
    found = 0
    with watched(tmp_path / "index.db", settings) as index:
        for number, query in enumerate(around(values, limit)):
            wanted = within(values, query, limit)
            found += len(wanted)
            assert index.proposed(fingerprinted(query)) == wanted[:CANDIDATES]
            if query >> (64 - bits) == prefix >> (64 - bits):
                assert index.widths == widths
            else:
                assert index.widths == widths[: len(index.widths)]
            if 0 not in index.widths or number:
                # Of the crowd no more than one row too many; the scan reads it once and for all.
                assert index.reading.rows < 6 * (RANGE_ROWS + 1)
        told = index.dedup.judge(index.dedup.page("copy"), fingerprinted(values[-1] ^ 0b101))
        nearest = within(values, values[-1] ^ 0b101, limit)[0]
        assert told.verdict.original == str(nearest - 1)
    assert found > 20


def test_a_page_outside_a_crowd_costs_one_short_look_up(tmp_path):
    values = crowd(PREFIX, 16)
    fill(tmp_path / "index.db", BITS_ONLY, [fingerprinted(value) for value in values])
    with watched(tmp_path / "index.db", BITS_ONLY) as index:
        assert index.proposed(fingerprinted(0x0123456789ABCDEF)) == []
        assert index.widths == [16]
        assert index.reading.rows < 10


def test_one_fingerprint_over_and_over(tmp_path):
    """Of equals, those are proposed that came first; and nearer ones before them."""
    value = PREFIX | 0x123456789ABC
    odd = value ^ 0b11
    values = [value] * (CROWD - 1) + [odd]
    fill(tmp_path / "index.db", BITS_ONLY, [fingerprinted(each) for each in values])
    with watched(tmp_path / "index.db", BITS_ONLY) as index:
        assert index.proposed(fingerprinted(value)) == list(range(1, CANDIDATES + 1))
        assert index.widths == [16, 32, 0]
        # The last of all, which is alone with its fingerprint.
        assert index.proposed(fingerprinted(odd)) == [CROWD, *range(1, CANDIDATES)]
        assert index.proposed(fingerprinted(odd ^ 0b100))[0] == CROWD
        assert index.proposed(fingerprinted(value ^ 0b1111)) == [CROWD]
        # At most one range of the crowd in each of four bands, and in each of two wider ones.
        assert index.reading.rows <= 6 * (RANGE_ROWS + 1)
        for _ in range(3):
            index.proposed(fingerprinted(value))
            assert index.reading.rows < CROWD
        # New ones are seen by the scan, without reading the others again.
        near = 0xF0F0 << 8 ^ value
        assert (
            index.dedup.judge(index.dedup.page("n"), fingerprinted(near)).verdict.original is None
        )
        for _ in range(2):
            assert index.proposed(fingerprinted(near ^ 1)) == [CROWD + 1]
        (column,) = index.lookup._columns.values()
        assert column._count == CROWD + 1
        assert index.reading.rows < CROWD


def test_a_copy_in_a_crowd_of_equal_fingerprints_is_found_by_its_text(tmp_path):
    """All of a template's pages may meet in one fingerprint; the sketch tells them apart."""
    with Deduplicator(tmp_path / "other.db") as dedup:
        recipe = dedup.recipe()
    originals = [analyse(Source(text=(story(seed),)), recipe) for seed in range(3)]
    copy = analyse(Source(text=(reworded(story(2), 0.03),)), recipe)

    def with_bits(analysis: Analysis) -> Analysis:
        signature = {**analysis.signature, "simhash": (7).to_bytes(8, "little")}
        return Analysis(None, analysis.digest, analysis.terms, signature, analysis.shingles)

    fillers = [fingerprinted(7)] * 400
    fill(tmp_path / "index.db", {}, [*fillers, *map(with_bits, originals)])
    with Deduplicator(tmp_path / "index.db") as dedup:
        found = dedup.judge(dedup.page("copy"), with_bits(copy)).verdict
        assert (found.status, found.original, found.distance) == ("duplicate", "402", 0)


def sketched(keys: list[int]) -> Analysis:
    """An analysis that has nothing but a sketch with these row keys."""
    part = struct.pack("<IHQ", 500, len(keys), 2**64 - 1) + struct.pack(f"<{len(keys)}I", *keys)
    base = fingerprinted(keys[-1])
    return Analysis(None, base.digest, 50, {**base.signature, "sketch": part}, base.shingles)


def test_one_templates_sketch_keys(tmp_path):
    """What all pages have in common is no evidence; the two keys of their own are."""
    settings = {"SIMDEDUP_METHODS": ["sketch"]}
    common = [1000 + number for number in range(14)]
    own = [[5_000_000 + 2 * at, 5_000_001 + 2 * at] for at in range(CROWD)]
    fill(tmp_path / "index.db", settings, [sketched(common + keys) for keys in own])
    with watched(tmp_path / "index.db", settings) as index:
        for at in (0, 1, CROWD // 2, CROWD - 1):
            before = index.lookup.full_keys
            assert index.proposed(sketched(common + own[at])) == [at + 1]
            assert index.reading.rows == 14 * (KEY_ROWS + 1) + 2
            assert index.lookup.full_keys - before == 14
        # One key in common may be chance.
        assert index.proposed(sketched([*common, own[7][0], own[8][0]])) == []
        assert index.proposed(sketched(common)) == []


def test_a_key_is_evidence_up_to_its_last_row(tmp_path):
    settings = {"SIMDEDUP_METHODS": ["sketch"]}
    full, crowded = [1, 2], [3, 4]
    pages = [sketched(full)] * KEY_ROWS + [sketched(crowded)] * (KEY_ROWS + 1)
    fill(tmp_path / "index.db", settings, pages)
    with watched(tmp_path / "index.db", settings) as index:
        found = index.proposed(sketched(full))
        # As many as are looked at.
        assert found == list(range(1, 33))
        assert index.proposed(sketched(crowded)) == []


def test_pages_of_one_template_and_their_copies(tmp_path):
    """With real texts: a long standing passage on more pages than a key may have."""
    passage = story(900, 150)
    with Deduplicator(tmp_path / "index.db") as dedup:
        for seed in range(70):
            assert dedup.check(f"{seed}", text=f"{story(seed)}\n\n{passage}").status == "unique"
        assert dedup._index._lookup.full_keys > 0
        for seed in range(0, 70, 7):
            copy = f"{reworded(story(seed), 0.03)}\n\n{passage}"
            assert dedup.check(f"copy of {seed}", text=copy).original == str(seed)
        assert dedup.check("another", text=f"{story(99)}\n\n{passage}").status == "unique"
