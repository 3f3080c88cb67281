"""The rows of the ``bands`` table by what they are for, and its largest buckets.

A bucket is what a look-up reads at once: a key, or all keys with some leading bits in common.
Large ones are templates, notices, crowds of alike pages. A small index is read as a whole. Of a
large one a sample is: the rows that pages at equal distances imply tell which buckets come up
again and again, and the pages of just these are counted. A bucket with a share s of all pages
has about the same share of the sample, so none is missed that weighs on many look-ups.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scrapy_simdedup.checks.finding import Progress, ticking
from scrapy_simdedup.index.bands import Plan
from scrapy_simdedup.index.pages import (
    BODY_BAND,
    IDENTITY_BAND,
    SIGN,
    SPACE_BANDS,
    implied_rows,
    unpack_identities,
)
from scrapy_simdedup.index.records import Signature, unpack
from scrapy_simdedup.methods import FIRST_BAND, METHODS, rows_of
from scrapy_simdedup.methods.base import Limits

# Of an index with more pages than are worth reading all its rows, so many pages are looked at.
FEW = 100_000
_SAMPLE = 20_000

# Buckets that are told of each part, and those that are counted to find them.
_MOST = 3
_CANDIDATES = 50

_NAMED = {IDENTITY_BAND: "identity", BODY_BAND: "body"}
_PARTS = {first: name for name, first in FIRST_BAND.items()}
_BITS = {method.part_name: method.range_bits for method in METHODS.values()}

_Counts = dict[tuple[int, int], int]
"""How many rows there are, by band and by the leading bits of their signed keys, as a number."""


@dataclass(frozen=True)
class Bucket:
    """What it is of, the leading bits of its keys in hex, how many pages, and the URL of one.

    ``left_out`` tells that look-ups skip it: what so many pages have in common is no evidence.
    """

    part: str
    key: str
    pages: int
    example: str
    left_out: bool


@dataclass(frozen=True)
class Bands:
    """Rows by part, and the largest buckets; rows are estimated where pages were ``sampled``."""

    rows: dict[str, int]
    buckets: list[Bucket]
    sampled: int


def look(
    connection: sqlite3.Connection, methods: Sequence[str], progress: Progress, *, whole: bool
) -> Bands:
    """Count rows and find the largest buckets, in the ``whole`` table or by a sample."""
    parts = ["identity", "body", *dict.fromkeys(METHODS[name].part_name for name in methods)]
    pages = list(_sample(connection, methods, progress, 1 if whole else _SAMPLE))
    if whole:
        rows, counts = _read(connection, progress)
    else:
        rows, counts = _estimate(connection, [page for page, _ in pages])
    left_out = _left_out(methods, [signature for _, signature in pages])
    found: defaultdict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for (band, key), count in counts.items():
        found[_part(band)].append((count, band, key))
    buckets = [
        Bucket(
            part,
            f"{key + (SIGN >> 64 - _bits(part)):0{_bits(part) // 4}x}",
            count,
            _example(connection, band, key),
            count > left_out.get(part, count),
        )
        for part in parts
        for count, band, key in sorted(found[part], reverse=True)[:_MOST]
    ]
    return Bands({part: rows.get(part, 0) for part in parts}, buckets, 0 if whole else len(pages))


def _part(band: int) -> str:
    own = band % SPACE_BANDS
    return _NAMED.get(own) or _PARTS.get(own // 16 * 16, "unknown")


def _bits(part: str) -> int:
    return _BITS.get(part, 64)


def _read(connection: sqlite3.Connection, progress: Progress) -> tuple[Counter[str], _Counts]:
    """Read all rows, band by band."""
    rows: Counter[str] = Counter()
    counts: _Counts = {}
    with ticking(connection, progress, "rows"):
        for band in _bands(connection):
            part = _part(band)
            rows[part] += connection.execute(
                "SELECT count(*) FROM bands WHERE band = ?", (band,)
            ).fetchone()[0]
            # Whole keys come in order, and are counted as they come.
            key = "key" if _bits(part) == 64 else f"key >> {64 - _bits(part)}"
            largest = connection.execute(
                f"SELECT {key}, count(*) AS pages FROM bands WHERE band = ? GROUP BY 1"  # noqa: S608
                " HAVING pages > 1 ORDER BY pages DESC LIMIT ?",
                (band, _MOST),
            )
            counts |= {(band, leading): pages for leading, pages in largest}
    return rows, counts


def _bands(connection: sqlite3.Connection) -> Iterator[int]:
    """Return the numbers of all bands there are, by one search each."""
    band = -1
    while True:
        (found,) = connection.execute(
            "SELECT min(band) FROM bands WHERE band > ?", (band,)
        ).fetchone()
        if found is None:
            return
        yield (band := found)


_Sampled = tuple[list[tuple[int, int, int]], Signature]
"""The rows of a page, and its signature."""


def _sample(
    connection: sqlite3.Connection, methods: Sequence[str], progress: Progress, most: int
) -> Iterator[_Sampled]:
    """Return pages at equal distances; damaged ones are left out."""
    low, high = connection.execute("SELECT min(id), max(id) FROM pages").fetchone()
    if low is None:
        return
    make = rows_of(methods)
    at = low
    with progress("pages of a sample", most) as step:
        for number in range(most):
            wanted = max(at, low + (high - low) * number // most)
            row = connection.execute(
                "SELECT id, space, identities, body, signature FROM pages WHERE id >= ?"
                " ORDER BY id LIMIT 1",
                (wanted,),
            ).fetchone()
            step(1)
            if row is None:
                return
            at = row[0] + 1
            page, space, names, body, stored = row
            with contextlib.suppress(ValueError, LookupError, TypeError):
                signature = unpack(stored)
                identities = unpack_identities(names)
                yield implied_rows(page, space, identities, body, signature, make), signature


def _estimate(
    connection: sqlite3.Connection, sample: Sequence[list[tuple[int, int, int]]]
) -> tuple[Counter[str], _Counts]:
    """Estimate the rows of all pages from those of some, and count what came up most often."""
    seen: defaultdict[str, Counter[tuple[int, int]]] = defaultdict(Counter)
    for rows in sample:
        for band, key, _ in rows:
            part = _part(band)
            seen[part][band, key >> 64 - _bits(part)] += 1
    (originals,) = connection.execute("SELECT count(*) FROM pages").fetchone()
    times = originals / max(1, len(sample))
    rows_of_part = Counter({part: round(found.total() * times) for part, found in seen.items()})
    counts: _Counts = {}
    for found in seen.values():
        for (band, key), often in found.most_common(_CANDIDATES):
            if often > 1:
                (pages,) = connection.execute(
                    "SELECT count(*) FROM bands WHERE band = ? AND key BETWEEN ? AND ?",
                    (band, *_span(band, key)),
                ).fetchone()
                counts[band, key] = pages
    return rows_of_part, counts


def _span(band: int, key: int) -> tuple[int, int]:
    """Return the first and the last key of a bucket."""
    below = 64 - _bits(_part(band))
    return key << below, (key + 1 << below) - 1


def _example(connection: sqlite3.Connection, band: int, key: int) -> str:
    row = connection.execute(
        "SELECT CAST(url AS BLOB) FROM pages WHERE id = (SELECT page FROM bands"
        " WHERE band = ? AND key BETWEEN ? AND ? LIMIT 1)",
        (band, *_span(band, key)),
    ).fetchone()
    return row[0].decode(errors="replace") if row else ""


def _left_out(methods: Sequence[str], signatures: Sequence[Signature]) -> dict[str, int]:
    """Return, by part, the most rows of a bucket that look-ups take for evidence."""
    found = {}
    for name in methods:
        method = METHODS[name]
        for signature in signatures[:1]:
            plan = method.plan(signature[method.part_name], 0, Limits(), 1)
            if isinstance(plan, Plan) and plan.otherwise is None:
                found[method.part_name] = plan.most_rows
    return found
