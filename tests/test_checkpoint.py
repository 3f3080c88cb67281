"""Checkpoints beside the judging: what is committed comes into the index file by itself."""

from __future__ import annotations

import logging
import shutil
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scrapy_simdedup.deduplicator import Deduplicator
from scrapy_simdedup.index import checkpoint
from scrapy_simdedup.index.checkpoint import Checkpointer
from scrapy_simdedup.verdict import Verdict

PAGE = 2048
LONG = "x" * 1000


@pytest.fixture(autouse=True)
def often(monkeypatch) -> None:
    monkeypatch.setattr(checkpoint, "_SECONDS", 0.01)
    monkeypatch.setattr(checkpoint, "_SOME", 32 * PAGE)


@pytest.fixture
def dedup(tmp_path) -> Iterator[Deduplicator]:
    with Deduplicator(tmp_path / "index.db") as opened:
        yield opened


def note(dedup: Deduplicator, count: int) -> None:
    for number in range(count):
        dedup.note(dedup.page(f"{number}{LONG}"), Verdict("skipped", "made-up"))


def soon(found: Callable[[], object]) -> bool:
    """Wait, for a bounded time, until something is so."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if found():
            return True
        time.sleep(0.01)
    return False


def wal(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def salt_of(path: Path) -> bytes:
    """What the header of the -wal file has anew each time that it is written from the start."""
    with wal(path).open("rb") as log:
        return log.read(32)[16:24]


def in_the_file(path: Path, copy: Path) -> int:
    """How many decisions the index file itself holds, without what lies beside it."""
    shutil.copy(path, copy)
    with sqlite3.connect(f"{copy.as_uri()}?immutable=1", uri=True) as alone:
        try:
            return alone.execute("SELECT count(*) FROM decisions").fetchone()[0]
        except sqlite3.DatabaseError:
            # Copied in the middle of a checkpoint, or before the first.
            return -1


def test_what_is_committed_comes_into_the_file(dedup, tmp_path):
    note(dedup, 200)
    assert soon(lambda: in_the_file(dedup.path, tmp_path / "copy.db") == 200)
    # And its space is used again by what comes then.
    sizes, salt = [wal(dedup.path).stat().st_size], salt_of(dedup.path)
    assert sizes[0] > 32 * PAGE

    def begun_anew() -> bool:
        note(dedup, 1)
        sizes.append(wal(dedup.path).stat().st_size)
        return salt_of(dedup.path) != salt

    # Not always by the first: a checkpoint that is under way keeps it.
    assert soon(begun_anew)
    assert sizes[-1] == sizes[-2]


def test_a_few_pages_are_left_alone(monkeypatch, tmp_path):
    """Until there are many; the end of the run brings them all."""
    tried: list[int] = []
    monkeypatch.setattr(Checkpointer, "_size", lambda self: tried.append(1) or 32 * PAGE - 1)
    path = tmp_path / "index.db"
    with Deduplicator(path) as dedup:
        note(dedup, 50)
        assert soon(lambda: len(tried) > 3)
        assert in_the_file(path, tmp_path / "copy.db") <= 0
    assert in_the_file(path, tmp_path / "copy.db") == 50
    assert not wal(path).exists()


def test_who_writes_without_a_pause_does_not_fill_the_disk(dedup, monkeypatch):
    """A writer in another process, which no checkpoint of ours ever finds at rest."""
    monkeypatch.setattr(checkpoint, "_MOST_FRAMES", 200)
    script = """
        import sqlite3, sys
        other = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
        other.execute("PRAGMA wal_autocheckpoint = 0")
        other.execute("PRAGMA synchronous = NORMAL")
        for number in range(60_000):
            other.execute("INSERT INTO meta VALUES (?, ?)", (str(number), "x" * 1000))
        # Not closed in peace: the last one to close a file makes a checkpoint.
        import os
        os._exit(0)
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script), str(dedup.path)])
    begun: set[bytes] = set()
    while process.poll() is None:
        begun.add(salt_of(dedup.path))
        time.sleep(0.002)
    assert process.returncode == 0
    # These rows make more than 360 MB; the file is begun anew again and again meanwhile.
    assert len(begun) > 4


def test_a_file_that_vanished_is_not_made_anew(tmp_path, caplog):
    caplog.set_level(logging.DEBUG, checkpoint.logger.name)
    path = tmp_path / "index.db"
    wal(path).write_bytes(b"x" * 64 * PAGE)
    working = Checkpointer(path)
    working.start()
    assert soon(lambda: f"no checkpoint of {path}" in caplog.text)
    assert not path.exists()
    working.stop()
    assert not path.exists()


def test_the_next_try_comes_after_one_that_failed(dedup, monkeypatch, caplog, tmp_path):
    caplog.set_level(logging.DEBUG, checkpoint.logger.name)
    connect = sqlite3.connect
    failures = iter([sqlite3.OperationalError("disk I/O error")] * 3)

    class Failing:
        Error = sqlite3.Error

        @staticmethod
        def connect(*arguments, **options):
            for failure in failures:
                raise failure
            return connect(*arguments, **options)

    monkeypatch.setattr(checkpoint, "sqlite3", Failing)
    note(dedup, 100)
    assert soon(lambda: in_the_file(dedup.path, tmp_path / "copy.db") == 100)
    assert caplog.text.count("disk I/O error") == 3


def threads() -> set[threading.Thread]:
    return {each for each in threading.enumerate() if each.name == "simdedup-checkpoint"}


def test_closing_stops_the_thread(tmp_path):
    before = threads()
    dedup = Deduplicator(tmp_path / "index.db")
    (mine,) = threads() - before
    note(dedup, 100)
    dedup.close()
    assert not mine.is_alive()
    dedup.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index.db", "index.db.lock"]


def test_an_index_that_does_not_open_starts_no_thread(tmp_path):
    before = threads()
    (tmp_path / "index.db").write_bytes(b"no index at all, but long enough to look at" * 100)
    with pytest.raises(Exception, match="is no index"):
        Deduplicator(tmp_path / "index.db")
    assert threads() == before
    # Stopping what was never started is no error.
    Checkpointer(tmp_path / "index.db").stop()
