"""The labelled pages and ready-made cases, where a checkout of them lies beside the project."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from crawling import Answer, Crawl, linked
from scrapy_simdedup import Deduplicator
from texts import page

SHARED = Path(__file__).resolve().parents[2] / "shared"
CORPUS, CASES = SHARED / "corpus", SHARED / "cases"

pytestmark = pytest.mark.skipif(
    not CORPUS.is_dir(), reason="the labelled pages are not part of the project"
)


def scan(folder: Path, tmp_path: Path) -> Path:
    """Scan a folder with default settings and return the decisions."""
    output = tmp_path / "out.jsonl"
    command = [sys.executable, "-m", "scrapy", "simdedup", "scan", str(folder)]
    command += ["--index", str(tmp_path / "index.db"), "--output", str(output)]
    subprocess.run(command, check=True, cwd=tmp_path)
    return output


@pytest.mark.parametrize(
    ("name", "recall", "precision"),
    [
        ("syndicated-en", 0.97, 0.99),
        ("syndicated-zh", 0.97, 0.99),
        ("manual-en", 0.97, 0.99),
        ("manual-zh", 0.97, 0.99),
        ("manual-npm", 0.97, 0.99),
        ("help-zh", 1.0, 1.0),
        ("web-pages", 1.0, 1.0),
    ],
)
def test_labelled_pages(tmp_path, name, recall, precision):
    folder = CORPUS / name
    output = scan(folder / "pages", tmp_path)
    score = subprocess.run(
        [
            sys.executable,
            SHARED / "tools" / "score.py",
            output,
            folder / "pairs.tsv",
            folder / "pages",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found = re.search(r"recall ([\d.]+) precision ([\d.]+) .* skipped (\d+)", score)
    assert found, score
    assert float(found[1]) >= recall, score
    assert float(found[2]) >= precision, score
    pages = len(list((folder / "pages").iterdir()))
    assert int(found[3]) <= 0.03 * pages, score


def statuses(tmp_path: Path, case: str, names: list[str]) -> list[str]:
    """Judge a case's files in order; a duplicate is told with its original."""
    (folder,) = CASES.glob(f"{case}-*")
    told = []
    with Deduplicator(tmp_path / f"{case}.db") as dedup:
        for name in names:
            data = (folder / name).read_bytes()
            if name.endswith(".html"):
                verdict = dedup.check(name, html=data)
            elif name.endswith(".json"):
                verdict = dedup.check(name, text=json.loads(data)["text"])
            else:
                verdict = dedup.check(name, text=data.decode())
            told.append(verdict.original or verdict.reason or verdict.status)
    return told


@pytest.mark.parametrize(
    ("case", "names", "expected"),
    [
        ("01", ["a.html", "b.html", "c.html"], ["unique", "a.html", "unique"]),
        ("05", ["a.html", "b.html", "c.html"], ["too-short"] * 3),
        (
            "06",
            [
                f"{name}.txt"
                for name in (
                    "blank",
                    "emoji",
                    "empty",
                    "one-cjk",
                    "punct",
                    "stopwords",
                    "zero-width",
                )
            ],
            ["too-short"] * 7,
        ),
        ("07", ["a.txt", "b.txt", "c.txt", "d.txt"], ["too-short"] * 4),
        ("11", ["a.html", "b.html"], ["unique", "a.html"]),
        ("14", ["clean.html", "item.json", "dirty.html"], ["unique", "clean.html", "clean.html"]),
        ("16", ["zh-hans.html", "zh-hant.html", "en.html", "fr.html"], ["unique"] * 4),
    ],
)
def test_ready_made_cases(tmp_path, case, names, expected):
    assert statuses(tmp_path, case, names) == expected


def test_a_crawl_of_six_hundred_real_pages(site, tmp_path):
    """One decision a page, one original a group, all links followed, only copies dropped."""
    pages = {}
    for name in ("web-pages", "syndicated-en"):
        for path in sorted((CORPUS / name / "pages").iterdir()):
            pages[f"/{name}/{path.name}"] = path.read_bytes()
    for path, body in pages.items():
        site.pages[path] = Answer(body, content_type="text/html")
    site.html("/", page("", extra=linked(pages)))
    done = Crawl.of(
        [site.url("/")],
        tmp_path,
        settings={
            "SIMDEDUP_ACTION": "drop-items",
            "CONCURRENT_REQUESTS": 16,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
            "LOG_LEVEL": "INFO",
        },
        plan={"/": ["links"], "*": ["item"]},
    )
    assert done.exit_code == 0, done.log[-3000:]
    assert set(done.called) == {"/", *pages}
    decisions = [row for row in done.decisions() if row["url"] != site.url("/")]
    assert Counter(row["url"] for row in decisions) == {site.url(path): 1 for path in pages}
    copies = {row["url"] for row in decisions if row["status"] == "duplicate"}
    assert {item["url"] for _, item in done.dropped} == copies
    assert {item["url"] for item in done.scraped} == {row["url"] for row in decisions} - copies
    # The articles come in six versions each: one original for each, and none among web pages.
    rows = csv.DictReader((CORPUS / "syndicated-en" / "pairs.tsv").open(), delimiter="\t")
    group = {name: name for name in (path.rpartition("/")[2] for path in pages)}
    for row in rows:
        if row["label"] == "duplicate":
            group[row["b"]] = group[row["a"]]
    unique = [row["url"] for row in decisions if row["status"] == "unique"]
    groups = Counter(group[url.rpartition("/")[2]] for url in unique if "/syndicated-en/" in url)
    assert set(groups.values()) == {1}
    assert len(groups) == 50
    assert sum("/web-pages/" in url for url in unique) == len(pages) - 300


def test_products_with_the_documented_settings(tmp_path):
    """Case 03: both are kept, and the pair is in the log with its distance."""
    (folder,) = CASES.glob("03-*")
    with Deduplicator(tmp_path / "index.db", {"SIMDEDUP_NUMBERS": 0.5}) as dedup:
        assert dedup.check("a", html=(folder / "a.html").read_bytes()).status == "unique"
        found = dedup.check("b", html=(folder / "b.html").read_bytes())
    assert (found.status, found.nearest) == ("unique", "a")
    assert found.distance is not None


@pytest.mark.parametrize(
    ("case", "names"), [("08", ["a.html", "b.html"]), ("10", ["monday.html", "tuesday.html"])]
)
def test_pages_that_extraction_confuses(tmp_path, case, names):
    """Consent notice instead of the article; a front page whose headlines are links."""
    assert all(status != name for status in statuses(tmp_path, case, names) for name in names)
