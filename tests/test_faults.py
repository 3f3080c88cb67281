"""Kills at random moments: the index stays whole, and nothing that was kept is lost."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import forked
from invariants import asked, wrong_with
from scrapy_simdedup.config import Config
from scrapy_simdedup.deduplicator import Deduplicator
from scrapy_simdedup.identity import identity_of
from scrapy_simdedup.index.files import check_usable

HERE = Path(__file__).parent
METHODS = ["simhash", "sketch"]

digest = cache(lambda text: forked.analysis(text).digest)


@pytest.fixture(scope="module")
def writers() -> Iterator[Any]:
    """A function that runs a writer in a fork of a loaded process, and kills it."""
    process = subprocess.Popen(
        [sys.executable, HERE / "forked.py"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{HERE.parent}{os.pathsep}{HERE}"},
    )
    assert process.stdin is not None
    assert process.stdout is not None

    def run(path: Path, seed: int, seconds: float, since: str) -> list[list[Any]]:
        print(json.dumps([str(path), seed, seconds, since]), file=process.stdin, flush=True)
        return json.loads(process.stdout.readline())

    yield run
    process.stdin.close()
    process.wait()


class Told:
    """What all writers of a file told, and what the file may hold after that."""

    def __init__(self) -> None:
        self.kept: dict[str, int] = {}
        # Since it was last kept, and ever.
        self.tried: defaultdict[str, set[int]] = defaultdict(set)
        self.ever: defaultdict[str, set[int]] = defaultdict(set)
        self.gone: set[tuple[str, int]] = set()
        self.order: list[str] = []

    def add(self, lines: list[list[Any]]) -> None:
        """Take note of what a writer told before it died."""
        for what, *words in lines:
            assert what != "failed", words
            if what == "trying":
                url, text = words
                self.tried[url].add(text)
                self.ever[url].add(text)
                self.gone.discard((url, text))
            elif what == "kept":
                url, text = words
                self.kept[url], self.tried[url] = text, set()
                self.order.append(url)
            elif what == "gone":
                self.gone.add(tuple(words))

    def compare(self, rows: list[tuple[str, bytes]], *, lossless: bool = True) -> None:
        """Compare with the pages of an index: all that was kept, one text for each page."""
        there = defaultdict(list)
        for url, text in rows:
            there[url].append(text)
        for url, texts in there.items():
            last = {self.kept[url]} if url in self.kept else set()
            allowed = self.tried[url] | last if lossless else self.ever[url]
            assert len(texts) == 1, url
            assert texts[0] in map(digest, allowed), url
        for url, text in self.gone:
            assert digest(text) not in there[url]
        if lossless:
            assert {url for url in self.kept if not there[url]} == set()


def open_again(path: Path) -> list[tuple[str, bytes]]:
    """Open an index after a kill, check it, and return its pages."""
    left = asked(path, "SELECT url, digest FROM pages WHERE NOT confirmed")
    texts = {digest for (digest,) in asked(path, "SELECT digest FROM pages WHERE confirmed")}
    # Pages that the dead run did not come to keep are nobody's originals.
    loose = [(url, found) for url, found in left if found not in texts]
    with Deduplicator(path, forked.SETTINGS) as dedup:
        assert wrong_with(path, METHODS, settled=False) == []
        for _, found in loose[:1]:
            number = next(n for n in range(forked.TEXTS) if digest(n) == found)
            probe = dedup.judge(dedup.page("probe"), forked.analysis(number))
            assert probe.verdict.status == "unique"
            dedup.release([probe.claim])
    assert wrong_with(path, METHODS) == []
    return asked(path, "SELECT url, digest FROM pages")


@pytest.mark.slow
@pytest.mark.parametrize("series", range(10))
def test_200_kills_of_a_writer(writers, tmp_path, series):
    """Ten series of twenty kills, ten of a file; a fifth of them while it is opened or made."""
    pick = random.Random(f"kills {series}")
    left_open = 0
    for file in range(2):
        path, told = tmp_path / f"{file}.db", Told()
        for kill in range(10):
            since = "fork" if kill % 5 == 0 else "open"
            lines = writers(
                path, 1000 * series + 10 * file + kill, pick.uniform(0.001, 0.06), since
            )
            told.add(lines)
            if not path.exists():
                assert since == "fork"
                continue
            left_open += int(wrong_with_open(path))
            told.compare(open_again(path))
        assert len(told.kept) > 20
    # The kills did not all come when nothing was at stake.
    assert left_open > 5


def wrong_with_open(path: Path) -> bool:
    """Tell whether something is open in the file of a process that was killed."""
    return bool(asked(path, "SELECT id FROM pages WHERE NOT confirmed"))


def test_a_log_that_a_power_cut_shortened(writers, tmp_path):
    """What is left are the first so many commits: whole pages, and no other order."""
    pick = random.Random("power")
    for kill in range(6):
        path, told = tmp_path / f"{kill}.db", Told()
        told.add(writers(path, kill, pick.uniform(0.03, 0.06), "open"))
        log = path.with_name(f"{path.name}-wal")
        size = log.stat().st_size
        assert size
        lengths = [0, 1, 31, 32, 33, size - 1, *(pick.randrange(size) for _ in range(6))]
        found = []
        for cut, length in enumerate(lengths):
            copy = tmp_path / f"cut-{kill}-{cut}.db"
            shutil.copy(path, copy)
            shutil.copy(log, f"{copy}-wal")
            os.truncate(f"{copy}-wal", length)
            rows = open_again(copy)
            told.compare(rows, lossless=False)
            there = {url for url, _ in rows}
            first = list(dict.fromkeys(told.order))
            lost = [url not in there for url in first]
            assert lost == sorted(lost)
            found.append((length, len(there)))
        # The more of the log there is, the more of the pages.
        assert [pages for _, pages in sorted(found)] == sorted(pages for _, pages in found)
        assert min(found)[1] == 0
        assert max(found)[1] > 3


def test_a_file_whose_maker_died_is_used_again(tmp_path):
    """Half a change in it, and the journal beside it that undoes it."""
    path = tmp_path / "index.db"
    with Deduplicator(path, forked.SETTINGS) as dedup:
        dedup.judge(dedup.page("a"), forked.analysis(1), confirm=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as index:
        index.execute("PRAGMA journal_mode = DELETE")
        index.execute("PRAGMA cache_size = 1")
        index.execute("BEGIN")
        index.execute("DELETE FROM pages")
        index.executemany(
            "INSERT INTO meta VALUES (?, ?)", [(str(n), "x" * 999) for n in range(99)]
        )
        copy = tmp_path / "copy.db"
        shutil.copy(path, copy)
        shutil.copy(f"{path}-journal", f"{copy}-journal")
    check_usable(copy, identity_of(Config.from_settings(forked.SETTINGS)))
    assert [url for url, _ in open_again(copy)] == ["a"]
