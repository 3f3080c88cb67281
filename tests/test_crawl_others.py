"""Crawls of other shapes: rules, two spiders in a process, early closes, a full disk."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import textwrap

import pytest

from crawling import HERE, linked
from texts import page, story

pytestmark = pytest.mark.slow


def test_callbacks_of_rules_go_by_their_own_names(crawl, site):
    for number in range(3):
        site.html(f"/story/{number}", page(story(1)))
    more = "".join(f'<a href="/story/{number}">{number}</a>' for number in range(3))
    site.html("/list/1", page(story(7), extra=more))
    site.html("/", page(story(8), extra='<a href="/list/1">more</a>'))
    done = crawl(
        spider="RuleSpider",
        settings={"SIMDEDUP_ACTION": "drop-items", "SIMDEDUP_CALLBACKS": ["parse_story"]},
    )
    assert len(done.scraped) == 1
    assert (done.stat("pages/unique"), done.stat("pages/duplicate")) == (1, 2)
    assert done.stat("pages/skipped/callback") == 2


def test_two_spiders_in_one_process_share_an_index(site, tmp_path):
    for name in ("a", "b"):
        site.html(f"/{name}", page(story(1)))
    script = f"""
        import json, sys
        sys.path.insert(0, {str(HERE)!r})
        import scrapy
        from scrapy.crawler import CrawlerProcess
        found = []

        class One(scrapy.Spider):
            name = "one"
            start_urls = [{site.url("/a")!r}]
            def parse(self, response):
                found.append(response.meta["simdedup_verdict"]["status"])
                yield {{"url": response.url}}

        class Two(One):
            name = "two"
            start_urls = [{site.url("/b")!r}]

        process = CrawlerProcess({{
            "ADDONS": {{"scrapy_simdedup.Addon": 500}},
            "SIMDEDUP_INDEX": {str(tmp_path / "shared.db")!r},
            "TELNETCONSOLE_ENABLED": False,
        }})
        process.crawl(One)
        process.crawl(Two)
        process.start()
        print(json.dumps(sorted(found)))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        cwd=HERE.parent,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert json.loads(done.stdout.splitlines()[-1]) == ["duplicate", "unique"], done.stderr
    assert "Traceback" not in done.stderr
    assert "locked" not in done.stderr
    assert not list(tmp_path.glob("*-run-*"))


def test_a_crawl_in_a_thread(site, tmp_path):
    """Where no signal can be handled: neither a time limit nor anything else of ours needs one."""
    site.html("/a", page(story(1)))
    script = f"""
        import threading
        import scrapy
        from scrapy.utils.reactor import install_reactor
        install_reactor("twisted.internet.selectreactor.SelectReactor")
        from scrapy.crawler import CrawlerRunner
        from twisted.internet import reactor

        class One(scrapy.Spider):
            name = "one"
            start_urls = [{site.url("/a")!r}]
            def parse(self, response):
                print(response.meta["simdedup_verdict"]["status"])

        def crawl():
            runner = CrawlerRunner({{
                "ADDONS": {{"scrapy_simdedup.Addon": 500}},
                "SIMDEDUP_INDEX": {str(tmp_path / "index.db")!r},
                "SIMDEDUP_WORKERS": 1,
                "TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor",
                "TELNETCONSOLE_ENABLED": False,
            }})
            runner.crawl(One).addBoth(lambda _: reactor.stop())
            reactor.run(installSignalHandlers=False)

        thread = threading.Thread(target=crawl)
        thread.start()
        thread.join()
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        cwd=HERE.parent,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "unique\n", done.stderr
    with sqlite3.connect(tmp_path / "index.db") as index:
        assert index.execute("SELECT status FROM runs").fetchall() == [("finished",)]


@pytest.mark.parametrize("reactor", ["asyncio", "select"])
def test_closing_with_look_ups_in_flight(crawl, site, reactor):
    """All are answered or passed on, none meets a closed database."""
    paths = [f"/{number}" for number in range(60)]
    for number, path in enumerate(paths):
        site.html(path, page(story(number)))
    site.html("/", page("", extra=linked(paths)))
    done = crawl(
        settings={
            "CLOSESPIDER_ITEMCOUNT": 1,
            "CONCURRENT_REQUESTS": 32,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 32,
            "SIMDEDUP_ITEM_FIELDS": {"html": "text"},
        },
        plan={"/": ["links"]},
        reactor=reactor,
    )
    assert done.exit_code == 0
    assert "Traceback" not in done.log, done.log
    with sqlite3.connect(done.index) as index:
        assert index.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert index.execute("SELECT count(*) FROM pages WHERE NOT confirmed").fetchone() == (0,)
        pages = index.execute("SELECT count(*) FROM pages").fetchone()[0]
    assert pages == done.stat("index/originals") > 0


def test_a_disk_that_fills_up_does_not_end_the_crawl(crawl, site):
    """Pages go on unjudged; one error, a stat, and a sound index afterwards."""
    paths = [f"/{number}" for number in range(60)]
    for number, path in enumerate(paths):
        site.html(path, page(story(number)))
    site.html("/", page("", extra=linked(paths)))
    done = crawl(plan={"/": ["links"]}, settings={"ADDONS": {"spiders.FullDisk": 500}})
    assert done.exit_code == 0
    assert len(done.scraped) == 60
    assert done.stat("pages/error") > 20
    assert done.stat("pages/unique") > 0
    assert done.log.count("Traceback") == 1
    assert "database or disk is full" in done.log
    with sqlite3.connect(done.index) as index:
        assert index.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_the_same_items_come_out_of_the_http_cache(crawl, site, tmp_path):
    paths = [f"/{number}" for number in range(6)]
    for number, path in enumerate(paths):
        site.html(path, page(story(number // 2), path))
    site.html("/", page("", extra=linked(paths)))
    settings = {
        "SIMDEDUP_ACTION": "drop-items",
        "HTTPCACHE_ENABLED": True,
        "HTTPCACHE_DIR": str(tmp_path / "cache"),
    }
    first = crawl(settings=settings, plan={"/": ["links"]})
    asked = len(site.asked)
    second = crawl(settings=settings, plan={"/": ["links"]})
    assert len(site.asked) == asked
    assert second.paths() == first.paths()
    assert (second.stat("pages/revisit"), second.stat("pages/duplicate")) == (3, 3)


def test_settings_of_the_spider_win(crawl, site):
    site.html("/a", page(story(1)))
    site.html("/b", page(story(1)))
    done = crawl("/a", "/b", spider="TunedSpider", settings={"SIMDEDUP_ACTION": "tag"})
    assert done.paths() in (["/a"], ["/b"])
    assert "duplicate pages: drop-items" in done.log


def test_an_index_that_vanishes_after_the_start(crawl, site):
    """It cannot be opened when the first page comes: pages go on, and are not slowed down."""
    paths = [f"/{number}" for number in range(20)]
    for number, path in enumerate(paths):
        site.html(path, page(story(number)))
    site.html("/", page("", extra=linked(paths)))
    done = crawl(plan={"/": ["links"]}, settings={"ADDONS": {"spiders.NoPlace": 500}})
    assert done.exit_code == 0
    assert len(done.scraped) == 20
    assert done.stat("pages/error") == 21
    assert done.log.count("Traceback") == 1
    assert not done.index.exists()
