"""Keys that too many pages share: counted by a crawl, told at most once an hour."""

from __future__ import annotations

import logging
import shlex
from pathlib import Path

import pytest

from scrapy_simdedup import Deduplicator
from scrapy_simdedup.crawl import alarms
from scrapy_simdedup.crawl.alarms import Alarms
from texts import page, story

PASSAGE = story(900, 150)
# So many pages may share a key, and a few more than that do.
PAGES = 52


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    time = [10_000.0]
    monkeypatch.setattr(alarms.time, "monotonic", lambda: time[0])
    return time


def test_one_warning_an_hour_at_most(clock, caplog):
    """Look-ups that fill the log (simhash issue 4)."""
    path = Path("/a b/index.db")
    seen = Alarms()
    with caplog.at_level(logging.WARNING):
        seen.crowded(999, path)
        assert not caplog.records
        for keys in range(1000, 50_000, 100):
            seen.crowded(keys, path)
            clock[0] += 7.0
        assert len(caplog.records) == 1
        assert "1000 times by now" in caplog.text
        assert f"scrapy simdedup stats --index {shlex.quote(str(path))}" in caplog.text
        clock[0] += 3600.0
        seen.crowded(50_000, path)
        assert len(caplog.records) == 2
        clock[0] += 3600.0
        # Few more since then are not worth another one.
        seen.crowded(50_999, path)
        assert len(caplog.records) == 2


def test_a_crawl_counts_them(crawl, site, tmp_path):
    with Deduplicator(tmp_path / "index.db") as dedup:
        for seed in range(PAGES):
            dedup.check(f"https://a.example/{seed}", text=f"{story(seed)}\n\n{PASSAGE}")
        assert dedup.crowded_keys > 0
    for seed in (100, 101):
        site.html(f"/{seed}", page(f"{story(seed)}\n\n{PASSAGE}", str(seed)))
    site.html("/other", page(story(102)))
    done = crawl("/100", "/101", "/other", in_turn=True)
    assert done.stat("pages/unique") == 3
    assert done.stat("crowded_keys") > 1
    again = crawl("/other")
    assert "simdedup/crowded_keys" not in again.stats
