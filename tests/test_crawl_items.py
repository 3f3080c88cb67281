"""Items judged by their own fields: of every kind, in flight together, and run after run."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from crawling import MODES, Crawl, linked, needs, start
from texts import page, reworded, story

TEXT = {"SIMDEDUP_ITEM_FIELDS": {"text": "text"}}

pytestmark = pytest.mark.slow


def listing(site, count):
    """Put ``count`` pages without text of their own on the site, linked from ``/``."""
    paths = [f"/p{number}" for number in range(count)]
    for path in paths:
        site.html(path, page("A few words."))
    site.html("/", page("", extra=linked(paths)))
    return paths


@pytest.mark.parametrize("reactor", MODES)
def test_fifty_equal_items_of_one_callback(crawl, site, reactor):
    needs(reactor)
    site.html("/", page("A few words."))
    options = {
        "settings": TEXT,
        "plan": {"/": ["item:50"]},
        "text": story(1),
        "reactor": reactor,
    }
    first: Crawl = crawl(**options)
    assert len(first.scraped) == 1
    assert (first.stat("items/unique"), first.stat("items/duplicate")) == (1, 49)
    assert first.stats["item_dropped_reasons_count/NearDuplicateItem"] == 49
    second = crawl(**options)
    assert second.scraped == first.scraped
    assert (second.stat("items/revisit"), second.stat("items/duplicate")) == (1, 49)
    assert second.stat("items/unique") == 0


def test_fifty_equal_items_of_sixteen_responses(crawl, site):
    paths = listing(site, 16)
    options = {
        "settings": {**TEXT, "CONCURRENT_REQUESTS": 16, "CONCURRENT_REQUESTS_PER_DOMAIN": 16},
        "plan": {"/": ["links"], "*": ["late:0.2", "item:3"]},
        "text": story(1),
    }
    first = crawl(**options)
    assert len(first.scraped) == 1
    assert first.stat("items/unique") == 1
    assert first.stat("items/duplicate") == 3 * len(paths) - 1
    second = crawl(**options)
    assert second.scraped == first.scraped
    assert second.stat("items/unique") == 0
    assert second.stat("items/revisit") == 1


def test_four_processes_keep_one_original(site, tmp_path):
    listing(site, 8)
    options = {
        "settings": {**TEXT, "SIMDEDUP_INDEX": str(tmp_path / "shared.db")},
        "plan": {"/": ["links"], "*": ["item", "late:1"]},
        "text": story(1),
    }
    started = [start([site.url("/")], tmp_path, **options) for _ in range(4)]
    logs = [process.communicate(timeout=120)[0] for process, _ in started]
    seen = [json.loads(out.read_text()) for _, out in started]
    total = Counter()
    for one in seen:
        total.update({k: v for k, v in one["stats"].items() if k.startswith("simdedup/items/")})
    assert total["simdedup/items/unique"] == 1
    # Whoever starts after the others have ended meets the item as one of an earlier run.
    kept = sum(len(one["scraped"]) for one in seen)
    assert kept == 1 + total["simdedup/items/revisit"]
    assert total["simdedup/items/duplicate"] == 32 - kept
    assert not any("Traceback" in log or "locked" in log for log in logs)


@pytest.mark.parametrize(
    "kind", ["dict", "item", "tagged-item", "dataclass", "tagged-dataclass", "attrs", "pydantic"]
)
def test_every_kind_of_item_with_and_without_the_tag_field(crawl, site, kind):
    listing(site, 2)
    done = crawl(
        settings={**TEXT, "SIMDEDUP_ITEM_ACTION": "tag", "SIMDEDUP_TAG_FIELD": "verdict"},
        plan={"/": ["links"]},
        kind=kind,
        text=story(1),
    )
    assert len(done.scraped) == 2
    assert (done.stat("items/unique"), done.stat("items/duplicate")) == (1, 1)
    if kind in ("dict", "tagged-item", "tagged-dataclass"):
        tags = [item["verdict"] for item in done.scraped]
        assert sorted(tag["status"] if tag else "none" for tag in tags) == ["duplicate", "none"]
        assert "cannot take it" not in done.log
    else:
        assert not any(item.get("verdict") for item in done.scraped)
        assert done.log.count("cannot take it") == 1 or done.log.count("cannot take it") == 2


def test_page_verdicts_tag_items(crawl, site):
    site.html("/a", page(story(1)))
    site.html("/b", page(story(1)))
    done = crawl("/a", "/b", settings={"SIMDEDUP_TAG_FIELD": "verdict"})
    tags = [item["verdict"] for item in done.scraped]
    assert sorted(tag["status"] if tag else "none" for tag in tags) == ["duplicate", "none"]


@pytest.mark.parametrize("value", [7, ["", None], {"not": "text"}])
def test_items_without_text_pass(crawl, site, value):
    listing(site, 2)
    done = crawl(settings=TEXT, plan={"/": ["links"]}, text=value)
    assert len(done.scraped) == 2
    assert done.stat("items/skipped/no-field") == 2


@pytest.mark.parametrize("reactor", MODES)
def test_a_later_pipeline_that_drops_the_first_copy(crawl, site, reactor):
    """The second copy is kept: it waits until the first one's claim is settled."""
    needs(reactor)
    site.html("/", page("A few words."))
    done = crawl(
        settings={**TEXT, "ITEM_PIPELINES": {"spiders.DropFirst": 900}},
        plan={"/": ["item:5"]},
        text=story(1),
        reactor=reactor,
    )
    assert len(done.scraped) == 1
    assert done.stats["item_dropped_reasons_count/DropItem"] == 1
    assert done.stat("items/duplicate") == 3
    assert done.stat("items/orphaned") == 0


def test_a_later_pipeline_that_replaces_items(crawl, site):
    site.html("/", page("A few words."))
    options = {
        "settings": {**TEXT, "ITEM_PIPELINES": {"spiders.Replace": 900}},
        "plan": {"/": ["item:5"]},
        "text": story(1),
    }
    first = crawl(**options)
    assert len(first.scraped) == 1
    assert first.stat("index/originals") == 1
    second = crawl(**options)
    assert (second.stat("items/revisit"), second.stat("items/duplicate")) == (1, 4)


def test_an_earlier_pipeline_that_replaces_items(crawl, site):
    listing(site, 3)
    options = {
        "settings": {**TEXT, "ITEM_PIPELINES": {"spiders.Replace": 100}},
        "plan": {"/": ["links"]},
        "text": story(1),
    }
    first = crawl(**options)
    assert len(first.scraped) == 1
    second = crawl(**options)
    assert second.stat("items/revisit") == 1
    assert len(second.scraped) == 1


def test_items_by_key_and_changed_texts(crawl, site):
    site.html("/", page("A few words."))
    settings = {"SIMDEDUP_ITEM_FIELDS": {"text": ["text"], "key": "url"}}
    options = {"settings": settings, "plan": {"/": ["item"]}}
    assert crawl(**options, text=story(1)).stat("items/unique") == 1
    # A corrected text under the same key is a revisit, and replaces its row.
    second = crawl(**options, text=reworded(story(1), 0.02))
    assert (second.stat("items/revisit"), len(second.scraped)) == (1, 1)
    assert second.stat("index/originals") == 1
    # So is another text altogether.
    third = crawl(**options, text=story(2))
    assert (third.stat("items/revisit"), len(third.scraped)) == (1, 1)
    assert third.stat("index/originals") == 1


def test_rules_by_item_class(crawl, site):
    listing(site, 2)
    rules = {"spiders.DataItem": {"text": "text"}}
    options = {"settings": {"SIMDEDUP_ITEM_FIELDS": rules}, "plan": {"/": ["links"]}}
    assert crawl(**options, kind="dataclass", text=story(1)).stat("items/duplicate") == 1
    other = crawl(**options, kind="dict", text=story(1))
    assert len(other.scraped) == 2
    assert not any(name.startswith("simdedup/items/") for name in other.stats)


def test_items_and_pages_never_match_each_other(crawl, site):
    site.html("/", page(story(1)))
    done = crawl(settings=TEXT, plan={"/": ["item"]}, text=story(1))
    assert (done.stat("pages/unique"), done.stat("items/unique")) == (1, 1)


def test_items_from_start(crawl, site):
    site.html("/", page("A few words."))
    options = {
        "spider": "StartItemsSpider",
        "settings": TEXT,
        "text": story(1),
        "plan": {"/": ["late"]},
    }
    first = crawl(**options)
    assert len(first.scraped) == 1
    second = crawl(**options)
    assert len(second.scraped) == 1
    assert second.stat("items/revisit") == 1


def test_html_fields_are_extracted(crawl, site):
    """The two pages differ in all but their main text; items hold the whole HTML."""
    site.html("/a", page(story(1), "One", "plain"))
    site.html("/b", page(story(1), "Two", "wire"))
    done = crawl(
        "/a",
        "/b",
        settings={"SIMDEDUP_ITEM_FIELDS": {"html": "text"}, "SIMDEDUP_CALLBACKS": ["none"]},
    )
    assert len(done.scraped) == 1
    assert done.stat("items/duplicate") == 1
