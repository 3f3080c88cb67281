"""Warnings for what goes wrong in bulk: a login wall, a template that looks like one page."""

from __future__ import annotations

import logging
from collections import Counter

from scrapy_simdedup.verdict import Verdict

logger = logging.getLogger(__name__)

# An original with so many copies in one run is probably no article.
MANY_COPIES = 25
# A run of at least so many judged pages, of which more than this share are copies.
ENOUGH_PAGES = 100
MOST = 0.6

# Originals that are counted at a time; the ones with fewest copies go when there are more.
_MOST_COUNTED = 10_000


class Alarms:
    """Counts copies by original, pages and items apart, for one crawl."""

    def __init__(self) -> None:
        self._copies: Counter[str] = Counter()
        self._judged: Counter[str] = Counter()
        self._told = False

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
