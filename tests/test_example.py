"""The example project, run as a newcomer runs it, and then again."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

EXAMPLE = Path(__file__).resolve().parents[1] / "example_project"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two runs of a copy of the example: what they printed and left behind."""
    folder = tmp_path_factory.mktemp("clone") / "example_project"
    ignored = shutil.ignore_patterns(".scrapy", "*.jsonl", "report.html", "__pycache__")
    shutil.copytree(EXAMPLE, folder, ignore=ignored)
    printed, logs, reports = [], [], []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, str(folder / "run.py")], capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        printed.append(done.stdout)
        logs.append(done.stderr)
        reports.append((folder / "report.html").read_text(encoding="utf-8"))
    return SimpleNamespace(
        folder=folder, first=printed[0], second=printed[1], log=logs[0], report=reports[0]
    )


def test_first_it_tags_and_shows_a_report(runs):
    first = runs.first
    assert "\nTAGGED: 25 of the 47 items in tagged.jsonl are of copies\n" in first
    assert 'items scraped: 47; SIMDEDUP_ACTION = "drop-items" would have dropped 25\n' in runs.log
    assert f"REPORT: open {runs.folder / 'report.html'} in a browser" in first
    assert "25 of 52 pages were copies" in runs.report
    steps = re.findall(r"^\$ scrapy (crawl \w+|simdedup \w+)", first, re.MULTILINE)
    assert steps == ["crawl news", "simdedup report", "crawl tuned"]


def test_then_it_drops(runs):
    assert "pages: 21 unique, 25 duplicate, 13 skipped; " in runs.log
    assert "items scraped: 22; items dropped: 25\n" in runs.log


def test_the_first_run_tells_what_it_kept_and_dropped(runs):
    first = runs.first
    assert "SUMMARY: 22 items kept; decisions logged: 25 duplicate, 3 skipped, 21 unique" in first
    kept, dropped = first.split("\nKEPT")[1].split("DROPPED, SKIPPED, CHANGED")
    assert len(re.findall("http://", kept)) == 22
    # The translated copy is a page of its own; one login page stands for all four.
    assert "xinwen.example/news/feiqi-caishichang-zhongziku" in kept
    assert "harbour-daily.example/news/seed-bank-old-quarry" in kept
    assert len(re.findall("/members/", kept)) == 1
    for way in ("/print/", "/amp/", "?utm_source=", "regional-wire", "kuaibao"):
        assert re.search(rf"duplicate \S+{re.escape(way)}", dropped) or way in dropped
    assert re.search(r"skipped   \S+/notices/slipway-closed\n\s+too-short", dropped)
    assert re.search(r"skipped   \S+/news/missing\n\s+status", dropped)
    assert re.search(r"skipped   \S+\.pdf\n\s+not-html", dropped)


def test_the_second_run_shows_revisits(runs):
    first, second = runs.first, runs.second
    corrected = (
        r"revisit   http://harbour-daily.example/news/ferry-summer-timetable\n\s+seen before"
    )
    assert re.search(corrected, second)
    assert "SUMMARY: 22 items kept; decisions logged: 25 duplicate, 1 revisit, 3 skipped" in second
    kept = [text.split("KEPT")[1].split("DROPPED")[0] for text in (first, second)]
    assert kept[0] == kept[1]


def test_the_log_is_left_behind(runs):
    logs = sorted(runs.folder.glob("dedup-tuned-*.jsonl"))
    assert len(logs) == 2
    rows = [json.loads(line) for line in logs[0].read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 49
    assert {row["spider"] for row in rows} == {"tuned"}
