"""Pages and items in a row that bring nothing new: a reason to close the spider."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from scrapy_simdedup.config import Config
from scrapy_simdedup.verdict import Verdict


@dataclass
class Place:
    """Where a page or item stands in the row, and the verdict on it, once there is one."""

    verdict: Verdict | None = None
    left: bool = False


class Row:
    """Counts what brings nothing new, and calls ``full``, once, when that is as much as may be.

    Copies bring nothing new, and known pages that are unchanged; these only where the crawl is
    incremental: to a full recrawl (``SIMDEDUP_SINCE = "run"``) a known page is as good as a new
    one. What is new or changed begins a new row. What was not judged, or may be the wrong text,
    does neither.

    What counts is the order of arrival: known pages are judged in no time, and would else get
    ahead of the new ones between them.
    """

    def __init__(self, config: Config, full: Callable[[], None]) -> None:
        self._limit = config.close_after
        self._incremental = config.since == "ever"
        self._full = full
        self._length = 0
        self._places: deque[Place] = deque()

    @contextmanager
    def place(self) -> Iterator[Place]:
        """Take the next place in the row, and leave it with the verdict that it has by then."""
        place = Place()
        self._places.append(place)
        try:
            yield place
        finally:
            place.left = True
            while self._places and self._places[0].left:
                self._count(self._places.popleft().verdict)

    def _count(self, verdict: Verdict | None) -> None:
        nothing_new = self._nothing_new(verdict) if verdict else None
        if nothing_new is None:
            return
        self._length = self._length + 1 if nothing_new else 0
        if self._limit and self._length >= self._limit:
            self._limit = 0
            self._full()

    def _nothing_new(self, verdict: Verdict) -> bool | None:
        if verdict.status == "duplicate":
            return None if verdict.reason else True
        if verdict.status == "revisit":
            return self._incremental and not verdict.changed
        return False if verdict.status == "unique" else None
