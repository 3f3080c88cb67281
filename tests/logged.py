"""Indexes whose log a test writes itself, decision by decision."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from scrapy_simdedup import Deduplicator

START = datetime(2026, 3, 1, 8, tzinfo=timezone.utc)

COLUMNS = (
    *("run", "time", "kind", "url", "status", "reason", "original", "original_page", "distance"),
    *("max_distance", "resemblance", "containment", "method", "nearest", "terms"),
)


def decision(**values: Any) -> dict[str, Any]:
    """Return a decision on a page; a copy's nearest page is its original."""
    row = {**dict.fromkeys(COLUMNS), "kind": "page", "status": "unique", "max_distance": 3}
    row |= values
    if row["original"] is not None:
        row["nearest"] = row["original"]
    return row


def copy(url: str, original: str, alike: float = 0.9, **values: Any) -> dict[str, Any]:
    """Return a decision that a page copies another one."""
    told = {"resemblance": alike, "containment": alike, "distance": 2, "method": "sketch"}
    return decision(**{"url": url, "original": original, "status": "duplicate", **told, **values})


def near(url: str, nearest: str, alike: float, **values: Any) -> dict[str, Any]:
    """Return a decision that keeps a page although another one is a little like it."""
    told = {"resemblance": alike, "containment": alike, "distance": 25}
    return decision(**{"url": url, "nearest": nearest, **told, **values})


def fill(
    path: Path, rows: Iterable[dict[str, Any]], *, spider: str = "news", **settings: Any
) -> Path:
    """Write a log into a new run of an index, a decision a second."""
    with Deduplicator(
        path, {f"SIMDEDUP_{name.upper()}": value for name, value in settings.items()}, spider=spider
    ) as dedup:
        run = dedup.run
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany(
            f"INSERT INTO decisions ({', '.join(COLUMNS)})"
            f" VALUES ({', '.join('?' * len(COLUMNS))})",
            (
                tuple(each.get(name) for name in COLUMNS)
                for each in _dated(({"run": run} | _known(row) for row in rows), run)
            ),
        )
    return path


def _known(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


def _dated(rows: Iterable[dict[str, Any]], run: int) -> Iterator[dict[str, Any]]:
    begin = START + timedelta(days=run - 1)
    for at, row in enumerate(rows):
        time = begin + timedelta(seconds=at)
        yield {"time": time.isoformat(timespec="milliseconds")} | row


def crowd(count: int, hosts: int = 700) -> Iterator[dict[str, Any]]:
    """Return a long log: half of it kept, some of that near others, a third copies."""
    pick = random.Random(count)
    kept: list[str] = []
    for at in range(count):
        host = int(hosts * pick.random() ** 3)
        url = f"https://host-{host}.example/{pick.choice('abc')}/{at:x}{pick.getrandbits(32):x}"
        chance = pick.random()
        if chance < 0.5 or not kept:
            far = kept and chance < 0.2
            yield (
                near(url, pick.choice(kept), abs(pick.gauss(0, 0.08))) if far else decision(url=url)
            )
            kept.append(url)
        elif chance < 0.85:
            original = kept[int(len(kept) * pick.random() ** 4)]
            alike = max(0.3, 1 - abs(pick.gauss(0, 0.25)))
            yield copy(url, original, round(alike, 4), distance=pick.randint(0, 12))
        else:
            reason = pick.choice(["too-short", "not-html", "status", "no-text"])
            yield decision(url=url, status="skipped", reason=reason, max_distance=None)
