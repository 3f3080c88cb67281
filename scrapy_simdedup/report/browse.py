"""The decisions themselves, column by column, for the table that lists them all."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any

from scrapy_simdedup.report.words import read_time

# Characters of URLs that the list may hold.
_MOST_CHARACTERS = 16_000_000

#: A longer URL is cut, and is no link then.
LONGEST_URL = 2000

# A decision has each value in 1/1000.
_SCALE = 1000


@dataclass(frozen=True)
class Listing:
    """The newest decisions as columns of numbers, and how many there are in all.

    ``urls`` is sorted, and ``url`` and ``near`` are places in it; -1 stands for None. Shares are
    in thousandths, ``time`` in seconds since ``start``. ``labels`` are pairs of status and
    reason, ``label`` places in them, and so with ``methods`` and ``runs``.
    """

    columns: dict[str, Any]
    count: int
    total: int


def listing(connection: sqlite3.Connection, most: int) -> Listing:
    """Return the newest decisions, at most so many, the newest first."""
    (total,) = connection.execute("SELECT count(*) FROM chosen").fetchone()
    rows = []
    characters = 0
    for row in connection.execute(
        "SELECT url, coalesce(original, nearest), status, coalesce(reason, ''), resemblance,"
        " containment, distance, coalesce(method, ''), kind, run, time FROM chosen"
        " ORDER BY id DESC LIMIT ?",
        (most,),
    ):
        rows.append((short(row[0]), row[1] and short(row[1]), *row[2:]))
        characters += len(rows[-1][0]) + len(rows[-1][1] or "")
        if characters > _MOST_CHARACTERS:
            break
    return Listing(_columns(rows), len(rows), total)


def short(url: str) -> str:
    """Return a URL, or the beginning of one that is too long."""
    return url if len(url) <= LONGEST_URL else url[:LONGEST_URL] + "…"


def _columns(rows: list[tuple[Any, ...]]) -> dict[str, Any]:
    urls = sorted({url for row in rows for url in row[:2] if url is not None})
    place: dict[str | None, int] = {url: at for at, url in enumerate(urls)}
    place[None] = -1
    labels = _places((row[2], row[3]) for row in rows)
    methods = _places(row[7] for row in rows)
    runs = _places(row[9] for row in rows)
    times = [read_time(row[10]) for row in rows]
    start = min((time for time in times if time), default=None)
    return {
        "urls": urls,
        "labels": list(labels),
        "methods": list(methods),
        "runs": list(runs),
        "start": start and start.timestamp(),
        "url": [place[row[0]] for row in rows],
        "near": [place[row[1]] for row in rows],
        "label": [labels[row[2], row[3]] for row in rows],
        "resemblance": [_thousandths(row[4]) for row in rows],
        "containment": [_thousandths(row[5]) for row in rows],
        "distance": [-1 if row[6] is None else row[6] for row in rows],
        "method": [methods[row[7]] for row in rows],
        "item": [int(row[8] == "item") for row in rows],
        "run": [runs[row[9]] for row in rows],
        "time": [round((time - start).total_seconds()) if time and start else -1 for time in times],
    }


def _places(values: Any) -> dict[Any, int]:
    return {value: at for at, value in enumerate(sorted(set(values)))}


def _thousandths(value: float | None) -> int:
    return -1 if value is None else round(value * _SCALE)
