"""``scrapy simdedup stats``: its numbers are those of the file, and looking disturbs nobody."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import pytest

from scrapy_simdedup import Deduplicator
from scrapy_simdedup.analysis import Source, analyse
from scrapy_simdedup.index.bands import rotations
from scrapy_simdedup.index.files import opened
from scrapy_simdedup.index.records import NewPage
from scrapy_simdedup.logs import buckets
from scrapy_simdedup.logs.stats import Stats, stats
from test_index import BITS_ONLY, fingerprinted
from test_skew import sketched
from test_upkeep import ask, judged
from test_upkeep_commands import Called, call  # noqa: F401  (a fixture)
from texts import page, story

CROWD = 90
PREFIX = 0xABCD << 48


def quiet(what: str, total: int | None) -> Any:
    return nullcontext(lambda steps: None)


def looked(path: Path, *, whole: bool = False) -> Stats:
    with opened(path) as connection:
        return stats(connection, path, quiet, whole=whole)


def fill(path: Path, settings: dict[str, Any], pages: list[Any], start: int = 0) -> None:
    with Deduplicator(path, settings) as dedup, dedup._index.write():
        for at, each in enumerate(pages, start):
            subject = dedup.page(f"https://{at}.example/")
            new = NewPage(subject, each.digest, each.terms, each.signature, None)
            dedup._index.claims.confirm([dedup._index.pages.insert(new)])


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """Two runs: pages with copies, a skipped page, items, and one whose original is removed."""
    path = tmp_path / "index.db"
    with Deduplicator(path, spider="news") as dedup:
        for at in range(5):
            dedup.check(f"https://a.example/{at}", html=page(story(at)))
            dedup.check(f"https://b.example/{at}", html=page(story(at), "Copy", "wire"))
        dedup.check("https://b.example/short", text="Too little.")
        item = dedup.item("https://a.example/", "Review", "1")
        dedup.judge(item, analyse(Source(text=(story(1),)), dedup.recipe()), confirm=True)
        dedup.remove("https://a.example/4")
    with Deduplicator(path, spider="wire") as dedup:
        dedup.check("https://b.example/0", html=page(story(0), "Copy", "wire"))
    return path


def test_the_numbers_are_those_of_the_file(index):
    found = looked(index)
    assert (found.originals, found.claims, found.removed, found.texts) == (5, 0, 1, 0)
    assert found.methods == ["simhash", "sketch"]
    told = {(each.kind, each.status, each.reason): each.decisions for each in found.decisions}
    assert told == {
        ("item", "unique", ""): 1,
        ("page", "duplicate", ""): 6,
        ("page", "skipped", "too-short"): 1,
        ("page", "unique", ""): 5,
    }
    runs = [(each.run, each.spider, each.status, each.decisions) for each in found.runs]
    assert runs == [
        (1, "news", "finished", {"duplicate": 5, "skipped": 1, "unique": 6}),
        (2, "wire", "finished", {"duplicate": 1}),
    ]
    assert sum(found.bands.rows.values()) == ask(index, "SELECT count(*) FROM bands")[0][0]
    assert found.bands.rows["simhash"] == 4 * 5
    assert found.bands.sampled == 0
    assert found.sizes.file == index.stat().st_size
    assert sum(found.sizes.tables.values()) + found.sizes.free == found.sizes.file
    assert {"pages", "bands", "decisions", "bodies"} < set(found.sizes.tables)


def test_what_a_person_reads(index, call):  # noqa: F811
    code, out, err = call("stats", "--index", index)
    assert (code, err) == (0, "")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines[0] == f"{index}: 5 originals, 2 runs"
    assert "decisions pages items" in lines
    assert "duplicate 6 0" in lines
    assert "skipped: too-short 1 0" in lines
    assert "of the duplicates, 1 have lost their original: it was removed" in lines
    assert any(line.startswith("1 news 20") and line.endswith(" 5 6 1") for line in lines) or any(
        line.startswith("1 news 20") and "finished 6 5 1" in line for line in lines
    )
    assert any(line.startswith("simhash 20 4.0") for line in lines)
    assert any(line.startswith("table pages ") for line in lines)
    code, out, _ = call("stats", "--json", "--index", index)
    told = json.loads(out)
    assert (told["originals"], told["bands"]["rows"]["simhash"]) == (5, 20)
    assert told["path"] == str(index)


def test_an_empty_index(tmp_path, call):  # noqa: F811
    Deduplicator(tmp_path / "index.db").close()
    code, out, _ = call("stats", "--index", tmp_path / "index.db")
    assert (code, out.splitlines()[0]) == (0, f"{tmp_path / 'index.db'}: 0 originals, 1 runs")
    assert looked(tmp_path / "index.db", whole=True).bands.buckets == []


# The largest buckets (simhash issue 4)


def fingerprint(at: int) -> int:
    return PREFIX | (at * 0x9E3779B97F4B) % (1 << 48)


@pytest.fixture
def crowds(tmp_path: Path) -> Path:
    """Pages with two sketch keys in common, and with the first quarter of their fingerprints."""
    path = tmp_path / "crowds.db"
    pages = []
    for at in range(CROWD):
        base = sketched([7, 9, 1_000 + 2 * at, 1_001 + 2 * at])
        bits = fingerprinted(fingerprint(at)).signature["simhash"]
        pages.append(
            type(base)(None, base.digest, 50, {**base.signature, "simhash": bits}, base.shingles)
        )
    fill(path, {}, pages)
    return path


def by_part(found: Stats, part: str) -> list[tuple[str, int, bool]]:
    return [
        (each.key, each.pages, each.left_out) for each in found.bands.buckets if each.part == part
    ]


@pytest.mark.parametrize("sampled", [False, True])
def test_the_largest_buckets(crowds, monkeypatch, sampled):
    """Read as a whole, or found by a sample of the pages: the counts are exact either way."""
    if sampled:
        monkeypatch.setattr(buckets, "_SAMPLE", 30)
        monkeypatch.setattr("scrapy_simdedup.logs.stats.FEW", 10)
    found = looked(crowds)
    assert found.bands.sampled == (30 if sampled else 0)
    keys = by_part(found, "sketch")
    assert keys[:2] == [(f"{9:016x}", CROWD, True), (f"{7:016x}", CROWD, True)]
    # The parts of a fingerprint by which it is looked up, and what they are on.
    counted = Counter(key >> 48 for at in range(CROWD) for key in rotations(fingerprint(at)))
    largest = by_part(found, "simhash")
    assert largest[0] == ("abcd", CROWD, False)
    assert all(counted[int(key, 16)] == pages for key, pages, _ in largest)
    assert {each.example for each in found.bands.buckets[:3]} == {"https://0.example/"}
    assert found.bands.rows == {
        "identity": CROWD,
        "body": 0,
        "simhash": 4 * CROWD,
        "sketch": 4 * CROWD,
    }
    assert looked(crowds, whole=True) == looked(crowds, whole=True)
    assert looked(crowds, whole=True).bands.sampled == 0


def test_a_sample_finds_what_a_hundredth_of_the_pages_have(tmp_path, monkeypatch):
    """Among numbers with gaps, with damaged pages, and whatever else is in the index."""
    path = tmp_path / "index.db"
    settings = {**BITS_ONLY, "SIMDEDUP_METHODS": ["sketch"], "SIMDEDUP_MIN_RESEMBLANCE": 0.3}
    pages = [sketched([5 if at % 100 == 0 else 10_000 + at, 200_000 + at]) for at in range(3000)]
    fill(path, settings, pages)
    ask(path, "DELETE FROM pages WHERE id BETWEEN 500 AND 900 AND id % 100 != 1")
    ask(path, "UPDATE pages SET signature = x'00' WHERE id % 7 = 0")
    monkeypatch.setattr(buckets, "_SAMPLE", 1000)
    monkeypatch.setattr("scrapy_simdedup.logs.stats.FEW", 10)
    assert by_part(looked(path), "sketch")[0] == (f"{5:016x}", 30, False)


def test_sites_have_buckets_of_their_own(tmp_path, monkeypatch):
    settings = {"SIMDEDUP_SCOPE": "site", "SIMDEDUP_METHODS": ["sketch"]}
    path = tmp_path / "index.db"
    with Deduplicator(path, settings) as dedup, dedup._index.write():
        for at in range(20):
            subject = dedup.page(f"https://{at}.{'one' if at < 15 else 'two'}.com/")
            each = sketched([3, 100 + at])
            new = NewPage(subject, each.digest, each.terms, each.signature, None)
            dedup._index.claims.confirm([dedup._index.pages.insert(new)])
    for few in (100, 10):
        monkeypatch.setattr("scrapy_simdedup.logs.stats.FEW", few)
        found = looked(path)
        assert [pages for _, pages, _ in by_part(found, "sketch")] == [15, 5]
        assert found.bands.rows["sketch"] == 40


def test_only_the_newest_runs_are_told(tmp_path, call):  # noqa: F811
    path = tmp_path / "index.db"
    for _ in range(12):
        Deduplicator(path).close()
    found = looked(path)
    assert ([each.run for each in found.runs], found.run_count) == (list(range(3, 13)), 12)
    assert "and 2 runs before" in call("stats", "--index", path)[1]


# Looking disturbs nobody


def test_while_a_crawl_writes(index):
    """What is committed counts, no more and no less; and the writer does not wait."""
    with Deduplicator(index) as crawl:
        judged(crawl, "https://c.example/", story(30))
        with crawl._index.write():
            crawl._index.log(["page", "u", "error", *[None] * 11])
            with opened(index) as connection:
                found = stats(connection, index, quiet)
                # What is read stays open here, and the commit comes at once.
                crawl._index.connection.execute("COMMIT")
                crawl._index.connection.execute("BEGIN")
        assert (found.originals, found.claims) == (6, 1)
        assert found.runs[-1].decisions == {"unique": 1}
        assert found.runs[-1].status == "running"
        assert looked(index).runs[-1].decisions == {"error": 1, "unique": 1}
        assert found.sizes.wal > 0


def test_a_run_that_died_is_told(index):
    crawl = Deduplicator(index)
    crawl._index._checkpointer.stop()
    crawl._index.connection.close()
    crawl._index._lock._lock.release()
    assert looked(index).runs[-1].status == "died"
    assert ask(index, "SELECT status FROM runs WHERE id = 3") == [("running",)]


def test_where_nothing_can_be_written_beside_it(index, call):  # noqa: F811
    """As on a read-only medium: the file is read as it is, without -wal and -shm."""
    Path(f"{index}-shm").mkdir()
    before = index.read_bytes()
    code, out, err = call("stats", "--index", index)
    assert (code, out.splitlines()[0], err) == (0, f"{index}: 5 originals, 2 runs", "")
    code, out, _ = call("remove", "--run", 1, "--dry-run", "--index", index)
    assert (code, len(out.splitlines())) == (0, 5)
    code, _, err = call("remove", "--run", 1, "--index", index)
    assert (code, f"cannot open {index}" in err) == (1, True)
    assert index.read_bytes() == before


def test_without_dbstat(index):
    """Some builds of SQLite cannot tell what tables weigh."""

    class Plain:
        def __init__(self, connection: sqlite3.Connection) -> None:
            self._connection = connection

        def execute(self, query: str, *values: Any) -> Any:
            if "dbstat" in query:
                raise sqlite3.OperationalError("no such table: dbstat")
            return self._connection.execute(query, *values)

        def set_progress_handler(self, *_: Any) -> None:
            pass

    with closing(sqlite3.connect(index, isolation_level=None)) as connection:
        found = stats(Plain(connection), index, quiet)  # type: ignore[arg-type]
    assert found.sizes.tables == {}
    assert found.sizes.per_original > 0


def test_stored_texts_are_counted(tmp_path, call):  # noqa: F811
    path = tmp_path / "index.db"
    with Deduplicator(path, {"SIMDEDUP_STORE_TEXT": True}) as dedup:
        for at in range(3):
            dedup.check(f"https://a.example/{at}", text=story(at % 2))
    assert looked(path).texts == ask(path, "SELECT count(*) FROM texts")[0][0] > 0
    assert "texts are stored" in call("stats", "--index", path)[1]
    assert "texts" in looked(path).sizes.tables
