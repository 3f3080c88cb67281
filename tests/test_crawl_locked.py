"""A lock that is held for longer than a page waits: the crawl goes on, and nothing is lost."""

from __future__ import annotations

import sqlite3

import pytest

from crawling import linked
from texts import page, story

pytestmark = pytest.mark.slow


def test_pages_do_not_queue_up_behind_a_lock(crawl, site):
    paths = [f"/{number}" for number in range(30)]
    for number, path in enumerate(paths):
        site.html(path, page(story(number)))
    site.html("/", page("", extra=linked(paths)))
    done = crawl(
        plan={"/": ["links"]},
        settings={"ADDONS": {"spiders.Locked": 500}, "DOWNLOAD_DELAY": 0.3},
    )
    assert done.exit_code == 0
    assert len(done.scraped) == 30
    # Judged before and after; meanwhile pages go on unjudged, with one error in the log.
    unjudged, kept = done.stat("pages/error"), done.stat("pages/unique")
    assert unjudged >= 3
    assert kept >= 5
    assert unjudged + kept + done.stat("pages/skipped/too-short") == 31
    assert done.log.count("] ERROR:") == 1
    assert "is locked by another program" in done.log
    assert "Traceback" not in done.log
    # What could not be confirmed while the lock was held is confirmed in the end.
    with sqlite3.connect(done.index) as index:
        assert index.execute("SELECT confirmed, count(*) FROM pages GROUP BY 1").fetchall() == [
            (1, kept)
        ]
