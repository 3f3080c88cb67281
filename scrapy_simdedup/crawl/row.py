"""Pages and items in a row that bring nothing new: a reason to close the spider."""

from __future__ import annotations

from scrapy_simdedup.config import Config
from scrapy_simdedup.verdict import Verdict


class Row:
    """Counts what brings nothing new, in the order of the decisions, up to a limit.

    Copies do, and known pages that are unchanged; these only where the crawl is incremental:
    to a full recrawl (``SIMDEDUP_SINCE = "run"``) a known page is as good as a new one. What is
    new or changed begins a new row. What was not judged, or may be the wrong text, does neither.
    """

    def __init__(self, config: Config) -> None:
        self._limit = config.close_after
        self._incremental = config.since == "ever"
        self._length = 0

    def met(self, verdict: Verdict) -> bool:
        """Take note of a verdict; tell whether the row has become as long as it may, once."""
        nothing_new = self._nothing_new(verdict)
        if nothing_new is None:
            return False
        self._length = self._length + 1 if nothing_new else 0
        full = bool(self._limit) and self._length >= self._limit
        if full:
            self._limit = 0
        return full

    def _nothing_new(self, verdict: Verdict) -> bool | None:
        if verdict.status == "duplicate":
            return None if verdict.reason else True
        if verdict.status == "revisit":
            return self._incremental and not verdict.changed
        return False if verdict.status == "unique" else None
