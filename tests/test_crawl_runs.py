"""Run after run: revisits, redirects, full recrawls, kills, resumed jobs, exports."""

from __future__ import annotations

import csv
import gzip
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from crawling import Crawl, linked, start
from invariants import wrong_with
from texts import page, reworded, story

DROP_ITEMS = {"SIMDEDUP_ACTION": "drop-items"}
METHODS = ("simhash", "sketch")

pytestmark = pytest.mark.slow


def test_a_second_run_revisits_and_logs_nothing_new(crawl, site):
    for name in ("a", "b", "c"):
        site.html(f"/{name}", page(story(1 if name == "b" else ord(name)), name))
    site.html("/copy", page(story(1), "copy", "wire"))
    paths = ("/a", "/b", "/c", "/copy")
    first: Crawl = crawl(*paths, settings=DROP_ITEMS, in_turn=True)
    assert first.stat("pages/unique") == 3
    # In another order: the copy is a copy still, and the output is the same.
    second = crawl(*reversed(paths), settings=DROP_ITEMS, in_turn=True)
    assert second.stat("pages/revisit") == 3
    assert second.stat("pages/duplicate") == 1
    assert second.verdicts["/copy"]["original"] == site.url("/b")
    assert second.paths() == first.paths() == ["/a", "/b", "/c"]
    assert [row["status"] for row in second.decisions()] == ["unique"] * 3 + ["duplicate"] * 2
    with sqlite3.connect(second.index) as index:
        assert index.execute("SELECT DISTINCT visits FROM pages").fetchall() == [(2,)]


def test_revisit_action(crawl, site):
    site.html("/a", page(story(1)))
    crawl("/a")
    tagged = crawl("/a", settings={"SIMDEDUP_REVISIT_ACTION": "tag"})
    assert tagged.flags["/a"] == ["revisit"]
    assert len(tagged.scraped) == 1
    dropped = crawl("/a", settings={"SIMDEDUP_REVISIT_ACTION": "drop-items"})
    assert dropped.scraped == []
    site.html("/a", page(story(2)))
    changed = crawl("/a", settings={"SIMDEDUP_REVISIT_ACTION": "drop-items"})
    assert changed.verdicts["/a"]["changed"] is True
    assert len(changed.scraped) == 1


def test_a_changed_page_replaces_its_row(crawl, site):
    site.html("/a", page(story(1)))
    crawl("/a")
    site.html("/a", page(reworded(story(1), 0.03)))
    done = crawl("/a")
    assert done.verdicts["/a"]["status"] == "revisit"
    assert done.stat("index/originals") == 1
    # Its old text is nobody's any more; a page that has it is new unless it is near.
    site.html("/a", page(story(2)))
    crawl("/a")
    site.html("/old", page(story(1)))
    assert crawl("/old").verdicts["/old"]["status"] == "unique"
    # And a page that turns into another one's copy is a duplicate.
    site.html("/a", page(story(1), "copy"))
    turned = crawl("/a").verdicts["/a"]
    assert (turned["status"], turned["original"]) == ("duplicate", site.url("/old"))


def test_a_changed_page_whose_callback_fails_keeps_its_row(crawl, site):
    site.html("/a", page(story(1)))
    crawl("/a")
    site.html("/a", page(story(2)))
    crawl("/a", plan={"/a": ["raise"]})
    site.html("/b", page(story(1)))
    assert crawl("/b").verdicts["/b"]["original"] == site.url("/a")


def test_many_urls_redirected_to_one_page(crawl, site):
    site.html("/login", page(story(1)))
    products = [f"/product/{number}" for number in range(6)]
    for path in products:
        site.redirect(path, "/login")
    site.html("/", page("", extra=linked(products)))
    # Redirects arrive at one URL, which Scrapy's own filter would stop at the second one.
    settings = {**DROP_ITEMS, "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter"}
    for number in range(2):
        done = crawl(settings=settings, plan={"/": ["links"]})
        status = "unique" if number == 0 else "revisit"
        assert done.stat(f"pages/{status}") == 1
        assert done.stat("pages/duplicate") == 5
        assert len(done.scraped) == 1
        methods = {row["method"] for row in done.decisions() if row["status"] == "duplicate"}
        assert methods == {"same-page"}


def test_an_address_that_redirects_is_the_same_page_next_time(crawl, site):
    site.html("/new", page(story(1)))
    site.redirect("/old", "/new")
    assert crawl("/old").verdicts["/new"]["status"] == "unique"
    assert crawl("/new").verdicts["/new"]["status"] == "revisit"
    assert crawl("/old").verdicts["/new"]["status"] == "revisit"


def test_full_recrawls_judge_against_this_run_alone(crawl, site):
    site.html("/a", page(story(1)))
    site.html("/b", page(story(1), "copy", "wire"))
    settings = {**DROP_ITEMS, "SIMDEDUP_SINCE": "run"}
    first = crawl("/a", "/b", settings=settings, in_turn=True)
    assert first.paths() == ["/a"]
    # The other way round: this time /b comes first, and /a is its copy.
    second = crawl("/b", "/a", settings=settings, in_turn=True)
    assert second.paths() == ["/b"]
    assert second.verdicts["/a"]["original"] == site.url("/b")
    third = crawl("/a", "/b", settings=settings, in_turn=True)
    assert third.paths() == ["/a"]
    assert third.verdicts["/a"]["status"] == "revisit"


def test_scope_site_keeps_sites_apart(crawl, site):
    """127.0.0.1 and localhost are two sites here, with one server."""
    site.html("/a", page(story(1)))
    other = site.url("/b").replace("127.0.0.1", "localhost")
    site.html("/b", page(story(1)))
    site.html("/", page("", extra=linked([site.url("/a"), other, site.url("/b")])))
    done = crawl(
        settings={"SIMDEDUP_SCOPE": "site", "OFFSITE_ENABLED": False}, plan={"/": ["links"]}
    )
    assert done.stat("pages/unique") == 2
    assert done.stat("pages/duplicate") == 1


def test_reset_moves_the_old_index_aside(crawl, site, tmp_path):
    site.html("/a", page(story(1)))
    crawl("/a")
    done = crawl("/a", settings={"SIMDEDUP_RESET": "True"})
    assert done.verdicts["/a"]["status"] == "unique"
    (aside,) = tmp_path.glob("index.db.*.bak")
    with sqlite3.connect(aside) as old:
        assert old.execute("SELECT count(*) FROM pages").fetchone() == (1,)
    assert str(aside) in done.log


@pytest.mark.parametrize("ending", ["csv", "jsonl", "jsonl.gz"])
def test_export_at_close(crawl, site, tmp_path, ending):
    site.html("/a", page(story(1)))
    site.html("/b", page(story(1)))
    pattern = str(tmp_path / f"exports/%(name)s-%(time)s.{ending}")
    crawl("/a", "/b", settings={"SIMDEDUP_EXPORT": pattern})
    (path,) = (tmp_path / "exports").iterdir()
    assert path.name.startswith("site-20")
    if ending == "csv":
        rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    elif ending == "jsonl":
        rows = [json.loads(line) for line in path.read_text().splitlines()]
    else:
        text = gzip.decompress(path.read_bytes()).decode()
        rows = [json.loads(line) for line in text.splitlines()]
    assert sorted(row["status"] for row in rows) == ["duplicate", "unique"]
    assert {row["spider"] for row in rows} == {"site"}


def test_other_methods_are_refused_with_both_names(crawl, site):
    site.html("/a", page(story(1)))
    crawl("/a")
    before = len(site.asked)
    done = crawl("/a", settings={"SIMDEDUP_METHODS": ["sketch"]})
    assert done.exit_code == 1
    assert "['simhash', 'sketch'] where the settings now ask for ['sketch']" in done.log
    assert len(site.asked) == before


def killed(site, tmp_path: Path, after: int, **options) -> list[str]:
    """Start a crawl, kill it when so many items were scraped, return their paths."""
    process, out = start([site.url("/")], tmp_path, **options)
    scraped = out.with_suffix(".scraped")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if scraped.exists() and len(scraped.read_text().splitlines()) >= after:
            break
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    return scraped.read_text().splitlines()


def test_kill_9_and_the_crawl_again_with_jobdir(crawl, site, tmp_path):
    """What was not scraped when the process died is nobody's original afterwards."""
    paths = [f"/{number}/{copy}" for number in range(10) for copy in "ab"]
    for path in paths:
        site.html(path, page(story(int(path.split("/")[1])), path))
    site.html("/", page("", extra=linked(paths)))
    options = {
        "settings": {**DROP_ITEMS, "JOBDIR": str(tmp_path / "job"), "CONCURRENT_REQUESTS": 4},
        "plan": {"/": ["links"], "*": ["late:0.1", "item"]},
    }
    before = set(killed(site, tmp_path, 4, **options))
    done = crawl(**options)
    assert done.exit_code == 0, done.log
    after = {item["url"] for item in done.scraped}
    for row in done.decisions():
        if row["status"] == "duplicate":
            assert row["original"] in before | after
    with sqlite3.connect(done.index) as index:
        assert index.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        states = index.execute("SELECT status FROM runs ORDER BY id").fetchall()
        assert states == [("died",), ("finished",)]
        kept = {row[0] for row in index.execute("SELECT url FROM pages")}
    assert kept <= before | after
    assert "Traceback" not in done.log


def test_kill_9_with_confirm_close_keeps_nothing(crawl, site, tmp_path):
    """The feed of a killed run is not stored, so none of its pages counts as kept."""
    paths = [f"/{number}" for number in range(12)]
    for number, path in enumerate(paths):
        site.html(path, page(story(number)))
        site.html(f"/copy{path}", page(story(number), "copy"))
    site.html("/", page("", extra=linked(paths)))
    feeds = {str(tmp_path / "items-%(time)s.jsonl"): {"format": "jsonlines"}}
    options = {
        "settings": {**DROP_ITEMS, "SIMDEDUP_CONFIRM": "close", "FEEDS": feeds},
        "plan": {"/": ["links"], "*": ["late:0.05", "item"]},
    }
    scraped = killed(site, tmp_path, 5, **options)
    assert scraped
    copies = [f"/copy{path}" for path in paths]
    done = crawl(*copies, **options)
    assert done.stat("pages/duplicate") == 0
    assert sorted(done.paths()) == sorted(copies)
    # This run's feed was stored, so from now on they count.
    again = crawl(*paths, **options)
    assert again.stat("pages/duplicate") == 12


@pytest.mark.parametrize("uri", ["broken:items", "file/items.jsonl"])
def test_confirm_close_without_a_stored_feed(crawl, site, tmp_path, uri):
    site.html("/a", page(story(1)))
    site.html("/b", page(story(1), "copy"))
    (tmp_path / "file").write_text("in the way")
    feeds = {uri: {"format": "jsonlines"}}
    settings = {
        **DROP_ITEMS,
        "SIMDEDUP_CONFIRM": "close",
        "FEED_STORAGES": {"broken": "spiders.BrokenStorage"},
        "FEEDS": feeds,
    }
    done = crawl("/a", settings=settings)
    assert len(done.scraped) == 1
    assert "0 originals" in done.log
    assert "a feed was not stored" in done.log
    done = crawl("/b", settings={**settings, "FEEDS": {}})
    assert done.verdicts["/b"]["status"] == "unique"


def test_one_sigint_ends_cleanly(site, tmp_path):
    paths = [f"/{number}" for number in range(30)]
    for number, path in enumerate(paths):
        site.html(path, page(story(number)))
    site.html("/", page("", extra=linked(paths)))
    process, out = start(
        [site.url("/")], tmp_path, plan={"/": ["links"], "*": ["late:0.2", "item"]}
    )
    deadline = time.monotonic() + 60
    while not out.with_suffix(".scraped").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    log, _ = process.communicate(timeout=60)
    assert "Traceback" not in log, log
    assert "now holds" in log
    with sqlite3.connect(tmp_path / "index.db") as index:
        assert index.execute("SELECT status FROM runs").fetchall() == [("shutdown",)]
        assert index.execute("SELECT count(*) FROM pages WHERE NOT confirmed").fetchone() == (0,)


def test_two_sigints_lose_nothing(site, tmp_path):
    """The second one does not wait for anything that is on its way."""
    paths = [f"/{number}" for number in range(30)]
    for number, path in enumerate(paths):
        site.html(path, page(story(number)))
    site.html("/", page("", extra=linked(paths)))
    plan = {"/": ["links"], "*": ["late:0.2", "item"]}
    process, out = start([site.url("/")], tmp_path, plan=plan)
    stored = out.with_suffix(".scraped")
    deadline = time.monotonic() + 60
    while not stored.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    # Scrapy takes them for one if they come together.
    while b"SIGINT" not in (line := process.stdout.buffer.readline()) and line:
        pass
    process.send_signal(signal.SIGINT)
    log, _ = process.communicate(timeout=60)
    assert "unclean shutdown" in log
    assert wrong_with(tmp_path / "index.db", METHODS, settled=False) == []
    before = stored.read_text().split()
    assert len(before) < len(paths)
    done = Crawl.of([site.url("/")], tmp_path, plan=plan, settings=DROP_ITEMS)
    assert {*before, *(item["url"] for item in done.scraped)} == {site.url(path) for path in paths}
    assert done.stat("pages/duplicate") == 0
    assert wrong_with(tmp_path / "index.db", METHODS) == []


PROJECT = {
    "scrapy.cfg": "[settings]\ndefault = shop.settings\n",
    "shop/__init__.py": "",
    "shop/settings.py": (
        'SPIDER_MODULES = ["shop.spiders"]\n'
        'ADDONS = {"scrapy_simdedup.Addon": 500}\n'
        'SIMDEDUP_ITEM_FIELDS = {"text": "text"}\n'
        "TELNETCONSOLE_ENABLED = False\n"
    ),
    "shop/spiders/__init__.py": "",
}
SPIDER = '''
import scrapy

class Shop(scrapy.Spider):
    name = "shop"
    start_urls = ["{url}"]

    def parse(self, response):
        """A page.

        @url {url}
        @returns items 1 1
        """
        yield {{"url": response.url, "text": response.text}}
'''


@pytest.fixture
def project(site, tmp_path):
    """A Scrapy project with one spider, as a user has it."""
    folder = tmp_path / "project"
    for name, content in PROJECT.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    site.html("/a", page(story(1)))
    (folder / "shop/spiders/shop.py").write_text(SPIDER.format(url=site.url("/a")))
    return folder


def scrapy(folder: Path, *arguments: str, **options) -> subprocess.CompletedProcess[str]:
    """Run a scrapy command in a project."""
    command = [sys.executable, "-m", "scrapy", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, **options)


def test_tools_leave_no_trace(project, site):
    url = site.url("/a")
    tools = [
        ("fetch", url),
        ("parse", "--pipelines", "--spider", "shop", url),
        ("check", "shop"),
        ("shell", url, "-c", "response.status"),
    ]
    for tool in tools:
        done = scrapy(project, *tool, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, done.stderr
    assert len(site.asked) == len(tools)
    assert not list(project.rglob("*.db"))
    assert scrapy(project, "crawl", "shop").returncode == 0
    (index,) = (project / ".scrapy" / "simdedup").glob("*.db")
    assert index.name == "shop.db"

    def rows():
        with sqlite3.connect(index) as connection:
            tables = ("pages", "decisions", "runs")
            return [connection.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in tables]

    before = rows()
    for tool in tools:
        assert scrapy(project, *tool, stdin=subprocess.DEVNULL).returncode == 0
    assert rows() == before


def test_a_start_that_fails_has_exit_code_1(project):
    for setting in ("SIMDEDUP_MIN_TERMS=many", "SIMDEDUP_INDEX=/dev/null/x.db"):
        done = scrapy(project, "crawl", "shop", "-s", setting)
        assert done.returncode == 1, done.stderr
        assert "scrapy-simdedup cannot start" in done.stderr
