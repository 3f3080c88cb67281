"""An index file of made-up pages, built in bulk: the rows that judging each page would write.

    python benchmarks/bulk.py FILE --pages 1000000

The package makes the file, with its tables and its identity; the rows are then inserted in the
order in which SQLite stores them. A file that grew page by page is as large: at 100,000 pages
it was 1.5 % smaller.
"""

from __future__ import annotations

import argparse
import sqlite3
import time
from collections.abc import Iterable, Iterator
from itertools import repeat
from pathlib import Path

import numpy as np
import numpy.typing as npt
from made_up import KINDS, UNIFORM, Bytes, MadeUp, Words, bodies, digests, terms, url_of

from scrapy_simdedup import Deduplicator
from scrapy_simdedup.digests import name_hash
from scrapy_simdedup.index.bands import rotations
from scrapy_simdedup.index.pages import BODY_BAND, IDENTITY_BAND
from scrapy_simdedup.index.records import pack
from scrapy_simdedup.methods import FIRST_BAND, METHODS

_CHUNK = 20_000
_ROWS = 500_000

_COLUMNS = {
    "id",
    "url",
    "space",
    "run",
    "confirmed",
    "replaces",
    "identities",
    "body",
    "digest",
    "terms",
    "signature",
    "seen",
    "previous",
    "visits",
}

_SIGN = np.uint64(1 << 63)

BandRows = tuple[int, npt.NDArray[np.int64], npt.NDArray[np.int64]]


def build(path: Path, pages: int, kind: str = UNIFORM) -> float:
    """Make an index of the pages 1 to ``pages`` at ``path``; return the seconds it took."""
    start = time.perf_counter()
    Deduplicator(path).close()
    connection = sqlite3.connect(path, isolation_level=None)
    execute = connection.execute
    present = {row[1] for row in execute("PRAGMA table_info(pages)")}
    if present != _COLUMNS:
        raise SystemExit(f"bulk.py does not know of {present ^ _COLUMNS} in pages")
    execute("PRAGMA journal_mode = OFF")
    execute("PRAGMA synchronous = OFF")
    execute("PRAGMA cache_size = -262144")
    execute("BEGIN")
    made = MadeUp(kind)
    names = np.zeros(pages, dtype=np.uint64)
    for first in range(1, pages + 1, _CHUNK):
        numbers = np.arange(first, min(first + _CHUNK, pages + 1), dtype=np.uint64)
        urls = [url_of(page) for page in numbers.tolist()]
        named = np.array([name_hash(url) for url in urls], dtype=np.uint64)
        names[first - 1 : first - 1 + len(numbers)] = named
        connection.executemany(
            "INSERT INTO pages (id, url, space, run, confirmed, identities, body, digest,"
            " terms, signature, seen, visits) VALUES (?, ?, 0, 1, 1, ?, ?, ?, ?, ?, 1, 1)",
            zip(
                numbers.tolist(),
                urls,
                _blobs(named[:, None].view(np.uint8)),
                _blobs(bodies(numbers)),
                _blobs(digests(numbers)),
                terms(numbers).tolist(),
                _signatures(made.parts(numbers)),
                strict=True,
            ),
        )
    for rows in _bands(made, names):
        _insert(connection, rows)
    execute("COMMIT")
    connection.close()
    return time.perf_counter() - start


def _blobs(rows: Bytes) -> list[bytes]:
    return np.ascontiguousarray(rows).view(f"V{rows.shape[1]}")[:, 0].tolist()


def _signatures(parts: dict[str, Bytes]) -> list[bytes]:
    """Pack the signatures: one is packed by the package, and the others take its layout."""
    count = len(parts["simhash"])
    marks = {name: bytes([0xF1 + at]) * p.shape[1] for at, (name, p) in enumerate(parts.items())}
    layout = pack(marks)
    packed = np.tile(np.frombuffer(layout, dtype=np.uint8), (count, 1))
    for name, mark in marks.items():
        at = layout.index(mark)
        packed[:, at : at + len(mark)] = parts[name]
    return _blobs(packed)


def _bands(made: MadeUp, names: Words) -> Iterator[BandRows]:
    """Return the rows of each band, in the order of the table."""
    pages = np.arange(1, len(names) + 1, dtype=np.uint64)
    yield _sorted(IDENTITY_BAND, names, pages)
    yield _sorted(BODY_BAND, _body_keys(pages), pages)
    fingerprints = made.fingerprints(pages)
    for band in range(METHODS["simhash"].bands):
        yield _sorted(FIRST_BAND["simhash"] + band, _rotated(fingerprints, band), pages)
    # Key and page in one number, to sort 16 rows a page in one go.
    both = np.empty((len(pages), made.row_keys(pages[:1]).shape[1]), dtype=np.uint64)
    for first in range(0, len(pages), _CHUNK):
        part = pages[first : first + _CHUNK]
        both[first : first + _CHUNK] = made.row_keys(part)
        both[first : first + _CHUNK] <<= np.uint64(32)
        both[first : first + _CHUNK] |= part[:, None]
    flat = both.reshape(-1)
    flat.sort()
    for first in range(0, len(flat), _ROWS):
        # A page that drew a key twice stores it once.
        rows = flat[first : first + _ROWS]
        rows = rows[np.diff(rows, prepend=flat[first - 1] if first else ~rows[0]) != 0]
        keys, numbers = rows >> np.uint64(32), rows & np.uint64(0xFFFFFFFF)
        yield FIRST_BAND["sketch"], _signed(keys), numbers.view(np.int64)


def _body_keys(pages: Words) -> Words:
    return bodies(pages)[:, :8].copy().view("<u8")[:, 0]


def _sorted(band: int, keys: Words, pages: Words) -> BandRows:
    order = np.argsort(keys, kind="stable")
    return band, _signed(keys[order]), pages[order].view(np.int64)


def _rotated(values: Words, band: int) -> Words:
    left, right = np.uint64(16 * band), np.uint64(64 - 16 * band)
    turned = (values << left) | (values >> right) if band else values
    assert int(turned[0]) == rotations(int(values[0]))[band]
    return turned


def _signed(keys: Words) -> npt.NDArray[np.int64]:
    return (keys ^ _SIGN).view(np.int64)


def _insert(connection: sqlite3.Connection, rows: BandRows) -> None:
    band, keys, pages = rows
    for first in range(0, len(keys), _ROWS):
        chunk = slice(first, first + _ROWS)
        values: Iterable[tuple[int, int, int]] = zip(
            repeat(band), keys[chunk].tolist(), pages[chunk].tolist(), strict=False
        )
        connection.executemany("INSERT INTO bands VALUES (?, ?, ?)", values)


def main() -> None:
    """Build a file and tell how long it took and how large it is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--kind", choices=KINDS, default=UNIFORM)
    options = parser.parse_args()
    took = build(options.file, options.pages, options.kind)
    size = options.file.stat().st_size
    print(f"{options.pages:,} pages in {took:.1f} s, {size / options.pages:.0f} bytes a page")


if __name__ == "__main__":
    main()
