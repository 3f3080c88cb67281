"""Recalled bodies of items, of other sites, in new markup, and in scans."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scrapy_simdedup import Deduplicator, deduplicator
from scrapy_simdedup.analysis import Source, analyse
from scrapy_simdedup.batch import scan as batch
from scrapy_simdedup.batch.record import Record
from scrapy_simdedup.config import Config
from texts import page, reworded, story

#: What the extractor below was called with.
EXTRACTED: list[str] = []
COUNTED = {"SIMDEDUP_EXTRACTOR": "test_recall_kinds.counting"}


def counting(html: str) -> str:
    """An extractor that notes each call: the text stands after the first bar."""
    EXTRACTED.append(html)
    return html.partition("|")[2]


@pytest.fixture
def extracted() -> list[str]:
    EXTRACTED.clear()
    return EXTRACTED


def item(dedup: Deduplicator, key: str, text: str, **options: Any) -> tuple[Any, bool]:
    """Judge an item as a crawl does; the second value tells whether that took an analysis."""
    source = Source(text=(text,))
    subject = dedup.item(f"https://a.example/{key}", "dict", key, source.digest, **options)
    known = dedup.recall(subject, confirm=True)
    if known is not None:
        return known.verdict, False
    return dedup.judge(subject, analyse(source, dedup.recipe()), confirm=True).verdict, True


@pytest.mark.parametrize("several", [False, True])
def test_items(store, several):
    near = story(1) + "\n\nSeen at the harbour."
    with store.open() as dedup:
        assert item(dedup, "p", story(1), several=several)[0].status == "unique"
        first, _ = item(dedup, "q", near, several=several)
        assert first.original == "https://a.example/p"
        # An equal item of this run is a copy, not another visit.
        again, analysed = item(dedup, "p", story(1), several=several)
        assert (again.status, again.original, analysed) == (
            "duplicate",
            "https://a.example/p",
            False,
        )
        assert item(dedup, "short", "late again", several=several)[0].reason == "too-short"
    with store.open() as dedup:
        found, analysed = item(dedup, "p", story(1), several=several)
        assert (found.status, found.changed, analysed) == ("revisit", False, False)
        assert item(dedup, "q", near, several=several) == (first, False)
        found, analysed = item(dedup, "r", story(1), several=several)
        assert (found.original, found.distance, analysed) == ("https://a.example/p", 0, False)
        found, analysed = item(dedup, "short", "late again", several=several)
        assert (found.reason, analysed) == ("too-short", False)
        # A page's text says nothing of items, nor one class of items of another.
        assert dedup.check("p", text=story(1)).status == "unique"


def test_the_items_of_one_page(store):
    """They are unlike each other, and each is a visit of its own in the next run."""
    texts = [story(1), story(2), reworded(story(2), 0.03)]
    runs = []
    for _ in range(3):
        with store.open() as dedup:
            runs.append([item(dedup, "p", text, several=True) for text in texts])
    told = [[verdict.status for verdict, _ in run] for run in runs]
    assert told == [["unique", "unique", "duplicate"], *[["revisit", "revisit", "duplicate"]] * 2]
    assert [analysed for _, analysed in runs[0]] == [True] * 3
    # The first of them is recognised; the others are held against what came just before.
    assert runs[1][0][1] is runs[2][0][1] is False


def test_an_item_is_a_copy_of_what_came_a_moment_ago(store):
    """Its body is that of its page's item of the last run, and it is near one of this run."""
    before, now = story(1), reworded(story(1), 0.03)
    with store.open() as dedup:
        assert item(dedup, "p", before, several=True)[0].status == "unique"
    with store.open() as dedup:
        source = Source(text=(now,))
        subject = dedup.item("https://a.example/p", "dict", "p", source.digest, several=True)
        changed = dedup.judge(subject, analyse(source, dedup.recipe()))
        assert (changed.verdict.status, changed.verdict.changed) == ("revisit", True)
        # Until that is settled, both of them stand.
        found, analysed = item(dedup, "p", before, several=True)
        assert (found.status, found.distance == 0, analysed) == ("duplicate", False, True)


def test_the_same_text_in_new_markup(store, extracted):
    old, new = f"old|{story(1)}", f"new|{story(1)}"

    def visit(html: str) -> tuple[str, bool]:
        with store.open(COUNTED) as dedup:
            verdict = dedup.check("a", html=html)
        return verdict.status, verdict.changed

    assert visit(old) == ("unique", False)
    assert [visit(html) for html in (new, new, new)] == [("revisit", False)] * 3
    assert extracted == [old, new]
    # Its old body is nobody's; and after that, neither is the new one.
    assert [visit(html) for html in (old, old, new)] == [("revisit", False)] * 3
    assert extracted == [old, new, old, new]
    with store.open(COUNTED) as dedup:
        assert store.wrong(dedup.config.methods, settled=False) == []
        assert dedup.check("b", html=new).original == "a"
    assert len(extracted) == 4


def test_bodies_of_two_sites_are_apart(store, extracted):
    settings = {**COUNTED, "SIMDEDUP_SCOPE": "site"}
    body, near, short = f"|{story(1)}", f"|{story(1)} Seen at the harbour.", "|late again"
    for number in range(2):
        with store.open(settings) as dedup:
            for site in ("harrow-post.org", "ferry-times.org"):
                first = f"https://{site}/a"
                told = [
                    dedup.check(first, html=body),
                    dedup.check(f"https://www.{site}/b", html=body),
                    dedup.check(f"https://{site}/c", html=near),
                    dedup.check(f"https://{site}/d", html=short),
                ]
                kept = "revisit" if number else "unique"
                assert [verdict.status for verdict in told] == [
                    kept,
                    "duplicate",
                    "duplicate",
                    "skipped",
                ]
                assert [verdict.original for verdict in told[1:3]] == [first, first]
    # Once for each site, however often they come.
    assert extracted == [body, near, short] * 2


def records() -> list[Record]:
    """Pages with copies, near-copies, short ones, broken ones, and pages that come twice."""
    pages = []
    for number in range(12):
        text = story(number % 5)
        if number % 4 == 3:
            text = reworded(text, 0.04, seed=number)
        html = page(text, f"Story {number % 7}", "wire" if number % 2 else "plain")
        pages.append(Record(f"p{number}", f"p{number}", html))
    pages += [Record("short", "short", text="late again"), Record("bad", "bad", reason="no-field")]
    pages += [Record("equal", "equal", pages[0].html), pages[3], pages[0], pages[12]]
    return pages


@pytest.mark.parametrize("workers", [0, 2])
def test_a_scan_with_and_without_a_memory(tmp_path, monkeypatch, workers):
    """In a new index, and again in the same one."""
    submitted: list[Any] = []
    submit = batch.workers.submit

    def spy(source: Any, *arguments: Any, **options: Any) -> Any:
        submitted.append(source)
        return submit(source, *arguments, **options)

    monkeypatch.setattr(batch.workers, "submit", spy)
    config = Config.from_settings({"SIMDEDUP_WORKERS": workers})

    def scanned(path: Path) -> str:
        with Deduplicator(path, config) as dedup:
            return "\n".join(map(json.dumps, batch.scan(records(), dedup)))

    with_it = [scanned(tmp_path / "with.db")]
    first = len(submitted)
    shutil.copy(tmp_path / "with.db", tmp_path / "copy.db")
    with_it.append(scanned(tmp_path / "with.db"))
    assert len(submitted) == first
    assert '"duplicate"' in with_it[0]
    assert '"revisit"' in with_it[1]
    monkeypatch.setattr(Deduplicator, "recall", lambda *arguments, **options: None)
    monkeypatch.setattr(Deduplicator, "knows", lambda *arguments: False)
    assert scanned(tmp_path / "without.db") == with_it[0]
    assert scanned(tmp_path / "copy.db") == with_it[1]
    assert len(submitted) == first + 2 * (len(records()) - 1)


def test_the_number_of_workers_does_not_change_a_scan(tmp_path):
    told = []
    for workers in (0, 1, 2):
        config = Config.from_settings({"SIMDEDUP_WORKERS": workers})
        path = tmp_path / f"{workers}.db"
        for _ in range(2):
            with Deduplicator(path, config) as dedup:
                told.append(list(batch.scan(records(), dedup)))
    assert told[0] == told[2] == told[4]
    assert told[1] == told[3] == told[5]
    assert told[0] != told[1]


def test_whether_a_body_is_known_costs_no_transaction(tmp_path):
    """So a first crawl does not pay for what it cannot have."""
    with Deduplicator(tmp_path / "index.db") as dedup:
        seen: list[str] = []
        dedup._index.connection.set_trace_callback(seen.append)
        subject = dedup.page("a", (), deduplicator.Source.of(page(story(1))).digest)
        assert dedup.recall(subject) is None
        assert not dedup.knows(subject)
        assert seen
        assert not [statement for statement in seen if not statement.startswith("SELECT")]


@pytest.mark.parametrize(
    ("before", "after"), [(None, "links"), ("links", None), ("links", "links")]
)
def test_new_markup_brings_its_own_doubts(store, before, after):
    """A body is recalled with the doubt that its own extraction met, not an earlier one."""
    source = Source(text=(story(1),))
    with store.open() as dedup:
        plain = analyse(source, dedup.recipe())
        for number, doubt in enumerate((before, after)):
            parts = {"doubt": doubt.encode()} if doubt else {}
            analysis = replace(plain, signature={**plain.signature, **parts})
            subject = dedup.page("https://a.example/", body=bytes([number] * 16))
            dedup.judge(subject, analysis, confirm=True)
        found = dedup.recall(dedup.page("https://b.example/", body=bytes([1] * 16)))
        assert found is not None
        assert (found.verdict.status, found.verdict.reason) == ("duplicate", after)
        assert dedup.recall(dedup.page("https://b.example/", body=bytes(16))) is None
