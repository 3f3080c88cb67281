"""The index benchmark: made-up pages, bulk building, and runs from end to end on a few pages."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

PROJECT = Path(__file__).resolve().parents[1]
BENCHMARKS = PROJECT / "benchmarks"

sys.path.insert(0, str(BENCHMARKS))

from bulk import build  # noqa: E402
from children import alone  # noqa: E402
from index_file import index_of  # noqa: E402
from judged import BITS, SHINGLES, near, page, queries  # noqa: E402
from made_up import KINDS, TEMPLATE, MadeUp, url_of  # noqa: E402
from svg import Line, chart  # noqa: E402

from scrapy_simdedup import Deduplicator  # noqa: E402
from scrapy_simdedup.guards import facts  # noqa: E402
from scrapy_simdedup.methods.simhash import distance  # noqa: E402
from scrapy_simdedup.methods.sketch import SAMPLE, overlap, unpack_sketch  # noqa: E402


def run(name: str, *arguments: str | Path | float) -> str:
    """Run a benchmark and return what it printed."""
    command = [sys.executable, BENCHMARKS / name, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def rows(path: Path, table: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(path)
    found = connection.execute(f"SELECT * FROM {table}").fetchall()
    connection.close()
    return sorted(found, key=repr)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_built_in_bulk_is_one_that_was_judged_page_by_page(tmp_path, kind):
    bulk, judged = tmp_path / "bulk.db", tmp_path / "judged.db"
    build(bulk, 150, kind)
    with Deduplicator(judged) as dedup:
        for number in range(1, 151):
            query = page(number, kind)
            subject = dedup.page(query.url, (), query.body)
            assert dedup.judge(subject, query.analysis, confirm=True).verdict.status == "unique"
    for table in ("pages", "bands", "meta", "bodies"):
        assert rows(bulk, table) == rows(judged, table), table
    numbers = [dict(rows(path, "sqlite_sequence"))["pages"] for path in (bulk, judged)]
    assert numbers == [150, 150]


def test_a_page_is_the_same_alone_and_among_others():
    numbers = np.arange(1, 50, dtype=np.uint64)
    made = MadeUp()
    smallest, sizes = made.smallest(numbers, SAMPLE), made.sizes(numbers)
    for number in (1, 17, 49):
        query = page(number)
        shingles = np.sort(query.analysis.shingles)
        header, keys, tags = unpack_sketch(query.analysis.signature["sketch"])
        assert len(np.unique(shingles)) == len(shingles) == sizes[number - 1] == header.size
        assert (shingles[:SAMPLE] == smallest[number - 1]).all()
        assert header.largest == shingles[SAMPLE - 1]
        assert (tags == shingles[:SAMPLE].astype(np.uint16)).all()
        assert (keys == made.row_keys(numbers)[number - 1]).all()
        kept = query.analysis.signature["facts"]
        assert facts.shares(kept, kept) == (1.0, 1.0)
    assert len(url_of(1)) == len(url_of(1 << 41)) == 60


def test_planted_pages_are_near_and_others_are_not():
    first = page(1).analysis
    for how, bits in ((BITS, range(4)), (SHINGLES, range(10, 64))):
        copy = near(10**6, 1, how).analysis
        assert distance(copy.signature["simhash"], first.signature["simhash"]) in bits
        assert overlap(copy.shingles, first.signature["sketch"]).resemblance > 0.4
    assert overlap(page(2).analysis.shingles, first.signature["sketch"]).resemblance < 0.05
    old, new = (page(number, TEMPLATE).analysis for number in (1, 2))
    assert 0.05 < overlap(new.shingles, old.signature["sketch"]).resemblance < 0.3
    assert distance(new.signature["simhash"], old.signature["simhash"]) > 3


def test_a_child_that_fails_or_dies_is_told():
    with pytest.raises(RuntimeError, match="ValueError"):
        alone(int, "x")
    with pytest.raises(RuntimeError, match="ended"):
        alone(os._exit, 9)


def test_no_two_turns_share_a_page():
    asked = [[query.number for query in queries(100, 50, 0.5, turn)] for turn in (0, 1)]
    assert len({*asked[0], *asked[1]}) == 100
    originals = [q.original for q in queries(100, 50, 0.5) if q.original]
    assert len(set(originals)) == len(originals) > 10


def test_a_run_measures_the_product_and_its_peers(tmp_path):
    raw = tmp_path / "raw.json"
    tiny = ["--queries", 60, "--repeat", 1, "--processes", 2, "--seconds", 0.2]
    tiny += ["--skew", "--skew-pages", 200]
    printed = run("index.py", "--pages", 400, *tiny, "--json", raw)
    found = json.loads(raw.read_text())
    product = found.pop("product")
    times = {f"p{at}_ms" for at in (50, 95, 99)}
    prefixes = ("", "lookup_", "steady_", "saturated_", "prefix_", "template_", "identical_")
    assert product.keys() >= {prefix + name for prefix in prefixes for name in times}
    recalls = {name: value for name, value in product.items() if name.endswith("recall")}
    assert len(recalls) == 8
    assert set(recalls.values()) == {1.0}
    assert product["false"] == 0
    assert product["bytes_per_page"] > 500
    assert product["lookup_ratio"] > 0
    meta = found.pop("meta")
    assert (meta["pages"], meta["queries"]) == (400, 60)
    assert meta["versions"]["scrapy-simdedup"]
    assert found.pop("bare SELECT")["recall"] == 1.0
    for name in ("1e0ng SimhashIndex", "faiss IndexBinaryMultiHash", "datasketch MinHashLSH"):
        assert name in printed
        assert (name in found) != (f"{name}: skipped" in printed)
    for figures in found.values():
        assert figures.keys() >= {*times, "recall", "per_second"}


def test_the_file_is_kept_as_it_was_built(tmp_path):
    keep, raw = tmp_path / "keep.db", tmp_path / "raw.json"
    for _ in range(2):
        tiny = ["--queries", 20, "--repeat", 1, "--processes", 0, "--no-peers"]
        run("index.py", "--pages", 100, *tiny, "--keep", keep, "--json", raw)
        assert len(rows(keep, "pages")) == 100
        assert rows(keep, "decisions") == []
    found = json.loads(raw.read_text())
    assert found.keys() == {"product", "meta"}
    assert found["product"]["build_s"] == 0
    with pytest.raises(SystemExit, match="not 200"), index_of(200, keep):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["keep.db", "raw.json"]


def test_growth_is_measured_and_drawn(tmp_path):
    raw, drawn = tmp_path / "raw.json", tmp_path / "growth.svg"
    tiny = ["--least", 100, "--most", 1000, "--queries", 30, "--repeat", 1]
    run("growth.py", *tiny, "--json", raw, "--plot", drawn)
    found = json.loads(raw.read_text())
    for name in ("product", "bare SELECT"):
        assert found[name]["by_pages"].keys() == {"100", "1000"}
        assert found[name].items() >= found[name]["by_pages"]["1000"].items()
    assert found["product"].keys() >= {"p50_ms", "p95_ms", "bytes_per_page", "recall"}
    texts = [each.text for each in ET.parse(drawn).iter() if each.text]
    assert "1 thousand" in texts
    assert any("bare SELECT" in text for text in texts)


def test_a_chart_escapes_its_names():
    svg = chart("a < b", "x & y", "z", [Line("<line>", [(10, 0.5), (1000, 3)])])
    texts = [each.text for each in ET.fromstring(svg).iter()]
    assert {"a < b", "x & y", "<line>", "100", "1 thousand"} <= set(texts)


def test_a_file_built_in_bulk_judges_and_recognises(tmp_path):
    build(tmp_path / "index.db", 50)
    with Deduplicator(tmp_path / "index.db") as dedup:
        assert dedup.originals() == 50
        copy = near(10**6, 7, BITS)
        judgement = dedup.judge(dedup.page(copy.url, (), copy.body), copy.analysis)
        assert judgement.original_page == 7
        known = page(9)
        seen = dedup.recall(dedup.page(known.url, (), known.body))
        assert seen is not None
        assert seen.verdict.status == "revisit"
