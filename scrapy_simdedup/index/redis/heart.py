"""The thread that tells the server that a run is alive, and asks one that is away to return."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from scrapy_simdedup.index.background import Background
from scrapy_simdedup.index.redis.link import Link
from scrapy_simdedup.index.redis.members import BEAT_SECONDS

logger = logging.getLogger(__name__)

# While the server is away it is asked so often whether it is back.
_RETURN_SECONDS = 1.0


class Heart(Background):
    """Calls ``beat`` at its rate, from ``start`` to ``stop``; failures wait for the next time."""

    def __init__(self, link: Link, beat: Callable[[], None]) -> None:
        super().__init__("simdedup-heart")
        self._link = link
        self._beat = beat

    def work(self) -> None:
        """Beat at intervals, and ask a server that is away whether it is back."""
        due = time.monotonic() + BEAT_SECONDS
        while not self.stopping.wait(_RETURN_SECONDS):
            if self._link.away:
                if not self._link.back():
                    continue
            elif time.monotonic() < due:
                continue
            due = time.monotonic() + BEAT_SECONDS
            try:
                self._beat()
            except Exception as error:
                logger.debug("no heartbeat to %s: %s", self._link.address, error)
