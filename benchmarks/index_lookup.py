"""The look-up alone, beside a bare SELECT of the same ranges: the least that it can cost."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from children import alone
from figures import Figures, percentiles
from judged import BITS, Query, queries

from scrapy_simdedup.config import Config
from scrapy_simdedup.identity import identity_of
from scrapy_simdedup.index.bands import Range
from scrapy_simdedup.index.pages import signed
from scrapy_simdedup.index.sqlite import SqliteIndex
from scrapy_simdedup.methods import FIRST_BAND, METHODS, rows_of

_TURN = 1 << 18
_SELECT = "SELECT key, page FROM bands WHERE band = ? AND key BETWEEN ? AND ?"
_PRAGMAS = ("cache_size", "mmap_size")

BareRows = list[tuple[int, int]]


class Product:
    """The index's own look-up by simhash: plan, find, pick."""

    def __init__(self, path: Path) -> None:
        config = Config()
        self.index = SqliteIndex(path, identity_of(config), rows_of(config.methods))
        self._limits = config.limits
        self._method, self._first = METHODS["simhash"], FIRST_BAND["simhash"]

    def ranges(self, query: Query) -> Sequence[Range]:
        """Return the ranges that the planner asks for."""
        part = query.analysis.signature["simhash"]
        size = self.index.size()
        return self._method.plan(part, query.analysis.terms, self._limits, size).ranges

    def find(self, query: Query) -> Sequence[int]:
        """Return the pages within the limit."""
        part, terms = query.analysis.signature["simhash"], query.analysis.terms
        plan = self._method.plan(part, terms, self._limits, self.index.size())
        found = self.index.find(0, self._first, plan)
        return self._method.pick(part, terms, self._limits, found)


class Bare:
    """A second connection with the same settings, and nothing but the SELECT."""

    def __init__(self, path: Path, like: sqlite3.Connection) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        for pragma in _PRAGMAS:
            value = like.execute(f"PRAGMA {pragma}").fetchone()[0]
            self._connection.execute(f"PRAGMA {pragma} = {value}")
        self._connection.execute("BEGIN")
        self._first = FIRST_BAND["simhash"]

    def values(self, ranges: Sequence[Range]) -> list[tuple[int, int, int]]:
        """Return what is bound to the SELECT."""
        return [(self._first + band, signed(low), signed(high)) for band, low, high in ranges]

    def each(self, values: Sequence[tuple[int, int, int]]) -> BareRows:
        """Select range by range."""
        rows: BareRows = []
        for bound in values:
            rows += self._connection.execute(_SELECT, bound).fetchall()
        return rows

    def union(self, values: Sequence[tuple[int, int, int]]) -> BareRows:
        """Select all ranges in one statement."""
        statement = " UNION ALL ".join([_SELECT] * len(values))
        bound = [value for each in values for value in each]
        return self._connection.execute(statement, bound).fetchall()


def compare(path: Path, pages: int, count: int, share: float) -> tuple[Figures, Figures]:
    """Return the figures of the look-up, and of the better bare SELECT, taken in turns."""
    return alone(_compare, path, pages, count, share)


def _compare(path: Path, pages: int, count: int, share: float) -> tuple[Figures, Figures]:
    product = Product(path)
    # A connection each: what one way has read would be in the cache of the other.
    bare, union = (Bare(path, product.index.connection) for _ in range(2))
    # One transaction for all, on either side, as within a judgement.
    product.index.connection.execute("BEGIN")
    took: dict[str, list[float]] = {"product": [], "each": [], "union": []}
    planted = found = same = 0
    for at, query in enumerate(queries(pages, count, share, _TURN)):
        values = bare.values(product.ranges(query))
        works: list[tuple[str, Callable[[], Sequence[Any]]]] = [
            ("product", partial(product.find, query)),
            ("each", partial(bare.each, values)),
            ("union", partial(union.union, values)),
        ]
        results: dict[str, Sequence[Any]] = {}
        for name, work in works[at % 3 :] + works[: at % 3]:
            start = time.perf_counter()
            results[name] = work()
            took[name].append(time.perf_counter() - start)
        if query.how == BITS:
            planted += 1
            found += query.original in results["product"]
            same += query.original in {row[1] for row in results["each"]}
    product.index.connection.execute("COMMIT")
    product.index.close("finished")
    # The first look-ups find nothing cached.
    later = {name: times[count // 10 :] for name, times in took.items()}
    best = min(("each", "union"), key=lambda name: float(np.median(later[name])))
    ratio = float(np.median(later["product"]) / np.median(later[best]))
    return (
        {
            **percentiles(later["product"], "lookup_"),
            "lookup_ratio": ratio,
            "lookup_recall": found / planted if planted else 1.0,
        },
        {
            **percentiles(later[best]),
            **{f"{name}_p50_ms": percentiles(later[name])["p50_ms"] for name in ("each", "union")},
            "recall": same / planted if planted else 1.0,
            "per_second": 1 / float(np.mean(later[best])),
        },
    )
