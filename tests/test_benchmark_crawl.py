"""The crawl benchmark from end to end, on a few made-up pages."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).resolve().parents[1]
BENCHMARKS = PROJECT / "benchmarks"

sys.path.insert(0, str(BENCHMARKS))

from crawl_pages import Variations, Writer, made_up, read  # noqa: E402
from crawl_report import growth, ratios  # noqa: E402

PAGES = 8
CRAWLS = {"per_second", "ms_a_page", "cpu_ms", "lag_p50_ms", "lag_p95_ms", "lag_max_ms", "rss_mb"}


def crawl(tmp_path: Path, *options: str) -> tuple[str, dict[str, Any]]:
    written = tmp_path / "out.json"
    command = [sys.executable, str(BENCHMARKS / "crawl.py"), "--json", str(written), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(written.read_text())


@pytest.mark.slow
def test_contestants_and_counts(tmp_path):
    folder = tmp_path / "corpus" / "made-up" / "pages"
    folder.mkdir(parents=True)
    for number, html in enumerate(made_up(PAGES, seed=1)):
        (folder / f"{number}.html").write_bytes(html)
    corpus = str(tmp_path / "corpus")
    printed, found = crawl(tmp_path, "--pages", corpus, "--repeat", "1", "--workers", "1,0")
    contestants = {"product", "scrapy alone", "extraction alone", "bare trafilatura"}
    assert set(found) == contestants | {"by_workers", "runs", "meta"}
    assert set(found["product"]) >= CRAWLS | {f"second_{name}" for name in CRAWLS}
    assert found["product"]["with_over_extraction"] > 0
    assert found["product"]["second_speedup"] > 0
    for name in ("scrapy alone", "extraction alone"):
        assert set(found[name]) >= CRAWLS
    assert set(found["bare trafilatura"]) == {"per_second", "ms_a_page"}
    assert set(found["by_workers"]) == {"1", "0"}
    assert found["by_workers"]["1"] == {key: found[key] for key in contestants}
    meta = found["meta"]
    assert (meta["pages"], meta["workers"], meta["made_up"]) == (PAGES, [1, 0], False)
    assert {name: sum(told.values()) for name, told in meta["statuses"].items()} == dict.fromkeys(
        ("scrapy alone", "extraction alone", "first crawl", "second crawl"), PAGES
    )
    # Page 4 reprints one of the four before it.
    assert meta["statuses"]["first crawl"] == {"unique": 7, "duplicate": 1}
    assert set(meta["statuses"]["second crawl"]) == {"revisit", "duplicate"}
    assert "first crawl: 7 unique, 1 duplicate" in printed


@pytest.mark.slow
def test_memory_mode(tmp_path):
    options = ["--most", "6", "--repeat-pages", "40", "--workers", "0"]
    _, found = crawl(tmp_path, *options)
    assert found["meta"]["pages"] == 40
    assert sum(found["meta"]["statuses"]["first crawl"].values()) == 40
    assert set(found["product"]) >= {"rss_mb", "rss_mb_after_4", "rss_mb_per_1000", "peak_rss_mb"}
    assert set(found) == {"product", "scrapy alone", "meta"}


def test_sets_take_turns(tmp_path):
    for name, count in (("a", 4), ("b", 1), ("c", 2)):
        folder = tmp_path / name / "pages"
        folder.mkdir(parents=True)
        for number in range(count):
            (folder / f"{number}.html").write_text(f"{name}{number}")
    assert read(tmp_path, 6) == [b"a0", b"b0", b"c0", b"a1", b"c1", b"a2"]


def test_made_up_and_varied_pages_are_the_same_each_time():
    pages = made_up(10, seed=1)
    assert pages == made_up(10, seed=1)
    assert pages != made_up(10, seed=2)
    varied = Variations(pages, seed=1)
    near, other = varied.page(3), varied.page(13)
    assert (near, other) == (Variations(pages, 1).page(3), Variations(pages, 1).page(13))
    original = pages[3].decode()
    # One has a sentence more, the other hardly a word of it, but the same markup.
    shared = len(set(original.split()) & set(near.split())) / len(set(original.split()))
    assert shared > 0.95
    assert other.count("<") == original.count("<")
    assert other.count("<p>") == original.count("<p>")
    article = original.partition("entry-content")[2].partition("</div>")[0]
    assert article not in other


def test_chinese_is_replaced_by_chinese():
    html = f"<p>{Writer(1).text(random.Random(1), 60, chinese=True)}</p>"
    varied = Variations([html.encode()], seed=1).page(1)
    assert varied != html
    assert not varied.removeprefix("<p>").removesuffix("</p>").isascii()


def test_growth_is_the_slope_after_the_mark():
    samples = [(0, 0.0, 0.0, 0.0), *((n, 100 + n / 500, 50.0, 7.0) for n in range(2000, 6001, 500))]
    found = growth(samples, 2000)
    assert found["rss_mb_after_2000"] == 104
    assert found["rss_mb"] == 112
    assert found["rss_mb_per_1000"] == pytest.approx(2)
    assert found["workers_rss_mb_per_1000"] == 0


def test_ratios_are_those_of_each_round():
    def figures(per_second: float) -> dict[str, float]:
        taken = 1000 / per_second
        return {
            "per_second": per_second,
            "ms_a_page": taken,
            "cpu_ms": taken,
            "workers_cpu_ms": 0.0,
            "lag_p95_ms": 1.0,
        }

    found = ratios(
        {
            "scrapy alone": [figures(1000)],
            "extraction alone": [figures(50)],
            "first crawl": [figures(40)],
            "second crawl": [figures(250)],
            "bare trafilatura": [figures(80)],
        }
    )
    assert found["with_over_extraction"] == pytest.approx(0.8)
    assert found["second_over_first"] == pytest.approx(0.16)
    assert found["second_over_first_own"] == pytest.approx(3 / 24)
    assert found["second_over_first_own_cpu"] == pytest.approx(3 / 24)
    assert found["with_over_extraction_cpu"] == pytest.approx(0.8)
