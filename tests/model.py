"""What the model of an index consists of: runs, pages, claims and decisions, as plain objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scrapy_simdedup.deduplicator import Deduplicator


@dataclass(eq=False)
class Run:
    """A run as the model sees it; ``dedup`` is the real one, ``None`` once it is over.

    Times are in days: of its last sign of life, and of its end, once that stands in the file.
    ``aged`` tells that pages grow too old for it.
    """

    dedup: Deduplicator | None
    number: int
    sign: int
    aged: bool = False
    ended: int | None = None

    @property
    def alive(self) -> bool:
        return self.dedup is not None


@dataclass(eq=False)
class Page:
    """An original, or a page that may become one."""

    url: str
    value: int
    run: Run
    seen: Run
    replaces: Page | None = None
    confirmed: bool = False
    gone: bool = False
    previous: Run | None = None

    @property
    def standing(self) -> bool:
        return not self.gone and (self.confirmed or self.run.alive)


@dataclass(eq=False)
class Held:
    """A claim: the real one, whose it is, and the model's page."""

    claim: Any
    run: Run
    page: Page


@dataclass(eq=False)
class Logged:
    """A decision in the log."""

    run: Run
    day: int
    url: str
    status: str
    original: Page | None
    removed: bool = False
