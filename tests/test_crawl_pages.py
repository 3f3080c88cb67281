"""Pages while a crawl runs: judged once each, tagged or dropped, links followed."""

from __future__ import annotations

import gzip
from collections import Counter

import pytest

from crawling import MODES, Answer, Crawl, Site, linked, needs
from texts import page, reworded, story


def group(site: Site, copies: int = 3, stories: int = 4) -> list[str]:
    """Put ``stories`` groups of ``copies`` equal texts on the site, linked from ``/``."""
    paths = []
    for number in range(stories):
        for copy in range(copies):
            path = f"/{number}/{copy}"
            template = "wire" if copy % 2 else "plain"
            site.html(path, page(story(number), f"Story {number}.{copy}", template))
            paths.append(path)
    site.html("/", page("", "Index", extra=linked(paths)))
    return paths


@pytest.mark.parametrize("reactor", MODES)
def test_drop_items_keeps_one_of_each_group(crawl, site, reactor):
    needs(reactor)
    paths = group(site)
    done: Crawl = crawl(
        reactor=reactor, settings={"SIMDEDUP_ACTION": "drop-items", "SIMDEDUP_WORKERS": "auto"}
    )
    assert done.exit_code == 0, done.log
    # One decision for each page, one original for each group, the items of the others dropped.
    decisions = done.decisions()
    assert Counter(row["url"] for row in decisions).most_common(1)[0][1] == 1
    assert {row["url"] for row in decisions} == {site.url(path) for path in ["/", *paths]}
    originals = [row for row in decisions if row["status"] == "unique"]
    assert sorted(row["url"].split("/")[3] for row in originals) == ["0", "1", "2", "3"]
    copies = {row["url"]: row["original"] for row in decisions if row["status"] == "duplicate"}
    assert all(url.split("/")[3] == original.split("/")[3] for url, original in copies.items())
    assert {item["url"] for _, item in done.dropped} == set(copies)
    assert {name for name, _ in done.dropped} == {"NearDuplicateItem"}
    # Every page came to the spider, and Scrapy's own stats tell of the drops.
    assert sorted(done.called) == sorted(["/", *paths])
    assert done.stats["item_dropped_reasons_count/NearDuplicateItem"] == len(copies)
    assert done.stat("pages/duplicate") == done.stat("items/dropped") == len(copies) == 8
    assert done.stat("index/originals") == 4
    assert len(done.signals) == 8
    assert "Traceback" not in done.log


def test_tag_leaves_items_and_marks_responses(crawl, site):
    group(site, copies=2, stories=1)
    done = crawl()
    assert len(done.scraped) == 3
    tagged = [path for path, flags in done.flags.items() if flags == ["near-duplicate"]]
    assert len(tagged) == 1
    verdict = done.verdicts[tagged[0]]
    (original,) = {"/0/0", "/0/1"} - set(tagged)
    assert verdict["status"] == "duplicate"
    assert verdict["original"] == verdict["nearest"] == site.url(original)
    assert verdict["distance"] <= 64
    assert 0.9 < verdict["resemblance"] <= 1
    assert 0.9 < verdict["containment"] <= 1
    assert verdict["method"] in ("simhash", "sketch")
    assert done.verdicts[original]["status"] == "unique"
    assert f"Near-duplicate of {site.url(original)}" in done.log
    assert "['near-duplicate']" in done.log


def test_drop_ends_in_the_errback_and_spares_start_requests(crawl, site):
    site.html("/a", page(story(1), extra=linked(["/b"])))
    site.html("/b", page(story(1), "again", extra=linked(["/never"])))
    site.html("/c", page(story(1), "start", extra=linked(["/d"])))
    site.html("/d", page(story(2)))
    done = crawl("/a", "/c", settings={"SIMDEDUP_ACTION": "drop", "CONCURRENT_REQUESTS": 1})
    # /b went no further than the errback, and its links are lost.
    assert done.errbacks == [["NearDuplicateResponse", site.url("/a")]]
    assert "/b" not in done.called
    assert "/never" not in site.asked
    assert done.stat("pages/dropped") == 1
    # A start request keeps its links and loses its items.
    assert "/c" in done.called
    assert done.paths() == ["/a", "/d"]


def test_what_is_not_judged(crawl, site):
    wall = page(story(3), "Wall")
    site.html("/robots.txt", wall)
    site.html(
        "/",
        page(story(1), extra=linked(["/missing", "/pdf", "/json", "/feed", "/octet", "/empty"])),
    )
    site.html("/missing", wall, status=404)
    site.pages["/pdf"] = Answer(b"%PDF-1.4 not really", content_type="application/pdf")
    site.pages["/json"] = Answer(b'{"a": 1}', content_type="application/json")
    site.pages["/feed"] = Answer(b"<?xml version='1.0'?><rss></rss>", content_type="text/xml")
    site.pages["/octet"] = Answer(wall.encode(), content_type="application/octet-stream")
    site.pages["/empty"] = Answer(b"", content_type="")
    done = crawl(
        settings={"ROBOTSTXT_OBEY": True, "HTTPERROR_ALLOW_ALL": True},
        plan={"/": ["item", "links", "head:/head", "inline:/inline"]},
    )
    site.html("/head", wall)
    reasons = {
        name.removeprefix("simdedup/pages/skipped/"): count
        for name, count in done.stats.items()
        if name.startswith("simdedup/pages/skipped/")
    }
    assert reasons == {"no-callback": 1, "inline": 1, "head": 1, "status": 1, "not-html": 5}
    assert done.stat("pages/unique") == 1
    assert done.stat("pages/duplicate") == done.stat("pages/error") == 0
    statuses = done.statuses()
    assert statuses["/"] == "unique"
    assert {statuses[path] for path in ("/missing", "/pdf", "/json", "/feed", "/octet")} == {
        "skipped"
    }
    assert "/robots.txt" not in statuses
    assert "/inline" not in statuses


def test_callbacks_meta_and_overrides(crawl, site):
    site.html("/", page(story(1), extra=linked(["/same"])))
    site.html("/same", page(story(1)))
    done = crawl(plan={"/": ["item", "opt-out"]})
    assert done.stat("pages/skipped/meta") == 1
    assert done.stat("pages/duplicate") == 0
    done = crawl(settings={"SIMDEDUP_CALLBACKS": ["parse_chained"], "SIMDEDUP_RESET": True})
    assert done.stat("pages/skipped/callback") == 2
    done = crawl(
        settings={"SIMDEDUP_CALLBACKS": "parse_chained", "SIMDEDUP_RESET": True},
        plan={"/": ["chain:/same"]},
    )
    assert done.stat("pages/unique") == 1
    assert done.statuses() == {"/same": "unique"}


def test_short_and_empty_pages_are_skipped_and_never_match(crawl, site):
    for path in ("/a", "/b"):
        site.html(path, page("Sorry, this is not here any more."))
    site.html("/c", "<html><body></body></html>")
    site.html("/d", "<html><body></body></html>")
    done = crawl("/a", "/b", "/c", "/d")
    assert done.stat("pages/skipped/too-short") == 2
    assert done.stat("pages/skipped/no-text") == 2
    assert done.stat("index/originals") == 0
    assert len(done.scraped) == 4


def test_a_failure_of_ours_lets_the_page_through(crawl, site):
    site.html("/", page(story(1), extra=linked(["/b", "/c"])))
    site.html("/b", page(story(1)))
    site.html("/c", page(story(1)))
    done = crawl(
        settings={"SIMDEDUP_EXTRACTOR": "spiders.explode", "SIMDEDUP_ACTION": "drop"},
    )
    assert len(done.scraped) == 3
    assert done.stat("pages/error") == done.stat("errors") == 3
    assert done.log.count("Traceback") == 1
    assert done.verdicts["/"]["status"] == "error"
    logged = {(row["status"], row["reason"]) for row in done.decisions()}
    assert logged == {("error", "RuntimeError")}


def test_compressed_pages_and_a_wrong_order(crawl, site):
    body = gzip.compress(page(story(1)).encode())
    site.pages["/"] = Answer(body, headers={"Content-Encoding": "gzip"})
    assert crawl().stat("pages/unique") == 1
    done = crawl(
        settings={
            "DOWNLOADER_MIDDLEWARES": {"scrapy_simdedup.SimDedupDownloaderMiddleware": 610},
            "SIMDEDUP_RESET": True,
        }
    )
    assert done.stat("pages/skipped/not-text") == 1
    assert done.log.count("must have an order below") == 1


def test_components_by_hand_without_the_add_on(crawl, site):
    group(site, copies=2, stories=2)
    done = crawl(
        settings={
            "ADDONS": {},
            "DOWNLOADER_MIDDLEWARES": {"scrapy_simdedup.SimDedupDownloaderMiddleware": 90},
            "SPIDER_MIDDLEWARES": {"scrapy_simdedup.SimDedupSpiderMiddleware": 10},
            "ITEM_PIPELINES": {"scrapy_simdedup.SimDedupPipeline": 300},
            "SIMDEDUP_ACTION": "drop-items",
        }
    )
    assert done.stat("pages/unique") == done.stat("pages/duplicate") == 2
    assert len(done.scraped) == 3
    alone = crawl(
        settings={
            "ADDONS": {},
            "DOWNLOADER_MIDDLEWARES": {"scrapy_simdedup.SimDedupDownloaderMiddleware": 90},
            "SIMDEDUP_RESET": True,
        }
    )
    assert alone.stat("pages/unique") == alone.stat("pages/duplicate") == 2
    assert alone.stat("index/originals") == 2
    assert "SimDedupSpiderMiddleware is not enabled" in alone.log


def test_disabled_and_untouched(crawl, site):
    group(site, copies=2, stories=1)
    done = crawl(settings={"SIMDEDUP_ENABLED": "0"})
    assert not any(name.startswith("simdedup/") for name in done.stats)
    assert not done.index.exists()
    assert len(done.scraped) == 3


def test_no_page_text_in_the_log(crawl, site):
    group(site, copies=3, stories=1)
    done = crawl(settings={"SIMDEDUP_ACTION": "drop-items", "LOG_FORMATTER": "spiders.Quiet"})
    words = story(0).split()
    assert done.stat("items/dropped") == 2
    assert " ".join(words[:6]) not in done.log
    # One at the start, three at the end.
    assert done.log.count("scrapy-simdedup: ") == 4


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"SIMDEDUP_MAX_DISTANCE": "abc"}, "SIMDEDUP_MAX_DISTANCE is 'abc'"),
        ({"SIMDEDUP_MAX_DISTANCE": 99}, "0 to 64 bits"),
        ({"SIMDEDUP_ACTION": "remove"}, "`tag`, `drop-items` or `drop`"),
        ({"SIMDEDUP_INDEX": "redis://localhost"}, "no store for this kind of address"),
    ],
)
def test_bad_settings_stop_the_crawl_at_the_start(crawl, site, settings, told):
    site.html("/", page(story(1)))
    done = crawl(settings=settings)
    assert done.exit_code == 1
    assert told in done.log
    assert not site.asked


def test_an_unknown_setting_is_a_warning_with_the_nearest_name(crawl, site):
    site.html("/", page(story(1)))
    done = crawl(settings={"SIMDEDUP_MAX_DISTANSE": 5})
    assert done.exit_code == 0
    assert "unknown setting SIMDEDUP_MAX_DISTANSE: SIMDEDUP_MAX_DISTANCE?" in done.log


def test_an_unusable_index_stops_the_crawl_and_stays_as_it_is(crawl, site, tmp_path):
    site.html("/", page(story(1)))
    path = tmp_path / "index.db"
    path.write_bytes(b"something else entirely, and longer than a header" * 9)
    before = path.read_bytes()
    done = crawl()
    assert done.exit_code == 1
    assert str(path) in done.log
    assert path.read_bytes() == before
    assert not site.asked


def test_thresholds_and_actions_by_request(crawl, site):
    site.html("/", page(story(1), extra=linked(["/near"])))
    site.html("/near", page(reworded(story(1), 0.05)))
    near = {"/": ["item", 'options:{"min_resemblance": 0.99}'], "/near": ["item"]}
    done = crawl(plan=near)
    assert done.verdicts["/near"]["status"] == "unique"
    assert done.verdicts["/near"]["nearest"] == site.url("/")
    dropped = {"/": ["item", 'options:{"action": "drop-items"}'], "/near": ["item"]}
    done = crawl(plan=dropped, settings={"SIMDEDUP_RESET": True})
    assert done.verdicts["/near"]["status"] == "duplicate"
    assert done.paths() == ["/"]
    wrong = {"/": ["item", 'options:{"scope": "site"}'], "/near": ["item"]}
    done = crawl(plan=wrong, settings={"SIMDEDUP_RESET": True})
    assert done.verdicts["/near"]["status"] == "error"
    assert len(done.scraped) == 2
    assert "a request can set" in done.log


def test_doubtful_copies_are_tagged_and_never_dropped(crawl, site):
    """Two listings whose text is nearly all links: the same, or the wrong text?"""
    links = "".join(f"<li><a href='/{n}'>{story(50 + n, 14)}</a></li>" for n in range(12))
    for path in ("/a", "/b"):
        site.html(path, f"<html><body><main><h1>Today</h1><ul>{links}</ul></main></body></html>")
    done = crawl("/a", "/b", settings={"SIMDEDUP_ACTION": "drop-items"}, in_turn=True)
    assert (done.verdicts["/b"]["status"], done.verdicts["/b"]["reason"]) == ("duplicate", "links")
    assert done.flags["/b"] == ["near-duplicate"]
    assert done.paths() == ["/a", "/b"]


def test_a_login_wall_is_named_once(crawl, site):
    paths = [f"/members/{number}" for number in range(40)]
    for path in paths:
        site.html(path, page(story(1)))
    site.html("/", page("", extra=linked(paths)))
    done = crawl(settings={"SIMDEDUP_ACTION": "drop-items"}, plan={"/": ["links"]})
    assert done.stat("pages/duplicate") == 39
    assert done.log.count("is it a login wall") == 1
    assert "25 pages are copies of" in done.log


def test_a_run_of_copies_is_told_at_the_end(crawl, site):
    paths = [f"/{group}/{copy}" for group in range(10) for copy in range(12)]
    for path in paths:
        site.html(path, page(story(int(path.split("/")[1]))))
    site.html("/", page("", extra=linked(paths)))
    done = crawl(plan={"/": ["links"]})
    assert "110 of 120 pages and items are copies" in done.log
    assert "is it a login wall" not in done.log
