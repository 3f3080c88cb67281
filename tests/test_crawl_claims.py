"""Claims: every line of the table of what becomes of a page, seen in the next copy's verdict."""

from __future__ import annotations

import pytest

from texts import page, story

DROP_ITEMS = {"SIMDEDUP_ACTION": "drop-items"}

pytestmark = pytest.mark.slow


@pytest.fixture
def pair(site):
    """Two pages with one text: ``/a``, which a test lets something happen to, and ``/b``."""
    site.html("/a", page(story(1)))
    site.html("/b", page(story(1), "Copy", "wire"))
    return site


def then(crawl, pair, acts, **options):
    """Crawl ``/a`` with these acts; when all of it is over, ``/b``; and return the crawl."""
    settings = {**DROP_ITEMS, **options.pop("settings", {})}
    plan = {"/a": acts, "/b": ["item"]}
    return crawl("/a", "/b", settings=settings, plan=plan, in_turn=True, **options)


CONFIRMED = {
    "an item was scraped": (["item"], {}),
    "several items were scraped": (["item:7"], {}),
    "an item was scraped late": (["late", "item"], {}),
    "no items, ended well": ([], {}),
    "no items, another page chained": (["chain:/elsewhere"], {}),
    "scraped, and asked for again": (["item", "retry"], {}),
}

RELEASED = {
    "the callback raised": (["raise"], {}),
    "the callback raised after an item": (["item", "raise"], {}),
    "the callback raised late": (["item", "late", "raise"], {}),
    "an item met an error": (["item"], {"ITEM_PIPELINES": {"spiders.BreakFirst": 900}}),
    "one of three items met an error": (
        ["item:3"],
        {"ITEM_PIPELINES": {"spiders.BreakFirst": 900}},
    ),
    "its only item was dropped": (["item"], {"ITEM_PIPELINES": {"spiders.DropFirst": 900}}),
    "its only item was dropped early": (["item"], {"ITEM_PIPELINES": {"spiders.DropFirst": 100}}),
}


@pytest.mark.parametrize("why", CONFIRMED)
def test_confirmed(crawl, pair, why):
    acts, settings = CONFIRMED[why]
    pair.html("/elsewhere", page(story(2)))
    done = then(crawl, pair, acts, settings=settings)
    assert done.verdicts["/b"]["status"] == "duplicate", done.log
    assert done.verdicts["/b"]["original"] == pair.url("/a")
    assert "/b" not in done.paths()
    assert done.stat("pages/orphaned") == 0


@pytest.mark.parametrize("why", RELEASED)
def test_released(crawl, pair, why):
    acts, settings = RELEASED[why]
    done = then(crawl, pair, acts, settings=settings)
    assert done.verdicts["/b"]["status"] == "unique", done.log
    assert "/b" in done.paths()
    assert done.stat("pages/orphaned") == 0


def test_one_of_several_items_was_scraped(crawl, pair):
    pipelines = {"ITEM_PIPELINES": {"spiders.DropFirst": 900}}
    done = then(crawl, pair, ["item:3"], settings=pipelines)
    assert done.verdicts["/b"]["status"] == "duplicate"


def test_all_its_items_were_dropped_by_us(crawl, pair):
    """The page is new, but its item copies another page's: that is no reason to forget it."""
    pair.html("/zero", page(story(5)))
    done = crawl(
        "/zero",
        "/a",
        "/b",
        settings={**DROP_ITEMS, "SIMDEDUP_ITEM_FIELDS": {"text": "text"}},
        plan={"*": ["item"]},
        text=story(9),
        in_turn=True,
    )
    assert done.paths() == ["/zero"]
    assert done.verdicts["/a"]["status"] == "unique"
    assert done.verdicts["/b"]["status"] == "duplicate"


def test_a_ban_page_that_is_asked_for_again(crawl, site):
    """Its callback yields the same request again, and no items: nobody's original."""
    site.html("/a", page(story(1)))
    site.html("/b", page(story(1)))
    done = then(crawl, site, ["retry", "item"])
    # The second try is unique again, and it is what /b copies.
    assert [row["status"] for row in done.decisions()] == ["unique", "unique", "duplicate"]
    assert done.decisions()[2]["original"] == site.url("/a")
    assert done.paths() == ["/a"]


def test_settled_by_count_when_a_pipeline_replaces_the_items(crawl, pair):
    pipelines = {"ITEM_PIPELINES": {"spiders.Replace": 500}}
    done = then(crawl, pair, ["item:5"], settings=pipelines)
    assert done.verdicts["/b"]["status"] == "duplicate"
    assert all(item["made_anew"] for item in done.scraped)


def test_a_handled_exception_releases_if_nobody_recovers(crawl, pair):
    done = then(crawl, pair, ["raise-at-once"], spider="SyncSpider")
    assert done.verdicts["/b"]["status"] == "unique"
    done = then(
        crawl, pair, ["item", "raise"], spider="SyncSpider", settings={"SIMDEDUP_RESET": True}
    )
    assert done.verdicts["/b"]["status"] == "unique"


def test_a_copy_in_flight_becomes_an_orphan(crawl, site, tmp_path):
    """/b is refused while /a is open; then /a's callback raises."""
    site.html("/a", page(story(1)))
    site.html("/b", page(story(1)))
    done = crawl(
        "/a",
        "/b",
        settings={"SIMDEDUP_ACTION": "drop-items", "CONCURRENT_REQUESTS": 2},
        plan={"/a": ["late:1.5", "raise"], "/b": ["late:1.5", "raise"]},
    )
    statuses = sorted(row["status"] for row in done.decisions())
    assert statuses == ["orphaned", "unique"]
    assert done.stat("pages/orphaned") == 1
    assert done.log.count("copies were refused because of pages that were not stored") == 1
    listed = f"scrapy simdedup export --index {tmp_path / 'index.db'} --status orphaned"
    assert listed in done.log
    assert done.stat("index/originals") == 0


@pytest.mark.parametrize("workers", [0, 1])
def test_a_page_met_twice_at_a_time_keeps_its_items(crawl, site, workers):
    """The second request is a revisit of a claim that then comes to nothing."""
    site.html("/a", page(story(1)))
    settings = {"SIMDEDUP_REVISIT_ACTION": "drop-items", "SIMDEDUP_WORKERS": workers}
    plan = {"/a": ["first-raises", "item"]}
    done = crawl("/a", "/a", settings=settings, plan=plan)
    assert (done.stat("pages/unique"), done.stat("pages/revisit")) == (1, 1)
    assert done.flags["/a"] == ["revisit"]
    assert done.paths() == ["/a"], done.log
    # Once it is stored, it loses them.
    assert crawl("/a", settings=settings).paths() == ["/a"]
    assert crawl("/a", settings=settings).paths() == []


def test_open_at_close_is_released(crawl, site):
    """The spider is closed before a page's items got through."""
    site.html("/a", page(story(1)))
    site.html("/b", page(story(2)))
    done = crawl("/a", "/b", plan={"/a": ["close"]}, settings=DROP_ITEMS, in_turn=True)
    assert done.exit_code == 0
    assert done.statuses()["/a"] == "unique"
    again = crawl("/a", settings=DROP_ITEMS)
    assert again.verdicts["/a"]["status"] == "unique"
