"""Settling a crawler's claims: at once or at close, in the thread that judges."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from scrapy_simdedup.crawl.compat import result_of
from scrapy_simdedup.crawl.failures import Failures
from scrapy_simdedup.crawl.opening import OpenIndex
from scrapy_simdedup.exceptions import IndexAway
from scrapy_simdedup.index.records import Claim, Settled

logger = logging.getLogger(__name__)

# How long an item waits for the claim of an equal one to be settled, in seconds.
_PATIENCE = 10.0


class Settlement:
    """Confirms and releases claims; ``at_close`` puts confirming off until the feeds are stored."""

    def __init__(self, index: OpenIndex, failures: Failures, *, at_close: bool) -> None:
        self._index = index
        self._failures = failures
        self._wait_for_close = at_close
        self._at_close: list[Claim] = []
        self._settling: list[tuple[Future[Settled], Callable[[], Settled]]] = []
        self._failed: list[Callable[[], Settled]] = []
        self._away = False
        self._undecided: dict[int, Future[None]] = {}

    def claimed(self, claim: Claim) -> None:
        """Take note of a claim that is open; in the judging thread, before anyone else judges."""
        self._undecided[claim.page] = Future()

    def settle(self, claim: Claim, keep: bool) -> None:
        """Confirm or release a claim, soon: whoever is judged later sees it settled."""
        if keep and self._wait_for_close:
            self._at_close.append(claim)
            self._decided(claim)
            return

        def settle() -> Settled:
            dedup = self._index.require()
            return dedup.confirm([claim]) if keep else dedup.release([claim])

        # Once it is committed, or has failed.
        self._submit(settle).add_done_callback(lambda _: self._decided(claim))

    def _submit(self, settle: Callable[[], Settled]) -> Future[Settled]:
        settling = self._index.submit(settle)
        self._settling.append((settling, settle))
        return settling

    def _decided(self, claim: Claim) -> None:
        undecided = self._undecided.pop(claim.page, None)
        if undecided is not None:
            undecided.set_result(None)

    async def decision(self, page: int | None) -> None:
        """Wait, with bounded patience, until the claim on a page is decided."""
        undecided = self._undecided.get(page) if page is not None else None
        if undecided is not None:
            try:
                await result_of(undecided, _PATIENCE)
            except TimeoutError:
                logger.debug("the claim on page %s is still open", page)

    def collect(self) -> None:
        """Tell, once, what has come of settling claims since the last call."""
        done = [each for each in self._settling if each[0].done()]
        self._settling = [each for each in self._settling if not each[0].done()]
        away = False
        for future, settle in done:
            error = future.exception()
            if error is None:
                self.orphaned(future.result())
            else:
                away = away or isinstance(error, IndexAway)
                self._failed.append(settle)
                self._failures.tell("a claim", error)
        if done and self._away and not away:
            # The server is back.
            self.try_again()
        self._away = away or (self._away and not done)

    def orphaned(self, settled: Settled) -> None:
        """Count the copies that lost their original."""
        for orphan in settled.orphans:
            self._failures.count(f"{orphan.kind}s/orphaned")

    def try_again(self) -> None:
        """Submit what has failed; a lock that was held or a disk that was full may be no more."""
        failed, self._failed = self._failed, []
        for settle in failed:
            self._submit(settle)

    def confirm_at_close(self, stats: dict[str, Any], *, feeds: bool) -> None:
        """Submit what waited for the close; where a feed was not stored, it gets released."""
        if not self._at_close:
            return
        failed = any(name.startswith("feedexport/failed_count/") for name in stats)
        stored = any(name.startswith("feedexport/success_count/") for name in stats)
        if feeds and (failed or not stored):
            logger.warning("a feed was not stored, so the pages of this run do not count as kept")
            return
        claims = self._at_close
        self._submit(lambda: self._index.require().confirm(claims))
