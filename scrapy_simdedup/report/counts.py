"""How many decisions there are of each kind, run, spider, host and reason."""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from scrapy_simdedup.logs.measures import read_object
from scrapy_simdedup.report.words import read_time

T = TypeVar("T")

_EXAMPLES = 3


@dataclass(frozen=True)
class Bounded(Generic[T]):
    """The first rows of a list, and how long the whole of it is."""

    rows: list[T]
    total: int

    @property
    def cut(self) -> bool:
        """Whether there are more."""
        return len(self.rows) < self.total


@dataclass
class Tally:
    """Decisions by status. ``unchanged`` is one more: revisits that the log does not list."""

    counts: Counter[str] = field(default_factory=Counter)

    @property
    def judged(self) -> int:
        """How many were held against others."""
        held = ("unique", "revisit", "unchanged", "duplicate", "orphaned")
        return sum(self.counts[status] for status in held)

    @property
    def copies(self) -> int:
        """How many were near-duplicates."""
        return self.counts["duplicate"]

    @property
    def total(self) -> int:
        """How many there are."""
        return sum(self.counts.values())


@dataclass(frozen=True)
class Run:
    """A run of the index; ``settings`` are those that were not the defaults."""

    id: int
    spider: str
    started: datetime | None
    ended: datetime | None
    status: str
    settings: dict[str, Any]
    versions: dict[str, str]
    tally: Tally

    @property
    def took(self) -> timedelta | None:
        """How long it ran; None where it still runs, or died without saying when."""
        if not (self.started and self.ended) or self.status == "died":
            return None
        return self.ended - self.started


@dataclass(frozen=True)
class Host:
    """A host's decisions. ``foreign`` counts its copies whose original is on another host."""

    name: str
    tally: Tally
    foreign: int


@dataclass(frozen=True)
class Reason:
    """Why things were skipped, in error, or doubtful copies, with some of their URLs."""

    status: str
    reason: str
    count: int
    examples: list[str]


def kinds(connection: sqlite3.Connection, run: int | None) -> dict[str, Tally]:
    """Return a tally for ``page`` and ``item``, as far as there are any."""
    rows = connection.execute("SELECT kind, status, count(*) FROM chosen GROUP BY 1, 2")
    found = _tallies(rows)
    for kind, number in _unchanged(connection, run):
        if number:
            found.setdefault(kind, Tally()).counts["unchanged"] += number
    return dict(sorted(found.items(), key=lambda each: each[0] != "page"))


def _unchanged(connection: sqlite3.Connection, run: int | None) -> Iterable[tuple[str, int]]:
    """Return how many visits found their page unchanged, as far as the file can tell.

    Only the newest run still stands in the rows of the pages it met.
    """
    kind = "CASE WHEN space = 0 THEN 'page' ELSE 'item' END"
    row = connection.execute("SELECT value FROM meta WHERE key = 'identity'").fetchone()
    if row and read_object(row[0]).get("scope") == "site":
        # Each site has a space of its own.
        kind = "'page'"
        if connection.execute("SELECT 1 FROM decisions WHERE kind = 'item' LIMIT 1").fetchone():
            return []
    if run is None:
        counted, where = "sum(visits - 1)", ""
    elif run == connection.execute("SELECT max(id) FROM runs").fetchone()[0]:
        counted, where = "count(*)", f"WHERE seen = {run:d} AND run < {run:d}"
    else:
        return []
    statement = f"SELECT {kind}, {counted} FROM pages {where} GROUP BY 1"  # noqa: S608
    return connection.execute(statement).fetchall()


def runs(connection: sqlite3.Connection, run: int | None) -> list[Run]:
    """Return the runs, or the one that was asked for, the newest first."""
    tallies = _tallies(connection.execute("SELECT run, status, count(*) FROM chosen GROUP BY 1, 2"))
    rows = connection.execute(
        "SELECT id, spider, started, ended, status, settings, versions FROM runs"
        " WHERE ? IS NULL OR id = ? ORDER BY id DESC",
        (run, run),
    )
    return [
        Run(
            number,
            spider or "",
            read_time(started),
            read_time(ended),
            status or "",
            read_object(settings),
            read_object(versions),
            tallies.get(number, Tally()),
        )
        for number, spider, started, ended, status, settings, versions in rows
    ]


def spiders(found: Iterable[Run]) -> dict[str, Tally]:
    """Return a tally for each spider, the one with most copies first."""
    tallies: defaultdict[str, Tally] = defaultdict(Tally)
    for run in found:
        tallies[run.spider].counts.update(run.tally.counts)
    return dict(sorted(tallies.items(), key=lambda each: -each[1].copies))


def hosts(connection: sqlite3.Connection, most: int) -> Bounded[Host]:
    """Return the hosts with most copies, then those with most decisions."""
    tallies: defaultdict[str, Tally] = defaultdict(Tally)
    foreign: Counter[str] = Counter()
    for name, status, elsewhere, number in connection.execute(
        "SELECT host, status, status = 'duplicate' AND elsewhere != host, count(*) FROM ("
        " SELECT host_of(CAST(url AS BLOB)) AS host, status,"
        " host_of(CAST(original AS BLOB)) AS elsewhere FROM chosen) GROUP BY 1, 2, 3"
    ):
        tallies[name].counts[status] += number
        foreign[name] += number if elsewhere else 0
    order = sorted(tallies.items(), key=lambda each: (-each[1].copies, -each[1].total, each[0]))
    rows = [Host(name, tally, foreign[name]) for name, tally in order[:most]]
    return Bounded(rows, len(order))


def reasons(connection: sqlite3.Connection) -> list[Reason]:
    """Return why things were skipped, in error or doubtful, the most frequent first."""
    found: dict[tuple[str, str], Reason] = {}
    for status, reason, number, url in connection.execute(
        """
        SELECT status, reason, number, url FROM (
            SELECT status, reason, url, sum(count(*)) OVER (PARTITION BY status, reason) AS number,
                   row_number() OVER (PARTITION BY status, reason ORDER BY min(id)) AS place
            FROM chosen
            WHERE status IN ('skipped', 'error') OR (status = 'duplicate' AND reason IS NOT NULL)
            GROUP BY status, reason, url
        )
        WHERE place <= ? ORDER BY number DESC, status, reason, place
        """,
        (_EXAMPLES,),
    ):
        reason = reason or ""  # noqa: PLW2901
        told = found.setdefault((status, reason), Reason(status, reason, number, []))
        told.examples.append(url)
    return list(found.values())


def orphans(connection: sqlite3.Connection, most: int) -> Bounded[dict[str, Any]]:
    """Return the copies that are to be crawled again, the newest first."""
    (total,) = connection.execute(
        "SELECT count(*) FROM chosen WHERE status = 'orphaned'"
    ).fetchone()
    rows = connection.execute(
        "SELECT url, original, kind, time FROM chosen WHERE status = 'orphaned'"
        " ORDER BY id DESC LIMIT ?",
        (most,),
    )
    names = ("url", "original", "kind", "time")
    return Bounded([dict(zip(names, row, strict=True)) for row in rows], total)


def _tallies(rows: Iterable[tuple[Any, str, int]]) -> dict[Any, Tally]:
    found: defaultdict[Any, Tally] = defaultdict(Tally)
    for key, status, number in rows:
        found[key].counts[status] += number
    return dict(found)
