"""Failures of ours while a crawl runs: counted, and told once for each kind."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable

from scrapy.crawler import Crawler

from scrapy_simdedup.exceptions import IndexAway, IndexUnusable
from scrapy_simdedup.index.damage import check_command, is_damage
from scrapy_simdedup.index.place import Place

logger = logging.getLogger(__name__)


class Failures:
    """Counts failures by ``count``; the first one of a kind is an ERROR, the others are DEBUG."""

    def __init__(self, crawler: Crawler, place: Place, count: Callable[[str], None]) -> None:
        self._crawler = crawler
        self._place = place
        # What can be damaged or locked is a file.
        self._path = place.path
        self.count = count
        self._told: set[str] = set()

    def tell(self, what: str, error: BaseException) -> None:
        """Take note of what could not be judged, and why."""
        self.count("errors")
        kind = _kind(error)
        first = kind not in self._told
        self._told.add(kind)
        if kind == "damaged":
            self.count("index/damaged")
        elif kind == "away":
            self.count("index/away")
        extra = {"spider": self._crawler.spider}
        if first and kind == "damaged":
            logger.error(
                "%s is damaged: %s. The crawl goes on, and pages are passed on unjudged where it"
                " cannot be read. When no crawl uses it any more: %s",
                self._path,
                error,
                check_command(self._path),
                extra=extra,
            )
        elif first and kind == "locked":
            logger.error(
                "%s is locked by another program, longer than pages can wait. The crawl goes on,"
                " and pages are passed on unjudged until it is free",
                self._path,
                extra=extra,
            )
        elif first and kind == "away":
            logger.error(
                "%s. The crawl goes on, and pages are passed on unjudged until the server is back",
                error,
                extra=extra,
            )
        else:
            logger.log(
                logging.ERROR if first else logging.DEBUG,
                "scrapy-simdedup could not judge %s, which is passed on: %s: %s",
                what,
                type(error).__name__,
                error,
                # Of what nobody has foreseen, the place is of interest.
                exc_info=error if first else None,
                extra=extra,
            )


def _kind(error: BaseException) -> str:
    if isinstance(error, IndexAway):
        return "away"
    if isinstance(error, IndexUnusable) and error.__cause__ is not None:
        # Of an index that could not be opened, the reason.
        return _kind(error.__cause__)
    if is_damage(error):
        return "damaged"
    if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
        return "locked"
    return "other"
