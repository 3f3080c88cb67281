"""What can be raised: two that tell Scrapy to drop, two that tell a person what to mend."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import DropItem, IgnoreRequest

if TYPE_CHECKING:
    from scrapy_simdedup.verdict import Verdict


class SimDedupError(Exception):
    """Base of the errors that a person has to mend."""


class ConfigError(SimDedupError, ValueError):
    """A ``SIMDEDUP_`` setting has a bad value; the message names it and its range."""


class IndexUnusable(SimDedupError):
    """An index file cannot be used; the message names its absolute path and the remedy."""


class IndexAway(IndexUnusable):
    """The server that holds an index cannot be reached at the moment."""


def _message(verdict: Verdict) -> str:
    if verdict.original is None:
        return f"{verdict.status}: seen before, unchanged"
    return f"near-duplicate of {verdict.original} ({verdict.measures})"


class NearDuplicateResponse(IgnoreRequest):
    """A response was dropped as a near-duplicate; errbacks receive it.

    ``verdict`` holds the original's URL and how near the two are.
    """

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(_message(verdict))
        self.verdict = verdict


class NearDuplicateItem(DropItem):
    """An item was dropped as a near-duplicate, or because its page is one.

    ``verdict`` holds the original's URL and how near the two are. Its log level is NOTSET: the
    default log formatter would print the whole item.
    """

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(_message(verdict), log_level="NOTSET")
        self.verdict = verdict
