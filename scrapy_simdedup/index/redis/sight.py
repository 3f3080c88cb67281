"""What one look at the server shows: asked for at once, read when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from scrapy_simdedup.index.bands import Plan, Row, Scan
from scrapy_simdedup.index.redis.rows import MOST_EQUAL, Cell, Layout, near, pages_of, row_bytes
from scrapy_simdedup.index.store import Plans

# Rows with one 16-bit prefix that are looked at, the newest ones. Of pages that are not alike an
# index would have to have two thousand million for so many.
_MOST_ROWS = 32_768


class _Exact(NamedTuple):
    band: int
    key: int
    cell: int
    most: int


class _Wide(NamedTuple):
    scan: Scan
    ranges: Sequence[Any]
    first: int


@dataclass
class Question:
    """What a look asks for: the cells of names, then those of methods, then whole buckets."""

    space: int
    layout: Layout
    names: Sequence[Cell]
    memory: str = ""
    exact: list[Cell] = field(default_factory=list)
    buckets: list[str] = field(default_factory=list)
    _plans: list[list[_Exact] | _Wide] = field(default_factory=list)

    def add(self, plans: Plans) -> None:
        """Ask for what methods look up."""
        for first, plan in plans:
            scan = plan if isinstance(plan, Scan) else plan.scan
            if scan is not None:
                self._plans.append(self._wide(first, scan))
            elif isinstance(plan, Plan):
                self._plans.append(self._keys(first, plan))

    def _wide(self, first: int, scan: Scan) -> _Wide:
        ranges = scan.ranges()
        wide = _Wide(scan, ranges, len(self.buckets))
        self.buckets += [
            self.layout.bucket(self.space, first + band, low >> 48) for band, low, _ in ranges
        ]
        return wide

    def _keys(self, first: int, plan: Plan) -> list[_Exact]:
        keys = []
        for band, key, _ in plan.ranges:
            keys.append(_Exact(band, key, len(self.exact), plan.most_rows))
            self.exact.append(self.layout.cell(self.space, first + band, key))
        return keys

    def keys(self) -> list[str]:
        """Return the keys of the buckets that the script reads."""
        return [cell.bucket for cell in (*self.names, *self.exact)] + self.buckets

    def arguments(self, index: str, pages: str) -> list[Any]:
        """Return the arguments of the script, for the index of that id."""
        named, exact = len(self.names), len(self.exact)
        counts = (named + exact, named, MOST_EQUAL, len(self.buckets))
        starts = [cell.start for cell in (*self.names, *self.exact)]
        return [index, pages, *counts, row_bytes(self.space), _MOST_ROWS, *starts]

    def rows(self, answer: Answer) -> tuple[list[list[Row]], int]:
        """Return what each plan asked for, and how many keys were left out for being crowded."""
        rows: list[list[Row]] = []
        crowded = 0
        for plan in self._plans:
            if isinstance(plan, _Wide):
                buckets = answer.buckets[plan.first : plan.first + len(plan.ranges)]
                rows.append(near(self.space, plan.scan, plan.ranges, buckets))
                continue
            found = []
            for band, key, cell, most in plan:
                pages = pages_of(answer.hits.get(len(self.names) + cell, b""))
                crowded += len(pages) > most
                if len(pages) <= most:
                    found += [(band, key, page) for page in pages]
            rows.append(found)
        return rows, crowded


@dataclass
class Answer:
    """What the script answered to a question; ``records`` are those of the named pages."""

    stamp: bytes
    live: list[bytes]
    notices: int
    memory: bytes | None
    hits: dict[int, bytes]
    records: dict[int, bytes]
    buckets: list[bytes]

    @classmethod
    def read(cls, answer: list[Any]) -> Answer:
        """Read the answer of the script ``look``."""
        stamp, live, notices, memory, hits, records, buckets = answer
        return cls(
            stamp,
            live,
            notices,
            memory,
            {cell - 1: pages for cell, pages in zip(hits[::2], hits[1::2], strict=True)},
            {
                int(page): record
                for page, record in zip(records[::2], records[1::2], strict=True)
                if record is not None
            },
            buckets,
        )

    def pages(self, first: int, count: int) -> list[int]:
        """Return the pages under some of the names, each once, oldest first."""
        found = (pages_of(self.hits.get(at, b"")) for at in range(first, first + count))
        return sorted({page for pages in found for page in pages})
