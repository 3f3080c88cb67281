"""Crawls that are killed at random moments: no page is lost, whenever pages count as kept."""

from __future__ import annotations

import json
import random
import signal
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from crawling import Crawl, linked, start
from invariants import asked, wrong_with
from texts import page, story

METHODS = ["simhash", "sketch"]
STORIES = 16


def lay_out(site: Any) -> list[str]:
    """Make a site of stories with two addresses each, and return the paths."""
    paths = [f"/{copy}/{number}" for copy in "ab" for number in range(STORIES)]
    for path in paths:
        number = int(path.rpartition("/")[2])
        site.html(path, page(story(number), path, "plain" if path[1] == "a" else "wire"))
    site.html("/", page("", extra=linked(paths)))
    return paths


def story_of(url: str) -> int:
    return int(urlsplit(url).path.rpartition("/")[2])


def kill_a_crawl(site: Any, folder: Path, seconds: float, **options: Any) -> None:
    """Start a crawl, and kill it so long after it has asked for its first page."""
    before = len(site.asked)
    process, _ = start([site.url("/")], folder, **options)
    deadline = time.monotonic() + 60
    while len(site.asked) == before and time.monotonic() < deadline:
        time.sleep(0.002)
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    process.communicate()


def runs_of(index: Path) -> int:
    return len(asked(index, "SELECT id FROM runs"))


def options_of(**settings: Any) -> dict[str, Any]:
    """The strictest settings: what is not new loses its items."""
    return {
        "settings": {
            "SIMDEDUP_ACTION": "drop-items",
            "SIMDEDUP_REVISIT_ACTION": "drop-items",
            "CONCURRENT_REQUESTS_PER_DOMAIN": 4,
            **settings,
        },
        "plan": {"/": ["links"], "*": ["late:0.02", "item"]},
    }


@pytest.mark.slow
@pytest.mark.parametrize("series", range(2))
def test_10_kills_of_crawls_that_store_at_once(crawl, site, tmp_path, series):
    """``SIMDEDUP_CONFIRM = "item"``: each story has been stored once all is over."""
    paths = lay_out(site)
    store, index = tmp_path / "stored", tmp_path / "index.db"
    options = options_of(ITEM_PIPELINES={"storing.StoreAtOnce": 900}, TEST_STORE=str(store))
    pick = random.Random(f"store {series}")
    for _ in range(5):
        kill_a_crawl(site, tmp_path, pick.uniform(0, 0.5), **options)
        # A file without tables is what is left of a crawl that died while it made one.
        if runs_of(index):
            assert wrong_with(index, METHODS, settled=False) == []
            kept = {row[0] for row in pages_of(index)}
            assert kept <= set(store.read_text().split() if store.exists() else [])
    done: Crawl = crawl(**options)
    assert done.exit_code == 0, done.log
    assert "Traceback" not in done.log
    stored = store.read_text().split()
    assert {story_of(url) for url in stored} == set(range(STORIES))
    # At least once, and not much more: again only what was stored as the process died.
    assert len(stored) < STORIES + 5 * 4
    assert {urlsplit(url).path for url in stored} <= set(paths)
    assert wrong_with(index, METHODS) == []
    assert sorted(story_of(url) for url, _ in pages_of(index)) == list(range(STORIES))


@pytest.mark.slow
@pytest.mark.parametrize("series", range(2))
def test_10_kills_of_crawls_with_feeds(crawl, site, tmp_path, series):
    """``SIMDEDUP_CONFIRM = "close"``: a story is kept by a run only if that run's feed has it."""
    lay_out(site)
    index = tmp_path / "index.db"
    pick = random.Random(f"feeds {series}")
    feeds: dict[int, Path] = {}

    def options(number: int) -> dict[str, Any]:
        feed = {str(tmp_path / f"feed-{number}.jsonl"): {"format": "jsonlines"}}
        return options_of(SIMDEDUP_CONFIRM="close", FEEDS=feed)

    for number in range(5):
        before = runs_of(index)
        kill_a_crawl(site, tmp_path, pick.uniform(0, 1.2), **options(number))
        if runs_of(index) > before:
            feeds[runs_of(index)] = tmp_path / f"feed-{number}.jsonl"
            assert wrong_with(index, METHODS, settled=False) == []
    done: Crawl = crawl(**options(99))
    assert done.exit_code == 0, done.log
    feeds[runs_of(index)] = tmp_path / "feed-99.jsonl"
    rows = pages_of(index)
    assert sorted(story_of(url) for url, _ in rows) == list(range(STORIES))
    for url, run in rows:
        assert url in {json.loads(line)["url"] for line in feeds[run].read_text().splitlines()}
    assert wrong_with(index, METHODS) == []


def pages_of(index: Path) -> list[tuple[str, int]]:
    return asked(index, "SELECT url, run FROM pages WHERE confirmed")
