"""Hostile pages: a bounded verdict in bounded memory, and no harm to what comes after them."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from scrapy.utils.test import get_crawler

import hostile
from crawling import Crawl, linked
from scrapy_simdedup import Deduplicator
from scrapy_simdedup.analysis import Recipe, Source, analyse
from scrapy_simdedup.config import Config
from scrapy_simdedup.crawl.places import index_and_log
from scrapy_simdedup.logs.export import export_run
from scrapy_simdedup.text.document import LONGEST_TEXT, Document
from scrapy_simdedup.text.extract import describe, extract
from scrapy_simdedup.text.normalise import fold
from scrapy_simdedup.worker import WorkTimeoutError
from scrapy_simdedup.workers import Pool
from texts import chinese, page, story

HERE = Path(__file__).parent

# Pages from which the article is still read, whatever surrounds it.
SEEN_THROUGH = {
    *("attribute of 10 MB", "description of 10 MB", "open meta tags", "many siblings", "entities"),
    *("controls", "surrogates", "UTF-16 as UTF-8", "one token for ever", "base64 of 5 MB"),
    *("one letter, 5 MB", "direction and zero width", "consent in consent", "scripts", "XML"),
    *("text: piled marks", "text: NUL"),
}
# Where there is nothing to compare, nothing may be a copy.
NOTHING = {
    *("bytes of noise", "one Han character", "one ligature", "Thai without end", "nothing"),
    *("nothing but links", "tag soup", "open comment", "text: one word", "text: surrogates"),
    *("text: one ligature", "text: one Han character", "text: capitals", "text: digits"),
}
ALL_METHODS = "simhash,sketch,piecewise,keywords,classic"


@pytest.mark.parametrize(
    "methods", ["simhash,sketch", pytest.param(ALL_METHODS, marks=pytest.mark.slow)]
)
def test_every_page_gets_a_verdict_within_2_gib(tmp_path, methods):
    """A process that may not have more judges them all, one after the other."""
    done = subprocess.run(
        [sys.executable, HERE / "judge_hostile.py", tmp_path / "index.db", methods],
        env={**os.environ, "PYTHONPATH": f"{HERE.parent}{os.pathsep}{HERE}"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Traceback" not in done.stderr
    told = json.loads(done.stdout)
    expected = {*hostile.PAGES, *(f"text: {name}" for name in hostile.TEXTS)}
    assert set(told) == expected | {"article", "first", "last"}
    for name, (label, original, seconds) in told.items():
        assert label.split("/")[0] in ("unique", "duplicate", "skipped"), name
        assert seconds < 30, name
        if name in SEEN_THROUGH:
            assert original == "article", name
        if name in NOTHING:
            assert label in ("skipped/no-text", "skipped/too-short"), name
    # The index is none the worse for it.
    assert told["first"][0] == "unique"
    assert told["last"][:2] == ["duplicate", "first"]


@pytest.mark.slow
def test_every_page_costs_a_worker_its_time_at_most():
    """Those that take longer are stopped; the others come back as they do without a worker."""
    pool = Pool()
    jobs = {
        name: pool.submit(lambda m=make: Source.of(m()), Recipe(), 2, 60)
        for name, make in hostile.PAGES.items()
    }
    slow = {
        name: pool.submit(lambda m=make: Source.of(m()), Recipe(), 2, 1)
        for name, make in hostile.SLOW.items()
    }
    try:
        for name, job in jobs.items():
            there = job.result(timeout=240)
            here = analyse(Source.of(hostile.PAGES[name]()), Recipe())
            assert (there.reason, there.digest) == (here.reason, here.digest), name
        for job in slow.values():
            with pytest.raises(WorkTimeoutError, match="1 seconds"):
                job.result(timeout=60)
        after = pool.submit(lambda: Source((page(story(1)),)), Recipe(), 2, 30)
        assert after.result(timeout=60).reason is None
    finally:
        pool.close()


def test_a_worker_has_an_address_space_of_4_gib():
    pool = Pool()
    pool.submit(lambda: Source(text=(story(1),)), Recipe(), 1, 30).result(timeout=60)
    limits = Path(f"/proc/{pool._workers[0].pid}/limits").read_text()
    pool.close()
    assert re.search(rf"Max address space +{4 << 30} ", limits)


@pytest.mark.slow
def test_a_crawl_of_hostile_pages(crawl, site):
    """Each one is passed on with a verdict; the slow ones are skipped, and named."""
    made = {**hostile.PAGES, **hostile.SLOW}
    paths = {f"/{number}": name for number, name in enumerate(made)}
    for path, name in paths.items():
        body = made[name]()
        data = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body
        kind = "text/html; charset=latin-1" if name == "GBK as latin-1" else "text/html"
        site.html(path, "", content_type=kind)
        site.pages[path].body = data
    site.html("/first", page(story(1)))
    site.html("/last", page(story(1), "Copy", "wire"))
    site.html("/", page("", extra=linked(["/first", *paths, "/last"])))
    done: Crawl = crawl(
        settings={"SIMDEDUP_WORKERS": 2, "SIMDEDUP_TIMEOUT": 4, "LOG_LEVEL": "INFO"},
        plan={"/": ["links"], "*": []},
    )
    assert done.exit_code == 0, done.log[-3000:]
    assert set(done.called) == {"/", "/first", "/last", *paths}
    assert done.stat("errors") == 0, done.log[-3000:]
    for path, name in paths.items():
        verdict = done.verdicts[path]
        assert verdict["status"] in ("unique", "duplicate", "skipped"), name
        if name in hostile.SLOW:
            assert verdict["reason"] == "timeout", name
            assert f"{site.url(path)} took longer than 4 seconds" in done.log
    pair = sorted(done.verdicts[path]["status"] for path in ("/first", "/last"))
    assert pair == ["duplicate", "unique"]


def test_a_slow_page_is_skipped_and_the_others_go_on(crawl, site):
    site.html("/slow", hostile.SLOW["bold and italic pairs"]())
    for number in range(6):
        site.html(f"/{number}", page(story(number)))
    site.html("/", page("", extra=linked(["/slow", *(f"/{n}" for n in range(6))])))
    done: Crawl = crawl(
        settings={"SIMDEDUP_WORKERS": 1, "SIMDEDUP_TIMEOUT": 3}, plan={"/": ["links"]}
    )
    assert done.stat("pages/skipped/timeout") == 1
    assert done.verdicts["/slow"]["reason"] == "timeout"
    assert done.stat("pages/unique") == 6
    assert "/slow" in done.paths()


def test_time_grows_with_the_size_and_not_with_its_square():
    """Each of these took minutes."""
    word = "a" * 99_990
    assert describe(f"<meta {word}><meta name=description content=found>") == ""
    head = f"<meta {word[:50_000]}><meta name='description' content='found'>"
    assert describe(head) == "found"
    assert describe("<meta " * 16_000) == ""
    assert describe("<meta x='" * 150 + "'><meta name=description content=found>") == "found"
    piled = f"a{chr(0x316) * 200_000}{chr(0x301) * 200_000}b"
    assert len(fold(piled)) < 40
    assert fold(piled).endswith("b")
    # What is cut is more than any language piles up.
    assert fold("\u0e01\u0e34\u0e48" * 1000) == "\u0e01\u0e34\u0e48" * 1000
    assert len(Document.from_text("\ufdfa" * 1_000_000).text) == LONGEST_TEXT


def test_no_entity_is_followed():
    """Neither one of a page's own DTD, nor a file of this machine."""
    found = extract(str(hostile.PAGES["entities"]())).text
    assert len(found) > 500
    assert "lollol" not in found
    assert "root:" not in found
    assert Path("/etc/passwd").read_text().splitlines()[0] not in found


def test_half_a_charset_is_no_copy_of_another(tmp_path):
    """GBK read as latin-1 is rubbish, but not the same rubbish for two articles."""
    with Deduplicator(tmp_path / "index.db") as dedup:
        for number in range(6):
            raw = page(chinese(number, 30)).encode("gbk", "replace").decode("latin-1")
            assert dedup.check(str(number), html=raw).original is None


FORMULAS = [
    *("=HYPERLINK(1)", "@SUM(A1)", "+1+1", "-1+1", "\t=1", "\r=1", "\n=1", "  =1", "\ufeff=1"),
    *(
        "\uff1d1+1",
        "\uff20SUM(1)",
        "javascript:alert(1)",
        "data:text/html,<script>",
        "//u:p@host/x",
    ),
]
WITH_SECRETS = [
    "https://ernie:secret@host.example/a",
    "ftp://secret@host.example/a@b",
    "HTTPS://ernie:secret@still:secret@host.example/a",
    "  http://ernie:secret@host.example/a",
    "//ernie:secret@host.example/a",
    "http://ernie:sec\0ret@host.example/a",
    "http://ernie:sec\nret@host.example/a",
    "http:\\\\ernie:secret@host.example/a",
    "http:/\\ernie:secret@host.example/a",
    "http:ernie:secret@host.example/a",
]


def test_urls_that_are_formulas_and_scripts(tmp_path):
    """They are stored as they are, run by nobody, and disarmed in CSV; JSON lines have them raw."""
    index = tmp_path / "index.db"
    with Deduplicator(index) as dedup:
        for number, url in enumerate(FORMULAS):
            assert dedup.check(url, text=story(number)).status == "unique"
            found = dedup.check(f"{url}&copy", text=story(number))
            assert found.original is not None
        run = dedup.run
    spider = SimpleNamespace(name="../../=spider")
    for ending in ("csv", "jsonl"):
        pattern = str(tmp_path / f"out/%(name)s.{ending}")
        path = export_run(index, run, pattern, spider)
        assert path.parent == tmp_path / "out"
        text = path.read_bytes().decode("utf-8")
        if ending == "csv":
            cells = [cell for row in csv.reader(text.splitlines(True)) for cell in row]
            assert not [cell for cell in cells if re.match(r"[\s\ufeff]*[=+@\-＝＠]", cell)]
            assert "javascript:alert(1)" in cells
        else:
            rows = [json.loads(line) for line in text.splitlines()]
            assert rows[0]["url"] == FORMULAS[0]


@pytest.mark.parametrize("url", WITH_SECRETS)
def test_no_credentials_anywhere_in_the_file(tmp_path, url):
    index = tmp_path / "index.db"
    with Deduplicator(index, {"SIMDEDUP_SCOPE": "site"}) as dedup:
        dedup.check(url, text=story(1))
        again = dedup.check(url, text=story(2))
        assert again.status == "revisit"
        dedup.check(f"{url}/copy", text=story(2))
    assert b"host.example" in index.read_bytes()
    assert b"ret@" not in index.read_bytes()
    assert b"ernie" not in index.read_bytes()


NAMES = ["../../x", "/etc/passwd", "..", ".", "a/../../b", "..\\..\\x", "x\0y", "x\ny", "~root"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("pattern", [None, "%(spider)s", "%(name)s/index.db", "a/%(spider)s.db"])
def test_spider_names_are_no_paths(tmp_path, monkeypatch, name, pattern):
    monkeypatch.chdir(tmp_path)
    crawler = get_crawler(settings_dict={"SIMDEDUP_INDEX": pattern} if pattern else {})
    crawler.spider = crawler.spidercls(name=name)
    path = Path(index_and_log(Config.from_settings(crawler.settings), crawler)[0])
    folder = tmp_path / ".scrapy" / "simdedup"
    assert folder in path.resolve().parents
    with Deduplicator(path) as dedup:
        dedup.check("a", text=story(1))
    assert path.is_file()
