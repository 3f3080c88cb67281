"""What must hold of an index after anything at all; used by tests and by the soak."""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np

from scrapy_simdedup.index.records import unpack
from scrapy_simdedup.index.redis.changes import cells_of
from scrapy_simdedup.index.redis.keys import Keys
from scrapy_simdedup.index.redis.record import Record
from scrapy_simdedup.index.redis.rows import MOST_EQUAL, PAGE_BYTES, Layout
from scrapy_simdedup.methods import SHORT_BANDS, rows_of

_SPACE, _SIGN = 1 << 15, 1 << 63


def asked(path: Path, query: str) -> list[Any]:
    """Return what a file answers; nothing, where it was killed before it had any tables."""
    if not path.exists():
        return []
    uri = f"{path.as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True)) as index, suppress(sqlite3.OperationalError):
        return index.execute(query).fetchall()
    return []


def wrong_with(path: Path, methods: Iterable[str], *, settled: bool = True) -> list[str]:
    """Return what is wrong with an index file; nothing is changed.

    ``settled``: nobody uses it, so that nothing in it may still be open.
    """
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as index:
        index.execute("BEGIN")
        found = [f"integrity: {row[0]}" for row in index.execute("PRAGMA integrity_check")]
        if found == ["integrity: ok"]:
            found = []
        found += _torn(index, methods)
        found += _loose(index)
        if settled:
            found += _open(index)
    return found


def _torn(index: sqlite3.Connection, methods: Iterable[str]) -> list[str]:
    """Return the pages that have not just the rows that they must have."""
    make = rows_of(tuple(methods))
    there: defaultdict[int, set[tuple[int, int]]] = defaultdict(set)
    for band, key, page in index.execute("SELECT band, key, page FROM bands"):
        there[page].add((band, key))
    found = []
    for page, space, names, body, signature in index.execute(
        "SELECT id, space, identities, body, signature FROM pages"
    ):
        rows = {(space * _SPACE + band, key - _SIGN) for band, key in make(unpack(signature))}
        rows |= {(space * _SPACE, int(n) - _SIGN) for n in np.frombuffer(names, "<u8")}
        if body:
            rows.add((space * _SPACE + 1, int.from_bytes(body[:8], "little") - _SIGN))
        if there.pop(page, set()) != rows:
            found.append(f"page {page} has other rows than it must have")
    return found + [f"rows of page {page}, which is not there" for page in there]


_LOOSE = {
    "a body's decision is not there": (
        "SELECT count(*) FROM bodies WHERE decision NOT IN (SELECT id FROM decisions)"
    ),
    "a copy's original is not there": (
        "SELECT count(*) FROM decisions WHERE status = 'duplicate' AND original_page IS NOT NULL"
        " AND original_page NOT IN (SELECT id FROM pages)"
    ),
    "a page's run is not there": (
        "SELECT count(*) FROM pages WHERE run NOT IN (SELECT id FROM runs)"
    ),
    "a decision's run is not there": (
        "SELECT count(*) FROM decisions WHERE run NOT IN (SELECT id FROM runs)"
    ),
}
_STILL_OPEN = {
    "a run has no end": "SELECT count(*) FROM runs WHERE ended IS NULL",
    "a claim is open": "SELECT count(*) FROM pages WHERE NOT confirmed",
    "a visit is open": "SELECT count(*) FROM pages WHERE previous IS NOT NULL",
}


def _loose(index: sqlite3.Connection) -> list[str]:
    return [what for what, query in _LOOSE.items() if index.execute(query).fetchone()[0]]


def _open(index: sqlite3.Connection) -> list[str]:
    return [what for what, query in _STILL_OPEN.items() if index.execute(query).fetchone()[0]]


def wrong_in_redis(
    client: Any, prefix: str, methods: Iterable[str], *, settled: bool = True
) -> list[str]:
    """Return what is wrong with an index in Redis; nothing is changed."""
    keys, layout = Keys(prefix), Layout(prefix, SHORT_BANDS)
    make = rows_of(tuple(methods))
    contents = {key.decode(): client.type(key) for key in client.scan_iter(f"{prefix}:*")}
    pages = {
        int(key.removeprefix(keys.pages)): Record.unpack(client.get(key))
        for key in contents
        if key.startswith(keys.pages)
    }
    found = _torn_in_redis(client, prefix, contents, pages, layout, make)
    for page, record in pages.items():
        for run in record.holders():
            if not client.sismember(keys.open(run), page):
                found.append(f"page {page} is open, and run {run} does not know")
        if record.settled and client.exists(keys.copies(page)):
            found.append(f"copies lean on page {page}, which is settled")
    for page in range(int(client.hget(keys.meta, "pages") or 0) + 1):
        if client.getbit(keys.held, page) != (page in pages):
            found.append(f"page {page} is held or not")
    if settled:
        found += [
            f"{key} is left over"
            for key in contents
            if key.split(":")[1] in ("live", "dead", "open", "copies")
        ]
        found += [f"page {page} is open" for page, each in pages.items() if not each.settled]
    return found


def _torn_in_redis(
    client: Any,
    prefix: str,
    contents: Iterable[str],
    pages: Mapping[int, Record],
    layout: Layout,
    make: Callable[[Mapping[str, bytes]], Any],
) -> list[str]:
    """Return the pages that have not just the rows that they must have."""
    wanted: Counter[tuple[str, bytes]] = Counter()
    shared: Counter[tuple[str, bytes]] = Counter()
    for page, record in pages.items():
        named, others = cells_of(layout, record, make)
        wanted.update((cell.bucket, cell.row(page)) for cell in (*named, *others))
        shared.update(others)
    there: Counter[tuple[str, bytes]] = Counter()
    for key in contents:
        band = key.removeprefix(f"{prefix}:").split(":")[0]
        if band.rstrip("+").isdigit():
            short = int(band.rstrip("+")) in SHORT_BANDS
            size = (2 if short else 6) + (6 if "+" in band else 0) + PAGE_BYTES
            rows = client.get(key)
            there.update((key, rows[at : at + size]) for at in range(0, len(rows), size))
    found = [f"{bucket} has a row too much" for bucket, _ in there - wanted]
    for bucket, row in wanted - there:
        # Of very many equal ones only some are stored.
        if shared[(bucket, row[:-PAGE_BYTES])] <= MOST_EQUAL:
            found.append(f"{bucket} lacks a row")
    return found
