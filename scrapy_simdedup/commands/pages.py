"""The pages of the paths that a command was given, and how far they are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from scrapy.exceptions import UsageError

from scrapy_simdedup.batch.read import read, size
from scrapy_simdedup.batch.record import Record
from scrapy_simdedup.commands.bar import Bar


class Pages:
    """Pages as they are read; ``left_out`` counts by its kind what archives hold besides."""

    def __init__(self, paths: Sequence[Path], bar: Bar) -> None:
        self._paths = paths
        self._bar = bar
        self.left_out: Counter[str] = Counter()

    def __iter__(self) -> Iterator[Record]:
        for path in self._paths:
            for record in read(path, self.left_out):
                self._bar.update(record.size)
                yield record


@contextmanager
def reading_pages(paths: Sequence[Path], *, shown: bool) -> Iterator[tuple[Pages, Bar]]:
    """Give the pages of some paths, and the bar that they move. Raises UsageError."""
    for path in paths:
        if not path.exists():
            raise UsageError(f"there is no {path}")
    total = sum(map(size, paths)) if shown else 0
    with Bar("pages", total, shown=shown) as bar:
        yield Pages(paths, bar), bar
