"""SIMDEDUP_CLOSE_AFTER: a crawl that meets nothing new ends, once, and loses nothing."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawling import linked, needs
from scrapy_simdedup.config import Config
from scrapy_simdedup.crawl.row import Row
from scrapy_simdedup.verdict import Verdict
from texts import page, story

NOTHING_NEW = [Verdict("duplicate", method="sketch"), Verdict("duplicate", method="same-page")]
KNOWN = Verdict("revisit")
NEW = [Verdict("unique"), Verdict("revisit", changed=True)]
SAYS_NOTHING = [
    Verdict("skipped", "too-short"),
    Verdict("error", "RuntimeError"),
    Verdict("duplicate", "other-text"),
]


@given(
    st.lists(st.sampled_from([None, *NOTHING_NEW, KNOWN, *NEW, *SAYS_NOTHING]), max_size=20),
    st.integers(0, 4),
    st.sampled_from(["ever", "run"]),
    st.data(),
)
def test_a_row_is_full_once_and_only_then(verdicts, limit, since, data):
    """In the order of arrival, as soon as all that arrived before has its verdict."""
    left: set[int] = set()
    full: list[set[int]] = []
    row = Row(
        Config.from_settings({"SIMDEDUP_CLOSE_AFTER": limit, "SIMDEDUP_SINCE": since}),
        lambda: full.append(set(left)),
    )
    places = []
    for _ in verdicts:
        manager = row.place()
        places.append((manager, manager.__enter__()))
    for at in data.draw(st.permutations(range(len(verdicts)))):
        manager, place = places[at]
        place.verdict = verdicts[at]
        left.add(at)
        manager.__exit__(None, None, None)
    # In letters: n for nothing new, w for new, and what says nothing left out.
    nothing_new = [*NOTHING_NEW, KNOWN] if since == "ever" else NOTHING_NEW
    told = [
        ("n" if verdict in nothing_new else "w", at)
        for at, verdict in enumerate(verdicts)
        if verdict not in [None, *SAYS_NOTHING]
    ]
    start = "".join(letter for letter, _ in told).find("n" * limit) if limit else -1
    assert len(full) == (start >= 0)
    if full:
        last = told[start + limit - 1][1]
        assert set(range(last + 1)) <= full[0]


def test_what_fails_leaves_the_row():
    full = []
    row = Row(Config.from_settings({"SIMDEDUP_CLOSE_AFTER": 1}), lambda: full.append(1))
    with pytest.raises(LookupError), row.place():
        raise LookupError
    with row.place() as place:
        place.verdict = KNOWN
    assert full == [1]


SETTINGS = {
    "SIMDEDUP_CLOSE_AFTER": 6,
    "CONCURRENT_REQUESTS": 1,
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
}


def articles(site, *numbers: int) -> list[str]:
    """Set pages with these stories, linked from the front page in this order; return them."""
    paths = [f"/{at}-{number}" for at, number in enumerate(numbers)]
    for path, number in zip(paths, numbers, strict=True):
        site.html(path, page(story(number), path))
    site.html("/", page("", extra=linked(paths)))
    return paths


@pytest.mark.parametrize(
    ("reactor", "workers", "action", "links"),
    [
        ("asyncio", 0, "tag", "links"),
        ("select", 1, "drop-items", "links"),
        # Requests that get the meta of a start page do not become start pages by that.
        ("none", 1, "drop", "heirs"),
        ("asyncio", 0, "drop", "heirs"),
    ],
)
def test_copies_in_a_row(crawl, site, reactor, workers, action, links):
    needs(reactor)
    # One and its three copies, a new one, and copies without end.
    paths = articles(site, 1, 1, 1, 1, 2, *[1] * 20)
    settings = {**SETTINGS, "SIMDEDUP_WORKERS": workers, "SIMDEDUP_ACTION": action}
    done = crawl(settings=settings, plan={"/": [links]}, reactor=reactor)
    assert done.exit_code == 0
    assert done.stats["finish_reason"] == "simdedup_close_after", done.log
    assert done.log.count("nothing new among the last 6") == 1
    assert [path for path in site.asked if path != "/robots.txt"] == ["/", *paths[:11]]
    assert (done.stat("pages/unique"), done.stat("pages/duplicate")) == (2, 9)
    # What was on its way has got through, the page that closed the spider too.
    kept = [paths[0], paths[4]]
    assert done.paths() == sorted(paths[:11] if action == "tag" else kept)
    assert done.stat("index/originals") == 2
    assert "Traceback" not in done.log


def test_an_incremental_crawl_stops_at_what_it_knows(crawl, site, tmp_path):
    """Newest first, many at a time: what is new is fetched, most of what is known is not."""
    known = list(range(10, 60))
    articles(site, *known)
    settings = {**SETTINGS, "CONCURRENT_REQUESTS": 8, "CONCURRENT_REQUESTS_PER_DOMAIN": 8}
    first = crawl(settings=settings, plan={"/": ["links"]})
    assert first.stats["finish_reason"] == "finished"
    assert len(first.scraped) == len(known)
    # Three new ones on top; the pages of the others are at the addresses that they were at.
    fresh = ["/new/1", "/new/2", "/new/3"]
    for number, path in enumerate(fresh):
        site.html(path, page(story(number), path))
    old = [f"/{at}-{number}" for at, number in enumerate(known)]
    site.html("/", page("", extra=linked([*fresh, *old])))
    site.asked.clear()
    again = crawl(settings=settings, plan={"/": ["links"], "*": ["late:0.05", "item"]})
    assert again.stats["finish_reason"] == "simdedup_close_after"
    assert set(fresh) <= set(again.paths())
    assert again.stat("pages/unique") == 3
    assert 6 <= again.stat("pages/revisit") == len(again.scraped) - 3 < len(known)
    assert again.log.count("Closing spider (simdedup_close_after)") == 1
    assert "Traceback" not in again.log
    with sqlite3.connect(again.index) as index:
        open_claims = "SELECT count(*) FROM pages WHERE NOT confirmed OR previous IS NOT NULL"
        assert index.execute(open_claims).fetchone() == (0,)
    # A full recrawl wants the known ones too.
    full = crawl(settings={**settings, "SIMDEDUP_SINCE": "run"}, plan={"/": ["links"]})
    assert full.stats["finish_reason"] == "finished"
    assert full.stat("pages/revisit") == len(known) + 3


def test_known_pages_do_not_get_ahead_of_new_ones(crawl, site):
    """A new page takes its time, while those behind it are recognised at once."""
    known = articles(site, *range(1, 9))
    settings = {
        **SETTINGS,
        "SIMDEDUP_CLOSE_AFTER": 8,
        "SIMDEDUP_EXTRACTOR": "spiders.take_time",
        "CONCURRENT_REQUESTS": 2,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 2,
    }
    crawl(settings=settings, plan={"/": ["links"]})
    site.html("/new", page(story(50), "Take your time"))
    site.html("/", page("", extra=linked([*known[:3], "/new", *known[3:]])))
    done = crawl(settings=settings, plan={"/": ["links"]})
    assert (done.stat("pages/revisit"), done.stat("pages/unique")) == (8, 1)
    assert done.stats["finish_reason"] == "finished"


def test_start_pages_do_not_count(crawl, site):
    paths = articles(site, *[1] * 9)
    done = crawl(*paths, settings=SETTINGS, plan={"*": ["item"]})
    assert done.stat("pages/duplicate") == 8
    assert done.stats["finish_reason"] == "finished"


def test_items_count_as_pages_do(crawl, site):
    """The pages are new, but as start pages they say nothing; their items are all one."""
    done = crawl(
        *articles(site, *range(20)),
        settings={**SETTINGS, "SIMDEDUP_ITEM_FIELDS": {"text": "text"}},
        plan={"*": ["item"]},
        text=story(99),
        in_turn=True,
    )
    assert done.stats["finish_reason"] == "simdedup_close_after"
    assert done.stat("pages/unique") == 7
    assert (done.stat("items/unique"), done.stat("items/duplicate")) == (1, 6)
