"""``scrapy simdedup report``: what it reads from an index, and the file that it writes."""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import re
import sqlite3
import sys
import zlib
from collections.abc import Callable
from contextlib import closing
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.exceptions import UsageError
from scrapy.settings import Settings

from logged import copy, decision, fill, near
from scrapy_simdedup import Deduplicator, IndexUnusable
from scrapy_simdedup.commands import report as command
from scrapy_simdedup.logs.export import reading
from scrapy_simdedup.logs.measures import NoSuchRun
from scrapy_simdedup.output import Unwritable
from scrapy_simdedup.report import data, pairs
from scrapy_simdedup.report.data import Report, collect
from scrapy_simdedup.report.log import NEEDED
from scrapy_simdedup.report.pack import plain, squeezed
from scrapy_simdedup.report.page import render
from test_command import simdedup
from texts import reworded, story

Write = Callable[..., Path]


class Markup(HTMLParser):
    """The elements of a page with their attributes, and the contents of scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.contents: list[tuple[str, dict[str, str | None], str]] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, text: str) -> None:
        if self.elements and self.elements[-1][0] in ("script", "style"):
            self.contents.append((*self.elements[-1], text))
        self.text += text

    def handle_endtag(self, tag: str) -> None:
        self.elements.append((f"/{tag}", {}))

    def block(self, name: str) -> str:
        """Return the content of a script block."""
        (found,) = (text for _, attributes, text in self.contents if attributes.get("id") == name)
        return found

    @property
    def policy(self) -> str:
        """The Content Security Policy."""
        (found,) = (
            attributes["content"]
            for _, attributes in self.elements
            if attributes.get("http-equiv") == "Content-Security-Policy"
        )
        return found or ""


def read(path: Path, run: int | None = None) -> Report:
    with reading(path, NEEDED) as connection:
        return collect(connection, path.name, run)


def unsqueezed(block: str) -> Any:
    return json.loads(zlib.decompress(base64.b64decode(block)))


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def call(*arguments: object) -> Path:
        parser = argparse.ArgumentParser()
        command.add_parser(parser.add_subparsers())
        output = tmp_path / "out" / "report.html"
        given = ["report", "--output", output, *arguments]
        opts = parser.parse_args([str(each) for each in given])
        opts.function(opts, Settings())
        return Path(opts.output)

    return call


LOG = [
    decision(url="https://a.example/1"),
    copy("https://b.example/1", "https://a.example/1"),
    copy("https://a.example/1?print", "https://a.example/1", reason="links"),
    near("https://a.example/2", "https://a.example/1", 0.29),
    near("https://c.example/2", "https://a.example/1", 0.05),
    decision(url="https://a.example/3", status="skipped", reason="too-short"),
    decision(url="https://a.example/3", status="skipped", reason="too-short"),
    decision(url="https://a.example/4", status="error", reason="ValueError"),
    copy("https://a.example/5", "https://gone.example/", status="orphaned"),
    decision(url="pages/file.html", kind="item"),
]


def test_what_is_counted(tmp_path: Path) -> None:
    report = read(fill(tmp_path / "i.db", LOG))
    pages, items = report.kinds["page"], report.kinds["item"]
    assert (pages.judged, pages.copies, pages.total) == (6, 2, 9)
    assert (items.judged, items.copies) == (1, 0)
    hosts = {host.name: host for host in report.hosts.rows}
    assert list(hosts) == ["a.example", "b.example", "", "c.example"]
    assert (hosts["a.example"].tally.copies, hosts["a.example"].foreign) == (1, 0)
    assert (hosts["b.example"].tally.copies, hosts["b.example"].foreign) == (1, 1)
    reasons = {(each.status, each.reason): each for each in report.reasons}
    assert next(iter(reasons)) == ("skipped", "too-short")
    assert reasons["skipped", "too-short"].count == 2
    assert reasons["skipped", "too-short"].examples == ["https://a.example/3"]
    assert ("duplicate", "links") in reasons
    assert ("error", "ValueError") in reasons
    assert [each["url"] for each in report.orphans.rows] == ["https://a.example/5"]
    (cluster,) = report.clusters.rows
    assert (cluster.original, cluster.size, cluster.hosts) == ("https://a.example/1", 2, 2)
    assert report.listing.columns["urls"] == sorted(report.listing.columns["urls"])
    assert (report.listing.count, report.listing.total) == (10, 10)


def test_one_run_or_all(tmp_path: Path) -> None:
    path = fill(tmp_path / "i.db", LOG)
    fill(path, [copy("https://b.example/1", "https://a.example/1")], spider="wire")
    whole, first, second = (read(path, run) for run in (None, 1, 2))
    assert [run.id for run in whole.runs] == [2, 1]
    assert whole.spiders.keys() == {"news", "wire"}
    assert [whole.tally.total, first.tally.total, second.tally.total] == [11, 10, 1]
    # Met by both runs, a page is one copy of its original.
    assert whole.clusters.rows[0].size == 2
    assert second.clusters.rows[0].size == 1
    assert [slice_.start for slice_ in whole.by_run] == [1, 2]
    with pytest.raises(NoSuchRun, match="no run 3"):
        read(path, 3)


def test_originals_that_were_removed(tmp_path: Path) -> None:
    copies = [copy("https://b.example/1", "https://gone.example/"), copy("https://c.example/", "o")]
    path = fill(tmp_path / "i.db", copies)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "UPDATE decisions SET original_removed = time WHERE url = 'https://b.example/1'"
        )
    clusters = {cluster.original: cluster.removed for cluster in read(path).clusters.rows}
    assert clusters == {"https://gone.example/": 1, "o": 0}
    # Once it is kept again it is no longer gone.
    fill(path, [copy("https://d.example/", "https://gone.example/")])
    assert read(path).clusters.rows[0].removed == 0


def test_unchanged_pages_are_told_of(tmp_path: Path) -> None:
    path = tmp_path / "i.db"
    for times in (1, 2, 3):
        with Deduplicator(path, spider="news") as dedup:
            for at in range(4):
                dedup.check(f"https://a.example/{at}", text=story(at))
            dedup.check(f"https://b.example/{times}", text=reworded(story(1), 0.03))
    assert read(path).kinds["page"].counts == {"unique": 4, "duplicate": 3, "unchanged": 8}
    # Only the newest run still shows in the rows of the pages.
    assert read(path, 3).kinds["page"].counts == {"duplicate": 1, "unchanged": 4}
    assert read(path, 2).kinds["page"].counts == {"duplicate": 1}
    page = render(read(path, 3))
    assert "1 of 5 pages was a copy" in page


def test_bounds_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bounds = {"HOSTS": 3, "CLUSTERS": 2, "COPIES": 2, "CALLS": 2, "ORPHANS": 1, "DECISIONS": 20}
    for name, bound in bounds.items():
        monkeypatch.setattr(data, f"MOST_{name}", bound)
    rows = []
    for at in range(12):
        original = f"https://{at}.example/"
        rows += [decision(url=original), near(f"{original}near", original, 0.28)]
        copies = (copy(f"{original}{n}", original, 0.31 + n / 100) for n in range(at))
        rows += [*copies, copy(f"{original}gone", original, status="orphaned")]
    report = read(fill(tmp_path / "i.db", rows))
    assert (len(report.hosts.rows), report.hosts.total) == (3, 12)
    assert (len(report.clusters.rows), report.clusters.total) == (2, 11)
    first = report.clusters.rows[0]
    assert first.size == 11
    assert [each["resemblance"] for each in first.copies] == [0.31, 0.32]
    assert [call.copy for call in report.calls.calls] == [False, False, True, True]
    assert (report.calls.outside, report.calls.inside) == (12, 66)
    assert (len(report.orphans.rows), report.orphans.total) == (1, 12)
    assert (report.listing.count, report.listing.total) == (20, 102)
    shown = Markup(render(report)).text
    for told in (
        "the 3 hosts with most copies, of 12",
        "the 2 largest of 11",
        "at most 2 of either",
        "the newest 1 of 12",
        "The newest 20 of 102 decisions",
    ):
        assert told in shown


def test_the_file_is_closed_to_all_else(tmp_path: Path, write: Write) -> None:
    page = write("--index", fill(tmp_path / "i.db", LOG)).read_text(encoding="utf-8")
    markup = Markup(page)
    rules = dict(each.split(" ", 1) for each in markup.policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert not re.search("unsafe|http|data:|blob:|[*]", markup.policy)
    digests = {"script-src": [], "style-src": []}
    for tag, attributes, content in markup.contents:
        # Blocks of data are no scripts.
        if attributes.get("type") is None:
            found = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
            digests[f"{tag}-src"].append(f"'sha256-{found}'")
    assert {name: rules[name].split() for name in digests} == digests
    assert [len(each) for each in digests.values()] == [2, 1]
    for tag, attributes in markup.elements:
        assert tag not in ("link", "img", "iframe", "object", "form", "base")
        for name in attributes:
            assert name != "style"
            assert not name.startswith("on")
            assert name not in ("src", "srcset", "action")
        assert (attributes.get("href") or "#").startswith("#")
    ids = [attributes["id"] for _, attributes in markup.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    headings = [int(tag[1]) for tag, _ in markup.elements if re.fullmatch(r"h[1-6]", tag)]
    assert headings[0] == headings.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(headings))


anything = st.recursive(
    st.none() | st.integers() | st.text() | st.text("</script>-![]&\u2028\ud800\0"),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("<>&-a"), inner),
    max_leaves=8,
)


@given(anything)
def test_data_stays_in_its_block(value: Any) -> None:
    block = plain(value)
    assert not re.search(r"[<>&]", block)
    assert block.isascii()
    assert json.loads(block) == value
    assert re.fullmatch(r"[A-Za-z0-9+/=]*", squeezed(value))


@given(st.recursive(st.integers() | st.text(st.characters(exclude_categories=["Cs"])), st.lists))
def test_what_is_squeezed_comes_back(value: Any) -> None:
    assert unsqueezed(squeezed(value)) == value


def test_an_old_report_is_replaced_as_a_whole(
    tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = fill(tmp_path / "i.db", LOG)
    output = write("--index", index)
    output.write_text("an old one")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", _full)
        with pytest.raises(Unwritable, match=re.escape(f"{output}: disk full")):
            write("--index", index)
    assert output.read_text() == "an old one"
    write("--index", index)
    assert output.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert [path.name for path in output.parent.iterdir()] == ["report.html"]


def _full(*_: object) -> None:
    raise OSError(28, "disk full")


def test_a_folder_is_refused(tmp_path: Path, write: Write) -> None:
    with pytest.raises(UsageError, match="is a folder"):
        write("--index", fill(tmp_path / "i.db", LOG), "--output", tmp_path)


def test_without_jinja(tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    index = fill(tmp_path / "i.db", LOG)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.delitem(sys.modules, "scrapy_simdedup.report.page")
    with pytest.raises(Unwritable, match=r"pip install 'scrapy-simdedup\[report\]'"):
        write("--index", index)


def test_from_a_shell(tmp_path: Path) -> None:
    fill(tmp_path / "i.db", LOG)
    ran = simdedup(tmp_path, "report", "--index", "i.db", "--output", "new/r.html", "--run", 1)
    assert (ran.returncode, ran.stdout) == (0, "")
    assert re.fullmatch(r"new/r\.html: 10 decisions, \d+ KB\n", ran.stderr)
    assert (tmp_path / "new" / "r.html").is_file()
    ran = simdedup(tmp_path, "report", "--index", "i.db", "--output", "r.html", "--run", 7)
    assert ran.returncode == 1
    assert "there is no run 7" in ran.stderr
    assert not (tmp_path / "r.html").exists()
    assert simdedup(tmp_path, "report", "--index", "no.db", "--output", "r.html").returncode == 1
    assert simdedup(tmp_path, "report", "--index", "i.db").returncode == 2


def test_an_index_in_use_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "i.db"
    with Deduplicator(path) as dedup:
        dedup.check("https://a.example/1", text=story(1))
        report = read(path)
        assert report.runs[0].status == "running"
        dedup.check("https://b.example/1", text=story(1))
        assert [report.tally.total, read(path).tally.total] == [1, 2]
    assert "still running" in render(report)


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """An index with texts: a page that copies the first text of another, one the second."""
    path = tmp_path / "i.db"
    texts = [reworded(story(1), 0.1, seed) for seed in (1, 2)]
    for run, text in enumerate(texts):
        with Deduplicator(path, {"SIMDEDUP_STORE_TEXT": True}) as dedup:
            assert dedup.check("https://a.example/", text=text).status != "duplicate"
            for at in (2 * run, 2 * run + 1):
                url = f"https://b.example/{at}"
                assert dedup.check(url, text=f"{text}\n\nThe end {at}.").status == "duplicate"
    return path


@pytest.mark.parametrize("pages", [True, False])
def test_texts_are_those_of_their_time(pages: bool, stored: Path) -> None:
    # Without pages as in a crawl whose index is elsewhere.
    if not pages:
        with closing(sqlite3.connect(stored)) as connection, connection:
            connection.execute("DELETE FROM pages")
    report = read(stored)
    (cluster,) = report.clusters.rows
    (texts,) = report.cluster_texts
    found = {row["url"][-1]: text for row, text in zip(cluster.copies, texts, strict=True)}
    assert sorted(found) == ["0", "1", "2", "3"]
    for at, text in found.items():
        assert text is not None
        assert [piece for row in text.rows for piece in row if isinstance(piece, tuple)] == [
            ("", f"The end {at}.")
        ]
    block = unsqueezed(Markup(render(report)).block("cluster0"))
    assert [copy["text"]["rows"][-1] for copy in block] == [
        [["", f"The end {copy['url'][-1]}."]] for copy in block
    ]


def test_too_many_texts_are_left_out(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "_MOST_CHARACTERS", 0)
    report = read(stored)
    assert [text is not None for text in report.cluster_texts[0]] == [True, False, False, False]
    assert report.left_out == 3
    assert "3 comparisons of texts were left out" in Markup(render(report)).text


def test_a_text_that_cannot_be_read_is_not_compared(stored: Path) -> None:
    with closing(sqlite3.connect(stored)) as connection, connection:
        connection.execute("UPDATE texts SET text = x'00'")
    assert read(stored).cluster_texts == [[None] * 4]


def _without(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP VIEW clusters")
        connection.execute("DROP VIEW duplicates")
        for statement in statements:
            connection.execute(statement)
    return path


@pytest.mark.parametrize("table", ["runs", "pages", "bands", "bodies", "texts", "meta"])
def test_a_copy_that_lacks_a_table_still_has_a_report(table: str, tmp_path: Path) -> None:
    path = _without(fill(tmp_path / "i.db", LOG), f"DROP TABLE {table}")
    report = read(path)
    assert report.tally.total == 10
    assert "2 of 6 pages were copies" in render(report)


def test_a_log_without_texts_or_methods_still_has_a_report(tmp_path: Path) -> None:
    path = _without(
        fill(tmp_path / "i.db", LOG),
        "ALTER TABLE decisions DROP COLUMN text",
        "ALTER TABLE decisions DROP COLUMN method",
    )
    assert "2 of 6 pages were copies" in render(read(path))


def test_a_file_without_a_log_is_refused(tmp_path: Path) -> None:
    path = _without(fill(tmp_path / "i.db", LOG), "DROP TABLE decisions")
    with pytest.raises(IndexUnusable, match="no table decisions"):
        read(path)


def test_texts_that_are_none(tmp_path: Path) -> None:
    path = fill(tmp_path / "i.db", LOG)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE decisions SET url = CAST(x'687474703aeda0802f' AS TEXT)")
        connection.execute("UPDATE runs SET settings = '{', spider = CAST(x'ff' AS TEXT)")
    page = render(read(path))
    assert "5 of 6" not in page
    assert "2 of 6 pages were copies" in page
    page.encode("utf-8")
