"""Warnings for what goes wrong in bulk: a login wall, a template that looks like one page."""

from __future__ import annotations

import logging
import shlex
import time
from collections import Counter
from pathlib import Path

from scrapy_simdedup.verdict import Verdict

logger = logging.getLogger(__name__)

# An original with so many copies in one run is probably no article.
MANY_COPIES = 25
# A run of at least so many judged pages, of which more than this share are copies.
ENOUGH_PAGES = 100
MOST = 0.6

# Originals that are counted at a time; the ones with fewest copies go when there are more.
_MOST_COUNTED = 10_000

# Look-ups leave out keys that too many pages share. So many are worth a warning, and there is
# one in so many seconds at most.
_MANY_KEYS = 1000
_HOUR = 3600.0


class Alarms:
    """Counts copies by original, pages and items apart, for one crawl."""

    def __init__(self) -> None:
        self._copies: Counter[str] = Counter()
        self._judged: Counter[str] = Counter()
        self._told = False
        self._crowded = 0
        self._quiet_until = 0.0

    def judged(self, kind: str, verdict: Verdict) -> None:
        """Take note of a verdict on a page or item; warn once of a crowd of copies."""
        if verdict.status in ("unique", "duplicate", "revisit"):
            self._judged[verdict.status] += 1
        if not verdict.is_duplicate or verdict.original is None:
            return
        self._copies[verdict.original] += 1
        if self._copies[verdict.original] >= MANY_COPIES and not self._told:
            self._told = True
            logger.warning(
                "%d %s are copies of %s by now: is it a login wall, a notice, or a template whose"
                " text hides what differs?",
                self._copies[verdict.original],
                kind,
                verdict.original,
            )
        if len(self._copies) > _MOST_COUNTED:
            self._copies = Counter(dict(self._copies.most_common(_MOST_COUNTED // 10)))

    def crowded(self, keys: int, path: Path | None) -> None:
        """Take note of how often look-ups have left out a key by now.

        ``path`` is that of the file that tells more, if there is one.
        """
        if keys - self._crowded < _MANY_KEYS or time.monotonic() < self._quiet_until:
            return
        more = f"see the largest buckets of: scrapy simdedup stats --index {shlex.quote(str(path))}"
        logger.warning(
            "%d times by now, look-ups have left out a key that too many pages share, as those of"
            " a template are%s",
            keys,
            f": {more}" if path else "",
        )
        self._crowded = keys
        self._quiet_until = time.monotonic() + _HOUR

    def closed(self) -> None:
        """Warn, at the end of a crawl, where most of what was judged were copies."""
        total, copies = sum(self._judged.values()), self._judged["duplicate"]
        if total >= ENOUGH_PAGES and copies > MOST * total:
            ((original, count),) = self._copies.most_common(1)
            logger.warning(
                "%d of %d pages and items are copies; %d alone of %s: look whether the limits"
                " suit these pages",
                copies,
                total,
                count,
                original,
            )
