"""The index: claims, identities, deletion, drift, many processes; and its file."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_simdedup.analysis import Analysis
from scrapy_simdedup.config import Config
from scrapy_simdedup.deduplicator import Deduplicator
from scrapy_simdedup.exceptions import IndexUnusable
from scrapy_simdedup.guards import facts
from scrapy_simdedup.identity import identity_of
from scrapy_simdedup.index.bands import MOST_ROWS
from scrapy_simdedup.index.files import check_usable, move_aside
from scrapy_simdedup.index.records import pack, unpack
from scrapy_simdedup.index.sqlite import SqliteIndex
from scrapy_simdedup.methods import rows_of
from scrapy_simdedup.methods.sketch import Sketch
from scrapy_simdedup.text.document import Document
from stores import KINDS
from texts import story

HERE = Path(__file__).parent

BITS_ONLY = {
    "SIMDEDUP_METHODS": ["simhash"],
    "SIMDEDUP_MIN_RESEMBLANCE": 0,
    "SIMDEDUP_MIN_CONTAINMENT": 0,
}


def fingerprinted(value: int) -> Analysis:
    """An analysis that has nothing but a fingerprint."""
    empty = Document.from_text("")
    return Analysis(
        None,
        value.to_bytes(16, "little"),
        50,
        {
            "simhash": value.to_bytes(8, "little"),
            "sketch": Sketch().sign(empty),
            "facts": facts.sign(empty),
            "rest": b"",
        },
        np.empty(0, dtype=np.uint64),
    )


def judge(dedup: Deduplicator, name: str, value: int):
    return dedup.judge(dedup.page(name), fingerprinted(value), confirm=True).verdict


@pytest.mark.parametrize("kind", KINDS)
def test_originals_do_not_drift(new_store, kind):
    """A~B and B~C never make C a copy of A unless it is near A itself."""
    a, b, c = 0x8C3A55F00D1E7B42, 0x8C3A55F00D1E7B45, 0x8C3A55F00D1E7BBD
    assert (a ^ b).bit_count() == 3
    assert (b ^ c).bit_count() == 5
    limits = {**BITS_ONLY, "SIMDEDUP_MAX_DISTANCE": 5}
    assert (a ^ c).bit_count() == 8
    with new_store(kind).open(limits) as dedup:
        assert judge(dedup, "A", a).status == "unique"
        found = judge(dedup, "B", b)
        assert (found.original, found.distance) == ("A", 3)
        assert judge(dedup, "C", c).status == "unique"
    with new_store(kind).open(limits) as dedup:
        assert judge(dedup, "B", b).status == "unique"
        assert judge(dedup, "A", a).original == "B"
        found = judge(dedup, "C", c)
        assert (found.original, found.distance, found.max_distance) == ("B", 5, 5)


@pytest.mark.parametrize("limit", [0, 3, 4, 5, 6, 10])
def test_found_if_and_only_if_within_the_limit(store, limit):
    """Bits spread over the band boundaries, the top bit, all bits; signed integers survive."""
    stored = 0x8000000000000001
    spread = [0, 1 << 63, 0x0001000100010000, 0x0001000100010001, 0x00800200100080C8]
    spread += [0x0010040100401010, 2**64 - 1, 0x8410210840210842, 0x00000000000003FF]
    with store.open({**BITS_ONLY, "SIMDEDUP_MAX_DISTANCE": limit}) as dedup:
        assert judge(dedup, "stored", stored).status == "unique"
        for number, flips in enumerate(spread):
            far = flips.bit_count()
            verdict = dedup.judge(dedup.page(f"query {number}"), fingerprinted(stored ^ flips))
            if far <= limit:
                assert verdict.verdict.original == "stored"
                assert verdict.verdict.distance == far
            else:
                assert verdict.verdict.status == "unique"
                dedup.release([verdict.claim])


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=30),
    st.lists(st.lists(st.integers(0, 63), max_size=11), min_size=1, max_size=20),
    st.integers(0, 10),
)
def test_index_agrees_with_brute_force(new_store, kind, stored, flips, limit):
    kept: list[int] = []
    with new_store(kind).open({**BITS_ONLY, "SIMDEDUP_MAX_DISTANCE": limit}) as dedup:
        queries = list(stored)
        for number, bits in enumerate(flips):
            value = stored[number % len(stored)]
            for bit in bits:
                value ^= 1 << bit
            queries.append(value)
        for number, value in enumerate(queries):
            nearest = min(((value ^ other).bit_count() for other in kept), default=99)
            verdict = judge(dedup, str(number), value)
            assert (verdict.status == "duplicate") == (nearest <= limit)
            if nearest <= limit:
                assert verdict.distance == nearest
            else:
                kept.append(value)


def test_crowds_hide_no_pair(store):
    """A prefix that very many fingerprints share does not hide a pair, nor fill the memory."""
    with store.open(BITS_ONLY) as dedup:
        numbers = range(MOST_ROWS + 100)
        crowd = [(0xABCD << 48) | (number * 0x9E3779B97F4A7C15 % 2**64 >> 16) for number in numbers]
        first = crowd[0]
        kept = [value for value in crowd if judge(dedup, hex(value), value).status == "unique"]
        assert len(kept) > MOST_ROWS
        assert judge(dedup, "near", first ^ 0b111).original == hex(first)
        # What comes after the scan began is in it as well.
        assert judge(dedup, "late", 0xABCD << 48 | 0x5555).status == "unique"
        assert judge(dedup, "later", 0xABCD << 48 | 0x5554).original == "late"


def test_a_page_has_all_its_rows_or_none(store):
    with store.open() as dedup:
        dedup.check("a", text=story(1))
        body = b"16 bytes of digest"[:16]
        judged = dedup.judge(dedup.page("b", (), body), analysis_of(dedup, story(2)))
        assert [row.url for row in store.held()] == ["a", "b"]
        assert store.wrong(dedup.config.methods, settled=False) == []
        dedup.release([judged.claim])
        assert store.wrong(dedup.config.methods, settled=False) == []
    assert [row.url for row in store.held()] == ["a"]
    assert store.wrong(dedup.config.methods) == []


def test_the_rows_of_a_page_in_a_file(tmp_path):
    path = tmp_path / "index.db"
    with Deduplicator(path) as dedup:
        dedup.check("a", text=story(1))
        judged = dedup.judge(
            dedup.page("b", (), b"16 bytes of digest"[:16]), analysis_of(dedup, story(2))
        )
        rows = dict(dedup._index.connection.execute("SELECT page, count(*) FROM bands GROUP BY 1"))
        # One name, one body, four rotations, sixteen sketch keys.
        assert set(rows.values()) == {22}
        dedup.release([judged.claim])
        pages = dedup._index.connection.execute("SELECT DISTINCT page FROM bands").fetchall()
        assert pages == [(1,)]
    with sqlite3.connect(path) as index:
        assert index.execute("SELECT url FROM pages").fetchall() == [("a",)]


def analysis_of(dedup: Deduplicator, text: str) -> Analysis:
    from scrapy_simdedup.analysis import Source, analyse

    return analyse(Source(text=(text,)), dedup.recipe())


def test_settling_twice_does_nothing(store):
    with store.open() as dedup:
        claim = dedup.judge(dedup.page("a"), analysis_of(dedup, story(1))).claim
        assert dedup.confirm([claim]).count == 1
        assert dedup.confirm([claim]).count == 0
        assert dedup.release([claim]).count == 0
        assert dedup.check("b", text=story(1)).original == "a"


def test_a_released_claim_orphans_its_copies(store, caplog):
    with store.open() as dedup:
        claim = dedup.judge(dedup.page("a"), analysis_of(dedup, story(1))).claim
        assert dedup.check("b", text=story(1)).original == "a"
        settled = dedup.release([claim])
        assert [(o.kind, o.url, o.original) for o in settled.orphans] == [("page", "b", "a")]
        assert len(caplog.records) == 1
        statuses = store.asked("SELECT url, status FROM decisions")
        assert statuses == [("a", "unique"), ("b", "orphaned")]
        assert dedup.check("c", text=story(1)).status == "unique"


def test_claims_of_the_living_count_those_of_the_dead_do_not(store):
    script = """
        import sys, time
        from scrapy_simdedup.analysis import Source, analyse
        from scrapy_simdedup.deduplicator import Deduplicator
        sys.path.insert(0, sys.argv[3])
        from texts import story
        dedup = Deduplicator(sys.argv[1], log=sys.argv[2])
        dedup.judge(dedup.page("theirs"), analyse(Source(text=(story(1),)), dedup.recipe()))
        print("claimed", flush=True)
        time.sleep(60)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), store.index, store.log, HERE],
        env={**os.environ, "PYTHONPATH": str(HERE.parent)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "claimed\n"
    with store.open() as dedup:
        assert dedup.check("mine", text=story(1)).original == "theirs"
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert dedup.check("again", text=story(1)).status == "unique"
    with store.open() as dedup:
        assert dedup.originals() == 1
        assert store.asked("SELECT status FROM runs ORDER BY id LIMIT 1") == [("died",)]
        assert store.asked("SELECT url FROM decisions WHERE status='orphaned'") == [("mine",)]
    assert not list(store.log.parent.glob("*run*"))
    assert store.wrong(dedup.config.methods) == []


def test_four_writers_lose_nothing(store):
    """Four processes judge 300 texts each, half of them the same in all four."""
    script = """
        import sys
        from scrapy_simdedup.deduplicator import Deduplicator
        from test_index import fingerprinted, BITS_ONLY
        import random
        me = int(sys.argv[3])
        with Deduplicator(sys.argv[1], BITS_ONLY, log=sys.argv[2]) as dedup:
            for number in range(300):
                seed = number if number % 2 else number + 10_000 * (me + 1)
                value = random.Random(seed).getrandbits(64)
                dedup.judge(dedup.page(f"{me}/{number}"), fingerprinted(value), confirm=True)
    """
    environment = {**os.environ, "PYTHONPATH": f"{HERE.parent}{os.pathsep}{HERE}"}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(script), store.index, store.log, str(number)],
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    errors = [process.communicate(timeout=120)[1] for process in processes]
    assert errors == [""] * 4
    assert store.wrong(["simhash"]) == []
    counts = dict(store.asked("SELECT status, count(*) FROM decisions GROUP BY 1"))
    assert counts == {"unique": 150 * 4 + 150, "duplicate": 150 * 3}
    originals = {row.url for row in store.held()}
    assert len(originals) == 750
    copied = store.asked("SELECT original FROM decisions WHERE status = 'duplicate'")
    assert {original for (original,) in copied} <= originals


def test_kill_9_at_any_moment_leaves_whole_pages(store):
    script = """
        import sys, random, itertools
        from scrapy_simdedup.deduplicator import Deduplicator
        from test_index import fingerprinted, BITS_ONLY
        with Deduplicator(sys.argv[1], BITS_ONLY, log=sys.argv[2]) as dedup:
            print("on", flush=True)
            for number in itertools.count():
                value = random.getrandbits(64)
                claim = dedup.judge(dedup.page(f"{value}"), fingerprinted(value)).claim
                if number % 3:
                    dedup.confirm([claim])
    """
    environment = {**os.environ, "PYTHONPATH": f"{HERE.parent}{os.pathsep}{HERE}"}
    for number in range(6):
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(script), store.index, store.log],
            env=environment,
            stdout=subprocess.PIPE,
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.05 + 0.03 * number)
        process.kill()
        process.wait()
        with store.open(BITS_ONLY) as dedup:
            assert dedup.reaped is not None
            assert all(row.confirmed for row in store.held())
            assert store.wrong(["simhash"], settled=False) == []
    assert store.wrong(["simhash"]) == []


def test_every_judgement_is_a_transaction(store, monkeypatch):
    """A failure half way through leaves nothing behind, and the next page goes on."""
    with store.open() as dedup:
        monkeypatch.setattr(dedup._index, "log", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            dedup.judge(dedup.page("a"), analysis_of(dedup, story(1)))
        monkeypatch.undo()
        assert dedup.originals() == 0
        assert dedup.check("a", text=story(1)).status == "unique"


def test_disk_full_is_an_error_and_the_index_stays_sound(tmp_path):
    with Deduplicator(tmp_path / "index.db") as dedup:
        dedup.check("a", text=story(1))
        pages = dedup._index.connection.execute("PRAGMA page_count").fetchone()[0]
        dedup._index.connection.execute(f"PRAGMA max_page_count = {pages + 1}")
        with pytest.raises(sqlite3.OperationalError, match="full"):
            for number in range(2, 200):
                dedup.check(str(number), text=story(number))
        dedup._index.connection.execute("PRAGMA max_page_count = 1000000")
        assert dedup.check("copy", text=story(1)).original == "a"
        assert dedup._index.connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_no_look_up_reads_a_whole_table(tmp_path):
    """Every statement of the hot path is a search by an index."""
    with Deduplicator(tmp_path / "index.db") as dedup:
        seen: list[str] = []
        dedup.check("a", text=story(1))
        dedup._index.connection.set_trace_callback(seen.append)
        dedup.check("b", text=story(1))
        dedup.check("a", text=story(1))
        dedup.check("c", text=story(2))
        dedup._index.connection.set_trace_callback(None)
        plans = [
            row[3]
            for statement in set(seen)
            if statement.startswith(("SELECT", "UPDATE", "DELETE"))
            for row in dedup._index.connection.execute(f"EXPLAIN QUERY PLAN {statement}")
        ]
        assert any("SEARCH" in plan for plan in plans)
        # What is scanned is what searches have found, never a table.
        assert [plan for plan in plans if plan.startswith("SCAN") and "subquery" not in plan] == []


def test_identity_is_checked_and_named(store):
    store.open().close()
    for setting, value in (
        ("SIMDEDUP_METHODS", ["simhash"]),
        ("SIMDEDUP_SCOPE", "site"),
        ("SIMDEDUP_EXTRACTOR", "test_index.fingerprinted"),
    ):
        with pytest.raises(IndexUnusable) as error:
            store.open({setting: value})
        assert store.index in str(error.value)
        assert "SIMDEDUP_RESET" in str(error.value)
    # Thresholds are no part of it.
    store.open({"SIMDEDUP_MAX_DISTANCE": 7, "SIMDEDUP_MIN_TERMS": 3}).close()


GARBAGE = bytes(range(7, 71)) + b"\0" * 4032


@pytest.mark.parametrize("content", [b"hello", GARBAGE, b"SQLite format 3\0"])
def test_foreign_and_damaged_files_are_refused_untouched(tmp_path, content):
    path = tmp_path / "index.db"
    path.write_bytes(content)
    with pytest.raises(IndexUnusable) as error:
        Deduplicator(path)
    assert str(path) in str(error.value)
    assert path.read_bytes() == content


def test_another_programs_file_and_a_newer_one(tmp_path):
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE theirs (a)")
    before = other.read_bytes()
    with pytest.raises(IndexUnusable, match="another program"):
        Deduplicator(other)
    assert other.read_bytes() == before
    newer = tmp_path / "newer.db"
    Deduplicator(newer).close()
    with sqlite3.connect(newer) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(IndexUnusable, match="schema 99"):
        Deduplicator(newer)


def test_an_empty_file_is_a_new_index(tmp_path):
    path = tmp_path / "deep" / "down" / "index.db"
    path.parent.mkdir(parents=True)
    path.touch()
    with Deduplicator(path) as dedup:
        assert dedup.check("a", text=story(1)).status == "unique"


def test_places_where_no_index_can_be(tmp_path):
    (tmp_path / "file").write_text("in the way")
    for path in (tmp_path, tmp_path / "file" / "index.db"):
        with pytest.raises(IndexUnusable) as error:
            Deduplicator(path)
        assert str(path) in str(error.value)


def test_check_usable_changes_nothing(tmp_path):
    identity = identity_of(Config())
    check_usable(tmp_path / "a" / "b.db", identity)
    assert list(tmp_path.iterdir()) == []


def test_reset_waits_for_nobody(tmp_path):
    path = tmp_path / "index.db"
    with Deduplicator(path) as dedup:
        dedup.check("a", text=story(1))
        with pytest.raises(IndexUnusable, match="another run is using it"):
            move_aside(path)
    aside = move_aside(path)
    assert aside is not None
    assert not path.exists()
    with sqlite3.connect(aside) as old:
        assert old.execute("SELECT url FROM pages").fetchall() == [("a",)]
    assert move_aside(path) is None


def test_sqlite_utils_opens_it_as_it_is(tmp_path):
    from sqlite_utils import Database

    path = tmp_path / "index.db"
    with Deduplicator(path, spider="news") as dedup:
        dedup.check("https://a.example/1", text=story(1))
        dedup.check("https://b.example/1", text=story(1))
        dedup.check("https://c.example/1", text=story(1))
    db = Database(path)
    assert {"pages", "bands", "decisions", "runs", "meta"} <= set(db.table_names())
    assert set(db.view_names()) == {"duplicates", "clusters"}
    (cluster,) = db["clusters"].rows
    assert (cluster["original"], cluster["copies"]) == ("https://a.example/1", 2)
    assert [row["spider"] for row in db["duplicates"].rows] == ["news", "news"]


def test_signatures_round_trip():
    signature = {"simhash": b"12345678", "sketch": bytes(range(200)) * 2, "empty": b""}
    assert unpack(pack(signature)) == signature


def test_two_runs_of_one_process_are_alive_to_each_other(tmp_path):
    """Two spiders in one process may share a file."""
    path, config = tmp_path / "index.db", Config()
    one = SqliteIndex(path, identity_of(config), rows_of(config.methods))
    two = SqliteIndex(path, identity_of(config), rows_of(config.methods))
    assert one.is_alive(two.run)
    assert two.is_alive(one.run)
    one.close("finished")
    assert not two.is_alive(one.run)
    two.close("finished")
