"""Jobs that share a commit: an answer is a promise, and a failure is one's own."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any

import pytest

from scrapy_simdedup.crawl import judging
from scrapy_simdedup.crawl.judging import JudgingThread
from scrapy_simdedup.deduplicator import Deduplicator
from scrapy_simdedup.verdict import Verdict
from test_index import BITS_ONLY, fingerprinted
from texts import story

ANSWER = Verdict("skipped", "made-up")


@pytest.fixture
def dedup(tmp_path) -> Iterator[Deduplicator]:
    with Deduplicator(tmp_path / "index.db", BITS_ONLY) as opened:
        yield opened


@pytest.fixture
def thread(dedup) -> Iterator[JudgingThread]:
    working = JudgingThread(dedup.together)
    yield working
    working.stop()


def noting(dedup: Deduplicator, url: str) -> Callable[[], None]:
    return lambda: dedup.note(dedup.page(url), ANSWER)


def at_once(thread: JudgingThread, *jobs: Callable[[], Any]) -> list[Future[Any]]:
    """Submit jobs while the thread is busy, so that they all wait when it comes to them."""
    gate = threading.Event()
    thread.alone(lambda: gate.wait(60))
    futures = [thread.submit(job) for job in jobs]
    gate.set()
    wait(futures, 60)
    return futures


def logged(path: Path) -> list[str]:
    """The pages in the log as another connection sees it: what is committed."""
    with contextlib.closing(sqlite3.connect(path)) as other:
        return [row[0] for row in other.execute("SELECT url FROM decisions ORDER BY id")]


@contextlib.contextmanager
def no_commits(connection: sqlite3.Connection) -> Iterator[None]:
    """Let every COMMIT fail, as on a broken disk."""

    def authorise(action: int, what: str | None, *_: Any) -> int:
        commit = action == sqlite3.SQLITE_TRANSACTION and what == "COMMIT"
        return sqlite3.SQLITE_DENY if commit else sqlite3.SQLITE_OK

    connection.set_authorizer(authorise)
    try:
        yield
    finally:
        connection.set_authorizer(lambda *_: sqlite3.SQLITE_OK)


def statements(connection: sqlite3.Connection) -> list[str]:
    """The list to which every statement from now on is added."""
    seen: list[str] = []
    connection.set_trace_callback(seen.append)
    return seen


def test_an_answer_comes_after_its_commit(dedup, thread, monkeypatch):
    monkeypatch.setattr(judging, "_LONGEST", 60)
    seen: dict[str, bool] = {}

    def answered(url: str) -> Callable[[Future[Any]], None]:
        def look(_: Future[Any]) -> None:
            seen[url] = url in logged(dedup.path)

        return look

    gate = threading.Event()
    thread.alone(lambda: gate.wait(60))
    futures = []
    for number in range(20):
        futures.append(thread.submit(noting(dedup, f"{number}")))
        futures[-1].add_done_callback(answered(f"{number}"))
    assert logged(dedup.path) == []
    gate.set()
    wait(futures, 60)
    # The last callback runs before the thread takes the next job.
    thread.alone(lambda: None).result(60)
    assert seen == {f"{number}": True for number in range(20)}


def test_jobs_that_wait_share_a_commit(dedup, thread, monkeypatch):
    monkeypatch.setattr(judging, "_LONGEST", 60)
    seen = statements(dedup._index.connection)
    futures = at_once(thread, *(noting(dedup, f"{number}") for number in range(100)))
    assert all(future.exception(0) is None for future in futures)
    # 64 at a time, and no more.
    assert seen.count("COMMIT") == seen.count("BEGIN IMMEDIATE") == 2
    assert sum(statement.startswith("INSERT INTO decisions") for statement in seen) == 100
    assert logged(dedup.path) == [f"{number}" for number in range(100)]


def test_none_waits_long_for_the_others(dedup, thread, monkeypatch):
    monkeypatch.setattr(judging, "_LONGEST", 0)
    seen = statements(dedup._index.connection)
    at_once(thread, *(noting(dedup, f"{number}") for number in range(10)))
    assert seen.count("COMMIT") == 10


def test_jobs_that_only_read_need_no_transaction(dedup, thread):
    seen = statements(dedup._index.connection)
    futures = at_once(thread, *[dedup.originals] * 5)
    assert [future.result(0) for future in futures] == [0] * 5
    assert set(seen) == {"SELECT count(*) FROM pages"}


def test_a_job_that_raises_is_undone_alone(dedup, thread, monkeypatch):
    monkeypatch.setattr(judging, "_LONGEST", 60)
    seen = statements(dedup._index.connection)
    log = dedup._index.log

    def failing(values: Any) -> int:
        # Its page and rows are stored by now.
        return 1 // 0 if values[1] in ("0", "3", "7") else log(values)

    monkeypatch.setattr(dedup._index, "log", failing)

    def judging_of(number: int) -> Callable[[], Any]:
        value = number * 0x9E3779B97F4A7C15 % 2**64
        return lambda: dedup.judge(dedup.page(f"{number}"), fingerprinted(value), confirm=True)

    futures = at_once(thread, *map(judging_of, range(10)))
    failed = [at for at, future in enumerate(futures) if future.exception(0)]
    assert failed == [0, 3, 7]
    assert all(isinstance(futures[at].exception(0), ZeroDivisionError) for at in failed)
    assert seen.count("COMMIT") == 1
    with contextlib.closing(sqlite3.connect(dedup.path)) as other:
        kept = [row[0] for row in other.execute("SELECT url FROM pages ORDER BY id")]
        assert kept == [str(at) for at in range(10) if at not in failed]
        rows = "SELECT count(*) FROM bands WHERE page NOT IN (SELECT id FROM pages)"
        assert other.execute(rows).fetchone() == (0,)


def test_a_commit_that_fails_fails_every_answer(dedup, thread, monkeypatch):
    monkeypatch.setattr(judging, "_LONGEST", 60)
    with no_commits(dedup._index.connection):
        futures = at_once(
            thread, noting(dedup, "a"), lambda: 1 // 0, dedup.originals, noting(dedup, "b")
        )
    errors = [type(future.exception(0)) for future in futures]
    assert errors == [sqlite3.DatabaseError, ZeroDivisionError, *[sqlite3.DatabaseError] * 2]
    assert logged(dedup.path) == []
    # And the next ones go on.
    assert at_once(thread, noting(dedup, "c"))[0].exception(0) is None
    assert logged(dedup.path) == ["c"]


def test_a_commit_that_fails_alone_does_not_stop_the_next(dedup):
    with no_commits(dedup._index.connection), pytest.raises(sqlite3.DatabaseError):
        dedup.note(dedup.page("a"), ANSWER)
    dedup.note(dedup.page("b"), ANSWER)
    assert logged(dedup.path) == ["b"]


def test_on_a_full_disk_an_answer_is_still_a_promise(dedup, thread, monkeypatch):
    monkeypatch.setattr(judging, "_LONGEST", 60)
    execute = dedup._index.connection.execute
    (pages,) = execute("PRAGMA page_count").fetchone()
    execute(f"PRAGMA max_page_count = {pages + 4}")
    long = "x" * 500
    futures = at_once(thread, *(noting(dedup, f"{number}{long}") for number in range(60)))
    execute("PRAGMA max_page_count = 1000000")
    promised = [f"{at}{long}" for at, future in enumerate(futures) if not future.exception(0)]
    assert len(promised) < 60
    assert logged(dedup.path) == promised
    assert at_once(thread, noting(dedup, "later"))[0].exception(0) is None
    assert logged(dedup.path) == [*promised, "later"]


def test_no_job_is_forgotten(dedup, thread):
    """2,000 jobs from eight threads, some of which raise, and some of which write."""
    futures: dict[int, Future[int]] = {}

    def job(number: int) -> Callable[[], int]:
        def run() -> int:
            if number % 10 == 0:
                dedup.note(dedup.page(f"{number}"), ANSWER)
            return number if number % 10 != 1 else 1 // 0

        return run

    def submitting(first: int) -> None:
        for number in range(first, 2000, 8):
            futures[number] = thread.submit(job(number))

    threads = [threading.Thread(target=submitting, args=(first,)) for first in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wait(futures.values(), 60).not_done
    for number, future in futures.items():
        if number % 10 == 1:
            assert isinstance(future.exception(0), ZeroDivisionError)
        else:
            assert future.result(0) == number
    assert sorted(map(int, logged(dedup.path))) == list(range(0, 2000, 10))


@pytest.mark.parametrize("undone", ["a part", "all"])
def test_the_scan_forgets_what_is_undone(tmp_path, undone):
    """A page's number is given anew after it was rolled back, to another fingerprint."""
    settings = {**BITS_ONLY, "SIMDEDUP_MAX_DISTANCE": 20}
    gone, query, new = 0xFFFFFF << 40, 0xFFFFFF, 0xFFFFFF << 20
    with Deduplicator(tmp_path / "index.db", settings) as dedup:

        def judge(name: str, value: int) -> Any:
            return dedup.judge(dedup.page(name), fingerprinted(value), confirm=True)

        def in_vain() -> int:
            """Judge two pages that come to nothing; return the number of the first one."""
            number = judge("gone", gone).claim.page
            # This look-up reads the page that will be gone.
            assert judge("query", query).verdict.status == "unique"
            return number

        def go_on(number: int) -> None:
            assert judge("new", new).claim.page == number
            found = judge("copy of new", new ^ 0b111).verdict
            assert (found.original, found.distance) == ("new", 3)

        assert judge("first", 0).verdict.status == "unique"
        number = 0
        if undone == "a part":
            with dedup.together():
                with pytest.raises(ZeroDivisionError), dedup._index.write():
                    number = in_vain()
                    1 // 0  # noqa: B018
                go_on(number)
        else:
            failing = pytest.raises(sqlite3.DatabaseError)
            with no_commits(dedup._index.connection), failing, dedup.together():
                number = in_vain()
            go_on(number)
        assert judge("copy of gone", gone ^ 0b1).verdict.status == "unique"


def test_a_lock_of_another_process_is_waited_for(tmp_path):
    path = tmp_path / "index.db"
    script = """
        import sqlite3, sys, time
        other = sqlite3.connect(sys.argv[1], isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        other.execute("INSERT INTO meta VALUES ('theirs', '1')")
        print("held", flush=True)
        time.sleep(1)
        other.execute("COMMIT")
    """
    with Deduplicator(path) as dedup:
        thread = JudgingThread(dedup.together)
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(script), str(path)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        theirs = "SELECT count(*) FROM meta WHERE key = 'theirs'"
        assert dedup._index.connection.execute(theirs).fetchone() == (0,)
        futures = [thread.submit(lambda n=n: dedup.check(f"{n}", text=story(n))) for n in range(3)]
        assert [future.result(60).status for future in futures] == ["unique"] * 3
        # It came after theirs.
        assert dedup._index.connection.execute(theirs).fetchone() == (1,)
        assert process.wait(60) == 0
        thread.stop()
