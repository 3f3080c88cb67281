"""Originals that are removed or pruned, beside runs that hold claims on them, and what remains."""

from __future__ import annotations

import logging
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from invariants import wrong_with
from scrapy_simdedup import Deduplicator
from scrapy_simdedup.analysis import Source, analyse
from scrapy_simdedup.index import ages, upkeep
from scrapy_simdedup.index.upkeep import Removed
from scrapy_simdedup.judge import Judgement
from scrapy_simdedup.sites import is_on
from scrapy_simdedup.upkeep import looked_after
from texts import page, story

METHODS = ["simhash", "sketch"]
A, B, C = (f"https://{name}.example/story" for name in "abc")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index.db"


@pytest.fixture
def later(monkeypatch) -> Callable[..., None]:
    """Let time pass for the index."""
    ahead = timedelta()

    def pass_time(**time: float) -> None:
        nonlocal ahead
        ahead += timedelta(**time)

    monkeypatch.setattr(ages, "_clock", lambda: datetime.now(timezone.utc) + ahead)
    return pass_time


def ask(path: Path, query: str) -> list[Any]:
    with sqlite3.connect(path) as connection:
        rows = connection.execute(query).fetchall()
    connection.close()
    return rows


def judged(dedup: Deduplicator, url: str, text: str, **how: Any) -> Judgement:
    analysis = analyse(Source(text=(text,)), dedup.recipe())
    return dedup.judge(dedup.page(url), analysis, **how)


# Removing


def test_the_next_copy_of_a_removed_original_is_the_new_original(path):
    """The log keeps its history, with a mark (Norconex crawler issues 98, 278 and 722)."""
    with Deduplicator(path) as dedup:
        dedup.check(A, html=page(story(1)))
        for url, template in ((B, "plain"), (C, "wire")):
            assert dedup.check(url, html=page(story(1), url, template)).original == A
        dedup.check("https://d.example/", html=page(story(2)))
    before = ask(path, "SELECT url, status, original FROM decisions")
    with Deduplicator(path) as dedup:
        removed = dedup.remove(A)
    assert removed == Removed(1, 2)
    assert ask(path, "SELECT url FROM pages") == [("https://d.example/",)]
    assert ask(path, "SELECT count(*) FROM bands WHERE page = 1") == [(0,)]
    # Their bodies are not known as copies of it any more either.
    assert ask(path, "SELECT count(*) FROM bodies") == [(0,)]
    assert ask(path, "SELECT url, status, original FROM decisions") == before
    marks = dict(ask(path, "SELECT url, original_removed IS NOT NULL FROM decisions"))
    assert marks == {A: 0, B: 1, C: 1, "https://d.example/": 0}
    assert ask(path, "SELECT count(*) FROM duplicates WHERE original_removed IS NOT NULL") == [(2,)]
    assert ask(path, "SELECT * FROM clusters") == []
    assert wrong_with(path, METHODS) == []
    with Deduplicator(path) as dedup:
        assert dedup.check(B, html=page(story(1), B)).status == "unique"
        assert dedup.check(C, html=page(story(1), C, "wire")).original == B
        assert dedup.check(A, html=page(story(1))).original == B
    assert ask(path, "SELECT original, copies FROM clusters") == [(B, 2)]
    assert wrong_with(path, METHODS) == []


def test_a_copy_that_is_known_by_its_body_is_judged_anew(path):
    with Deduplicator(path) as dedup:
        dedup.check(A, html=page(story(1)))
        copy = page(story(1), "copy", "wire")
        dedup.check(B, html=copy)
        subject = dedup.page(B, (B,), Source((copy,)).digest)
        assert dedup.knows(subject)
        dedup.remove(A)
        assert not dedup.knows(subject)
        assert dedup.recall(subject) is None
        assert dedup.check(B, html=copy).status == "unique"


@pytest.mark.parametrize("settle", ["confirm", "release"])
def test_an_open_claim_of_a_live_run_has_nothing_left_to_settle(path, settle):
    """Its page may yet come to nothing, so the copies are to be crawled again."""
    with Deduplicator(path) as crawl, Deduplicator(path) as other:
        claim = judged(crawl, A, story(1)).claim
        assert judged(other, B, story(1)).verdict.original == A
        removed = other.remove(A)
        assert (removed.originals, removed.copies) == (1, 0)
        assert [orphan.url for orphan in removed.orphans] == [B]
        settled = getattr(crawl, settle)([claim])
        assert (settled.count, list(settled.orphans)) == (0, [])
        assert judged(other, C, story(1), confirm=True).verdict.status == "unique"
        assert judged(crawl, B, story(1)).verdict.original == C
    assert ask(path, "SELECT url, status FROM decisions") == [
        (A, "unique"),
        (B, "orphaned"),
        (C, "unique"),
        (B, "duplicate"),
    ]
    assert wrong_with(path, METHODS) == []


@pytest.mark.parametrize(("since", "status"), [("ever", "duplicate"), ("run", "orphaned")])
@pytest.mark.parametrize("settle", ["confirm", "release"])
def test_an_open_visit_of_a_live_run(path, since, status, settle):
    """With SIMDEDUP_SINCE = "run", copies rest on the visit; else on what was stored before."""
    with Deduplicator(path) as first:
        judged(first, A, story(1), confirm=True)
    with Deduplicator(path, {"SIMDEDUP_SINCE": since}) as crawl:
        claim = judged(crawl, A, story(1)).claim
        assert claim is not None
        assert not claim.new
        assert judged(crawl, B, story(1)).verdict.original == A
        with looked_after(path, write=True) as beside:
            (found,) = beside.find([A])
            (removed,) = beside.remove([found.page])
        assert [orphan.url for orphan in removed.orphans] == ([B] if since == "run" else [])
        assert getattr(crawl, settle)([claim]).count == 0
        assert crawl.originals() == 0
    rows = ask(path, "SELECT status, original_removed IS NOT NULL FROM decisions WHERE run = 2")
    assert rows == [(status, 1)]
    assert wrong_with(path, METHODS) == []


def test_a_page_whose_new_text_is_not_settled_goes_with_both(path):
    with Deduplicator(path) as dedup:
        judged(dedup, A, story(1), confirm=True)
        claim = judged(dedup, A, story(2)).claim
        assert dedup.originals() == 2
        assert dedup.remove(A).originals == 2
        assert dedup.confirm([claim]).count == 0
        assert dedup.originals() == 0
        assert judged(dedup, B, story(1)).verdict.status == "unique"


def test_only_the_old_text_is_removed(path):
    """By run: what the open claim was to replace is gone, and it stands by itself."""
    with Deduplicator(path) as first:
        judged(first, A, story(1), confirm=True)
    with Deduplicator(path) as second:
        claim = judged(second, A, story(2)).claim
        assert second.remove(run=first.run).originals == 1
        assert second.confirm([claim]).count == 1
        assert judged(second, B, story(2)).verdict.original == A
        assert judged(second, C, story(1)).verdict.status == "unique"
    assert wrong_with(path, METHODS) == []


def test_what_a_dead_run_left_open_can_be_removed(path):
    """A run that died is none's to wait for; its copies become orphans as they would anyway."""
    crawl = Deduplicator(path)
    judged(crawl, A, story(1))
    judged(crawl, B, story(1))
    crawl._index._checkpointer.stop()
    crawl._index.connection.close()
    crawl._index._lock._lock.release()
    with looked_after(path, write=True) as beside:
        (removed,) = beside.remove([found.page for found in beside.find(host="a.example")])
    assert [orphan.url for orphan in removed.orphans] == [B]
    with Deduplicator(path) as dedup:
        assert not dedup.reaped.orphans
        assert judged(dedup, C, story(1)).verdict.status == "unique"
    assert wrong_with(path, METHODS) == []


def test_what_a_run_made_originals_of(path):
    """Its output is lost, say: a run's pages are to be met as new ones (warcprox issue 137)."""
    with Deduplicator(path) as first:
        judged(first, A, story(1), confirm=True)
    with Deduplicator(path) as second:
        judged(second, A, story(1), confirm=True)
        judged(second, B, story(2), confirm=True)
        item = second.item(B, "Review", "5")
        second.judge(item, analyse(Source(text=(story(3),)), second.recipe()), confirm=True)
    with Deduplicator(path) as third:
        # Pages, and items that come from them; what an earlier run stored stays.
        assert third.remove(run=second.run) == Removed(2, 0)
        assert judged(third, A, story(1)).verdict.status == "revisit"
        assert judged(third, B, story(2)).verdict.status == "unique"
        assert third.remove(run=77) == Removed()


HOSTS = [
    ("https://example.com/a", "example.com", True),
    ("https://EXAMPLE.com:8080/a", "Example.com", True),
    ("https://www.example.com/a", "example.com", False),
    ("https://www.example.com/a", ".example.com", True),
    ("https://example.com/a", ".example.com", True),
    ("https://badexample.com/a", ".example.com", False),
    ("https://example.org/?u=example.com", "example.com", False),
    ("https://example.com.evil.example/", "example.com", False),
    ("https://xn--mller-kva.example/", "müller.example", True),
    ("http://[::1", "::1", False),
    ("no url: example.com", "example.com", False),
]


@pytest.mark.parametrize(("url", "host", "on"), HOSTS)
def test_hosts(url, host, on):
    assert is_on(url, host) is on


def test_all_that_is_given_must_hold(path):
    with Deduplicator(path) as dedup:
        for at, url in enumerate((A, B, f"{A}/2")):
            judged(dedup, url, story(at), confirm=True)
        with pytest.raises(ValueError, match="URLs, a host or a run"):
            dedup.remove()
        assert dedup.remove(A, host="b.example") == Removed()
        assert dedup.remove(A, B, "https://nowhere.example/", host="b.example").originals == 1
        # As it is stored, without a password.
        assert dedup.remove("https://me:secret@a.example/story").originals == 1
        assert dedup.remove(host="a.example", run=dedup.run).originals == 1
        assert dedup.originals() == 0


def test_a_damaged_page_can_be_removed(path):
    with Deduplicator(path) as dedup:
        judged(dedup, A, story(1), confirm=True)
        judged(dedup, B, story(2), confirm=True)
    ask(path, "UPDATE pages SET signature = x'00', url = CAST(x'FF41' AS TEXT) WHERE id = 1")
    with looked_after(path, write=True) as beside:
        found = list(beside.find(run=1))
        assert [each.url for each in found] == ["\ufffdA", B]
        assert sum(beside.remove([1]), Removed()).originals == 1
    assert wrong_with(path, METHODS) == []


# Several at once


@pytest.fixture
def hasty(monkeypatch) -> None:
    """A transaction for each page."""
    monkeypatch.setattr(upkeep, "_SECONDS", 0.0)


WRITER = """
    import sys
    from scrapy_simdedup import Deduplicator
    sys.path.insert(0, {tests!r})
    from test_upkeep import judged
    from texts import story

    with Deduplicator({path!r}) as dedup:
        for at in range(120):
            judged(dedup, f"https://old.example/{{at}}", story(at % 60, 60), confirm=True)
            found = judged(dedup, f"https://new.example/{{at}}", story(200 + at, 60))
            dedup.confirm([found.claim]) if at % 3 else dedup.release([found.claim])
            print(at, flush=True)
"""


def writer(path: Path) -> subprocess.Popen[str]:
    script = WRITER.format(tests=str(Path(__file__).parent), path=str(path))
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_while_another_process_writes(path, hasty):
    """Nothing is torn, nothing is in the way, and what is not to be removed stays."""
    with Deduplicator(path) as dedup:
        crawl = writer(path)
        assert crawl.stdout is not None
        removed = 0
        for _ in crawl.stdout:
            removed += dedup.remove(host="old.example").originals
            dedup.prune(timedelta(days=1))
        said = crawl.stderr.read() if crawl.stderr else ""
        assert (crawl.wait(), said) == (0, "")
        removed += dedup.remove(host="old.example").originals
        # Each of them was kept when it came, unless its equal was there still.
        assert 60 <= removed <= 120
        assert dedup.originals() == 80
    assert wrong_with(path, METHODS) == []


def test_killed_half_way(path, hasty):
    """A page is there with all its rows, or gone with all of them."""
    with Deduplicator(path) as dedup:
        for at in range(40):
            judged(dedup, f"https://a.example/{at}", story(at, 60), confirm=True)
            judged(dedup, f"https://b.example/{at}", story(at, 60))
    for steps in (300, 3000, 9000):
        child = os.fork()
        if child == 0:
            try:
                with looked_after(path, write=True) as beside:
                    beside._connection.set_progress_handler(
                        lambda: os.kill(os.getpid(), signal.SIGKILL), steps
                    )
                    found = [each.page for each in beside.find(host="a.example")]
                    list(beside.remove(found))
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == signal.SIGKILL
        assert wrong_with(path, METHODS) == []
    left = ask(path, "SELECT count(*) FROM pages")[0][0]
    assert 0 < left < 40
    marked = ask(path, "SELECT count(*) FROM decisions WHERE original_removed IS NOT NULL")
    assert marked == [(40 - left,)]


def test_others_get_their_turn(path, hasty):
    """Between two transactions whoever judges in the same process goes on."""
    with Deduplicator(path) as dedup:
        for at in range(3):
            judged(dedup, f"{A}/{at}", story(at), confirm=True)
        steps = dedup._index.upkeep.remove([1, 2, 3])
        assert next(steps) == Removed(1)
        assert judged(dedup, B, story(0), confirm=True).verdict.status == "unique"
        assert judged(dedup, C, story(1)).verdict.original == f"{A}/1"
        # A page that somebody else removed meanwhile is no error.
        dedup.remove(f"{A}/1")
        assert sum(steps, Removed()) == Removed(1)


# Pruning


def met(path: Path, url: str, text: str, **settings: Any) -> None:
    with Deduplicator(path, settings) as dedup:
        judged(dedup, url, text, confirm=True)


def urls(path: Path) -> list[str]:
    return [url for (url,) in ask(path, "SELECT url FROM pages ORDER BY id")]


def test_the_last_visit_counts_and_not_the_first(path, later):
    met(path, A, story(1))
    met(path, B, story(2))
    met(path, C, story(2))
    later(days=20)
    met(path, A, story(1))
    later(days=20)
    with Deduplicator(path) as dedup:
        assert dedup.prune(timedelta(days=30)) == Removed(1, 1)
        assert judged(dedup, C, story(2)).verdict.status == "unique"
        assert judged(dedup, B, story(1)).verdict.original == A
    assert wrong_with(path, METHODS) == []


def test_since_a_time(path, later):
    met(path, A, story(1))
    later(days=10)
    now = datetime.now(timezone.utc)
    with Deduplicator(path) as dedup:
        assert dedup.prune(now - timedelta(days=1)).originals == 0
        # One that names no zone is meant in UTC.
        assert dedup.prune((now + timedelta(days=5)).replace(tzinfo=None)).originals == 1


def test_what_a_live_run_has_met_stays_however_long_it_takes(path, later):
    with Deduplicator(path) as crawl:
        judged(crawl, A, story(1), confirm=True)
        judged(crawl, B, story(2))
        later(days=100)
        with looked_after(path, write=True) as beside:
            assert sum(beside.prune(ages.ago(86_400)), Removed()) == Removed()
            assert beside.old(ages.ago(86_400)) == (0, 0)
        assert crawl.prune(timedelta(days=1)) == Removed()
        assert crawl.originals() == 2
    # And what it met counts as met when it ended.
    assert urls(path) == [A]
    later(days=20)
    with Deduplicator(path) as dedup:
        assert dedup.prune(timedelta(days=30)) == Removed()


def died(path: Path, later: Callable[..., None]) -> None:
    crawl = Deduplicator(path)
    judged(crawl, A, story(1), confirm=True)
    later(days=20)
    judged(crawl, B, story(2), confirm=True)
    crawl._index._checkpointer.stop()
    crawl._index.connection.close()
    crawl._index._lock._lock.release()


@pytest.mark.parametrize("reaped", [False, True])
def test_a_run_that_died_ended_with_its_last_sign_of_life(path, later, reaped):
    died(path, later)
    if reaped:
        Deduplicator(path).close()
    later(days=20)
    with looked_after(path, write=True) as beside:
        assert sum(beside.prune(ages.ago(30 * 86_400)), Removed()) == Removed()
        later(days=20)
        assert sum(beside.prune(ages.ago(30 * 86_400)), Removed()) == Removed(2)


def test_a_page_that_is_met_meanwhile_stays(path, later, hasty):
    for at in range(3):
        met(path, f"{A}/{at}", story(at))
    later(days=40)
    with Deduplicator(path) as dedup:
        steps = dedup._index.upkeep.prune(ages.ago(86_400))
        assert next(steps) == Removed(1)
        judged(dedup, f"{A}/1", story(1), confirm=True)
        assert sum(steps, Removed()) == Removed(1)
    assert urls(path) == [f"{A}/1"]


def test_the_log_is_pruned_where_that_is_asked_for(path, later):
    copy = page(story(1), "copy", "wire")

    def crawl() -> Iterator[str]:
        with Deduplicator(path) as dedup:
            for url, html in ((A, page(story(1))), (B, copy), (C, page("Too short."))):
                yield dedup.check(url, html=html).status

    assert list(crawl()) == ["unique", "duplicate", "skipped"]
    assert ask(path, "SELECT count(*) FROM bodies") == [(2,)]
    later(days=40)
    with Deduplicator(path) as live:
        live.check("https://d.example/", html=page("Short."))
        later(days=40)
        removed = live.prune(timedelta(days=30), decisions=True)
        # What a live run logged stays, however old it is: it may yet have orphans.
        assert removed == Removed(1, 1, 3)
    assert ask(path, "SELECT url FROM decisions") == [("https://d.example/",)]
    # Its number is free for another decision, which says nothing of the old body.
    assert ask(path, "SELECT decision FROM bodies") == [(4,)]
    assert list(crawl()) == ["unique", "duplicate", "skipped"]
    assert wrong_with(path, METHODS) == []


# SIMDEDUP_MAX_AGE


def test_texts_go_with_the_last_that_refers_to_them(path, later):
    stored = "SELECT count(*) FROM texts"
    with Deduplicator(path, {"SIMDEDUP_STORE_TEXT": True}) as dedup:
        for number in range(3):
            dedup.check(f"{A}/{number}", text=story(number))
    later(days=40)
    with Deduplicator(path) as dedup:
        # The log still shows what is removed.
        assert dedup.remove(f"{A}/0").originals == 1
        assert ask(path, stored) == [(3,)]
        dedup.prune(timedelta(days=30), decisions=True)
        assert ask(path, stored) == [(0,)]


def test_a_text_that_is_needed_again_meanwhile_stays(path, monkeypatch):
    settings = {"SIMDEDUP_STORE_TEXT": True}
    with Deduplicator(path, settings) as dedup, Deduplicator(path, settings) as crawl:
        for at in range(2):
            dedup.check(f"{A}/{at}", text=story(at))
        dedup.remove(host="a.example")
        dedup._index.connection.execute("DELETE FROM decisions")
        upkeep = dedup._index.upkeep
        write = upkeep._write

        def first_a_page() -> Any:
            crawl.check(B, text=story(1))
            return write()

        monkeypatch.setattr(upkeep, "_write", first_a_page)
        list(upkeep._forget_texts())
    assert ask(path, "SELECT digest FROM texts") == ask(path, "SELECT digest FROM pages")
    assert wrong_with(path, METHODS) == []


def test_what_is_too_old_goes_when_a_run_starts(path, later, caplog):
    met(path, A, story(1))
    later(days=20)
    met(path, B, story(2))
    later(days=20)
    with caplog.at_level(logging.INFO), Deduplicator(path, {"SIMDEDUP_MAX_AGE": "30d"}) as dedup:
        assert dedup.originals() == 1
        assert judged(dedup, C, story(1)).verdict.status == "unique"
        assert judged(dedup, C, story(2)).verdict.original == B
    assert f"{path}: 1 originals were pruned" in caplog.text


def test_what_grows_too_old_in_a_run_is_no_original_any_more(path, later):
    met(path, A, story(1))
    later(days=20)
    with (
        Deduplicator(path, {"SIMDEDUP_MAX_AGE": "30d"}) as crawl,
        Deduplicator(path) as other,
    ):
        assert judged(crawl, B, story(1)).verdict.original == A
        later(days=20)
        # Not by any of the ways to it: its text, its own name, its body, its memory.
        assert judged(crawl, B, story(1)).verdict.status == "unique"
        assert judged(other, C, story(1)).verdict.original == A
        assert judged(crawl, A, story(1)).verdict.original == B


def test_an_unchanged_page_that_was_too_old_is_new(path, later):
    html = page(story(1))
    with Deduplicator(path) as dedup:
        dedup.check(A, html=html)
        dedup.check(B, html=page(story(1), "copy", "wire"))
    later(days=20)
    with Deduplicator(path, {"SIMDEDUP_MAX_AGE": "30d"}) as dedup:
        assert dedup.check(A, html=html).status == "revisit"
    later(days=31)
    with Deduplicator(path, {"SIMDEDUP_MAX_AGE": "30d"}) as dedup:
        assert dedup.check(B, html=page(story(1), "copy", "wire")).status == "unique"
        assert dedup.check(A, html=html).original == B


def test_a_run_starts_where_pruning_fails(path, later, monkeypatch, caplog):
    met(path, A, story(1))
    later(days=40)

    def full(*_: Any) -> Any:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(upkeep.Upkeep, "_take_out", full)
    with Deduplicator(path, {"SIMDEDUP_MAX_AGE": "30d"}) as dedup:
        assert f"cannot prune {path}: database or disk is full" in caplog.text
        assert judged(dedup, B, story(1)).verdict.status == "unique"


def test_a_run_does_not_wait_long_for_what_is_too_old(path, later, hasty, monkeypatch):
    for at in range(5):
        met(path, f"{A}/{at}", story(at))
    later(days=40)
    monkeypatch.setattr("scrapy_simdedup.upkeep._LONGEST", 0.0)
    with Deduplicator(path, {"SIMDEDUP_MAX_AGE": "30d"}) as dedup:
        assert dedup.originals() == 4
        # The others do not count either.
        assert all(
            judged(dedup, f"{B}/{at}", story(at)).verdict.status == "unique" for at in range(5)
        )
