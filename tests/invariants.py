"""What must hold of an index file after anything at all; used by tests and by the soak."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np

from scrapy_simdedup.index.records import unpack
from scrapy_simdedup.methods import rows_of

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
