"""``load``: the result of a Spark job becomes an index, so that a crawl goes on from an archive."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from scrapy_simdedup.batch.result import Result
from scrapy_simdedup.exceptions import IndexUnusable
from scrapy_simdedup.index.ages import now
from scrapy_simdedup.index.damage import unusable
from scrapy_simdedup.index.pages import implied_rows
from scrapy_simdedup.index.records import unpack
from scrapy_simdedup.index.sqlite import SqliteIndex
from scrapy_simdedup.methods import rows_of

# Rows of one transaction.
_CHUNK = 5_000

# Rows come in no order that the index would like: what is in memory need not be read again.
_CACHE = 256 << 20

_PAGE = (
    "INSERT INTO pages (id, url, space, run, confirmed, identities, body, digest, terms,"
    " signature, seen, visits) VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?)"
)
_DECISION = (
    "INSERT INTO decisions (id, run, time, kind, url, status, reason, original, original_page,"
    " distance, max_distance, resemblance, containment, method, nearest, terms, text)"
    " VALUES (?, ?, ?, 'page', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_BODY = (
    "INSERT INTO bodies VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET decision = excluded.decision"
)


@dataclass(frozen=True)
class Loaded:
    """How many originals and decisions an index has now."""

    originals: int
    decisions: int


def load(result: Result, index: Path, done: Callable[[int], object]) -> Loaded:
    """Make an index of a result; ``done`` is called with the number of rows, now and then.

    The file has its name only when it is whole: a load that is stopped leaves a ``.part`` file,
    which the next one begins anew. Raises IndexUnusable where a file of that name is there or
    none can be made, and ResultUnusable where the result is not whole.
    """
    index = index.absolute()
    part = index.with_name(f"{index.name}.part")
    try:
        index.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(part.with_name(f"{part.name}.load"), timeout=0):
            _refuse_existing(index)
            _remove(part)
            loaded = _fill(result, part, done)
            _rename(part, index)
            return loaded
    except Timeout:
        raise IndexUnusable(f"another load is making {index}") from None
    except (sqlite3.Error, OSError) as error:
        raise unusable(index, error) from error


def _refuse_existing(index: Path) -> None:
    if index.exists():
        raise IndexUnusable(
            f"{index} is there already; a result is loaded into a new index: name another file, or"
            " move that one aside"
        )


def _remove(part: Path) -> None:
    """Remove what a load that was stopped has left."""
    for path in part.parent.glob(f"{part.name}*"):
        # Its own lock stays: somebody may wait for it.
        if path.suffix != ".load":
            path.unlink()


def _fill(result: Result, part: Path, done: Callable[[int], object]) -> Loaded:
    about = result.about
    rows = rows_of(about["identity"]["methods"])
    store = SqliteIndex(
        part,
        about["identity"],
        rows,
        spider="spark",
        settings=about["settings"],
        versions=json.dumps(about["versions"]),
        cache=_CACHE,
    )
    loader = _Loader(store, about["rules"], rows)
    ended = "failed"
    try:
        for name, insert in loader.inserts.items():
            rows_read = result.rows(name)
            while chunk := list(islice(rows_read, _CHUNK)):
                with store.write():
                    insert(chunk)
                done(len(chunk))
        ended = "finished"
    finally:
        store.close(ended)
    return Loaded(result.counts["originals"], result.counts["decisions"])


class _Loader:
    """Inserts rows as judging would have done, inside the transactions of an index."""

    def __init__(self, store: SqliteIndex, rules: int, rows: Callable[[Any], Any]) -> None:
        self._many = store.connection.executemany
        self._run = store.run
        self._rules = rules
        self._rows = rows
        self._decision = 0
        #: What inserts the rows of each table of a result.
        self.inserts = {
            "texts": self.texts,
            "originals": self.originals,
            "decisions": self.decisions,
        }

    def texts(self, chunk: list[dict[str, Any]]) -> None:
        """Insert main texts, as they were packed."""
        rows = sorted((row["digest"], row["text"]) for row in chunk)
        self._many("INSERT INTO texts VALUES (?, ?)", rows)

    def originals(self, chunk: list[dict[str, Any]]) -> None:
        """Insert pages and their rows; these in the order of the table, which is fast."""
        self._many(_PAGE, map(self._page, chunk))
        bands = sorted(row for page in chunk for row in self._bands(page))
        self._many("INSERT INTO bands VALUES (?, ?, ?)", bands)

    def _page(self, row: dict[str, Any]) -> tuple[Any, ...]:
        return (
            *(row["page"], row["url"], row["space"], self._run, _identities(row)),
            *(row["body"], row["digest"], row["terms"], row["signature"]),
            *(self._run, row["visits"]),
        )

    def _bands(self, row: dict[str, Any]) -> Iterable[tuple[int, int, int]]:
        return implied_rows(
            row["page"],
            row["space"],
            [row["identity"] % (1 << 64)],
            row["body"],
            unpack(row["signature"]),
            self._rows,
        )

    def decisions(self, chunk: list[dict[str, Any]]) -> None:
        """Insert what a log has: all but pages that were seen again, unchanged."""
        time = now()
        logged = [row for row in chunk if row["status"] != "revisit" or row["changed"]]
        numbered = list(enumerate(logged, self._decision + 1))
        self._decision += len(numbered)
        self._many(_DECISION, (self._logged(number, time, row) for number, row in numbered))
        bodies = [
            (row["body"], row["space"], self._rules, number)
            for number, row in numbered
            # Pages that are kept have their body in their own row.
            if row["body"] and row["status"] in ("duplicate", "skipped")
        ]
        self._many(_BODY, bodies)

    def _logged(self, number: int, time: str, row: dict[str, Any]) -> tuple[Any, ...]:
        return (
            *(number, self._run, time, row["url"], row["status"], row["reason"]),
            *(row["original"], row["original_page"], row["distance"], row["max_distance"]),
            *(row["resemblance"], row["containment"], row["method"], row["nearest"]),
            *(row["terms"], row["text"]),
        )


def _identities(row: dict[str, Any]) -> bytes:
    return int(row["identity"] % (1 << 64)).to_bytes(8, "little")


def _rename(part: Path, index: Path) -> None:
    """Give a whole index its name, once the disk has it in one file."""
    with closing(sqlite3.connect(part)) as connection:
        busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        assert not busy
    _refuse_existing(index)
    with part.open("rb+") as file:
        os.fsync(file.fileno())
    part.rename(index)
    for left in part.parent.glob(f"{part.name}*"):
        with suppress(OSError):
            left.unlink()
