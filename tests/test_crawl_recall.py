"""Crawls that meet the same pages again: nothing is analysed, and nothing piles up."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from crawling import Crawl, linked
from scrapy_simdedup import Addon
from scrapy_simdedup.text.extract import extract
from texts import page, reworded, story

#: Written by what is below, in the folder that the crawl runs in.
EXTRACTED, IN_FLIGHT, DONE = "extracted.txt", "in-flight.txt", "done.txt"

pytestmark = pytest.mark.slow


def write_down(name: str, line: object) -> None:
    with Path(name).open("a") as out:
        print(line, file=out, flush=True)


def noting(html: str) -> str:
    """An extractor that writes down each call, in whichever process it is made."""
    write_down(EXTRACTED, html[html.find("<title>") : html.find("</title>")])
    return extract(html).text


def slow(html: str) -> str:
    """An extractor that takes far longer than a page takes to come."""
    time.sleep(0.05)
    return extract(html).text


class Watching(Addon):
    """The add-on; it writes down how many pages are being judged as each one begins."""

    def update_settings(self, settings: Any) -> None:
        super().update_settings(settings)
        session = self._session
        assert session is not None
        judge = session.judge
        waiting = 0

        async def watched(*arguments: Any, **options: Any) -> Any:
            nonlocal waiting
            waiting += 1
            write_down(IN_FLIGHT, waiting)
            try:
                return await judge(*arguments, **options)
            finally:
                waiting -= 1
                write_down(DONE, "")

        session.judge = watched  # type: ignore[method-assign]


def lines(folder: Path, name: str) -> list[str]:
    """What has been written down so far."""
    path = folder / name
    return path.read_text().splitlines() if path.exists() else []


def publish(site: Any) -> list[str]:
    """Put pages on a site: three stories, an equal, a moved and a reworded copy, a short one."""
    for number in range(3):
        site.html(f"/story/{number}", page(story(number), f"story {number}"))
    site.html("/equal", page(story(0), "story 0"))
    site.html("/moved", page(story(1), "moved", "wire"))
    site.html("/reworded", page(reworded(story(2), 0.03), "reworded"))
    site.html("/short", page("The ferry is late again.", "short"))
    return list(site.pages)


@pytest.mark.parametrize(("action", "workers"), [("drop-items", 0), ("drop-items", 1), ("drop", 0)])
def test_unchanged_pages_are_not_analysed_again(crawl, site, tmp_path, action, workers):
    paths = publish(site)
    site.html("/", page("", extra=linked(paths)))
    settings = {
        "SIMDEDUP_ACTION": action,
        "SIMDEDUP_WORKERS": workers,
        "SIMDEDUP_EXTRACTOR": "test_crawl_recall.noting",
    }
    options = {"settings": settings, "plan": {"/": ["links"]}}
    # The originals come first, whatever the order of the answers is later.
    crawl(*paths[:3], settings=settings)
    first: Crawl = crawl(**options)
    assert (first.stat("pages/revisit"), first.stat("pages/duplicate")) == (3, 3), first.log
    told = lines(tmp_path, EXTRACTED)
    # All but the equal copy, which needed no look at all.
    assert len(told) == 7
    again = crawl(**options)
    assert lines(tmp_path, EXTRACTED) == told
    assert (again.stat("pages/revisit"), again.stat("pages/duplicate")) == (3, 3)
    assert again.stat("pages/skipped/too-short") == first.stat("pages/skipped/too-short") == 2
    assert again.paths() == first.paths() == ["/short", *paths[:3]]
    assert again.statuses() == first.statuses()
    assert sorted(again.signals, key=str) == sorted(first.signals, key=str)
    if action == "drop-items":
        assert copies(again) == copies(first)
    # What has changed is all that is looked at.
    site.html("/story/1", page(story(7), "story 7"))
    assert crawl(**options).verdicts["/story/1"]["changed"] is True
    new = lines(tmp_path, EXTRACTED)[len(told) :]
    assert "<title>story 7 | The Harrow Gazette" in new
    # And the copy of what it was before, if it came after it.
    assert set(new) <= {"<title>story 7 | The Harrow Gazette", "<title>Wirepost - moved"}


def copies(done: Crawl) -> dict[str, Any]:
    """The verdicts on the copies as the spider saw them."""
    return {path: done.verdicts[path] for path in ("/equal", "/moved", "/reworded")}


def test_unchanged_items_are_not_analysed_again(crawl, site, tmp_path):
    paths = publish(site)
    site.html("/", page("", extra=linked(paths)))
    settings = {
        "SIMDEDUP_ITEM_FIELDS": {"html": "text"},
        "SIMDEDUP_ITEM_ACTION": "drop",
        "SIMDEDUP_EXTRACTOR": "test_crawl_recall.noting",
        "SIMDEDUP_ACTION": "tag",
    }
    options = {"settings": settings, "plan": {"/": ["links"]}}
    crawl(*paths[:3], settings=settings)
    first = crawl(**options)
    assert first.stat("items/duplicate") == 3, first.log
    told = len(lines(tmp_path, EXTRACTED))
    again = crawl(**options)
    assert len(lines(tmp_path, EXTRACTED)) == told
    assert again.stat("items/revisit") == 3
    assert sorted(item["url"] for _, item in again.dropped) == sorted(
        item["url"] for _, item in first.dropped
    )
    assert len(again.dropped) == 3
    assert again.paths() == first.paths()


class Counted(dict):
    """The pages of a site that compares, as each is asked for, requests and finished pages."""

    def __init__(self, pages: dict[str, Any], folder: Path) -> None:
        super().__init__(pages)
        self.folder = folder
        self.asked = 0
        self.ahead: list[int] = []

    def get(self, path: str, default: Any = None) -> Any:
        found = super().get(path, default)
        if found is not None:
            self.asked += 1
            self.ahead.append(self.asked - len(lines(self.folder, DONE)))
        return found


@pytest.mark.parametrize("reactor", ["asyncio", "select"])
def test_pages_do_not_pile_up_before_the_analysis(crawl, site, tmp_path, reactor):
    """Pages that wait for it count as requests that are under way."""
    paths = [f"/{number}" for number in range(24)]
    for number, path in enumerate(paths):
        site.html(path, page(story(number), path))
    site.html("/", page("", extra=linked(paths)))
    site.pages = Counted(site.pages, tmp_path)
    settings = {
        "ADDONS": {"test_crawl_recall.Watching": 500},
        "CONCURRENT_REQUESTS": 4,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 100,
        "SIMDEDUP_EXTRACTOR": "test_crawl_recall.slow",
    }
    done: Crawl = crawl(settings=settings, plan={"/": ["links"]}, reactor=reactor)
    assert done.stat("pages/unique") == 24, done.log
    in_flight = list(map(int, lines(tmp_path, IN_FLIGHT)))
    assert len(in_flight) == 25
    # As many as are allowed, since the analysis is what everything waits for; and not one more.
    assert max(in_flight) == 4
    assert max(site.pages.ahead) == 4
