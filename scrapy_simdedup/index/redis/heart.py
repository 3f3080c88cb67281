"""The thread that tells the server that a run is alive, and asks one that is away to return."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from scrapy_simdedup.index.redis.link import Link
from scrapy_simdedup.index.redis.members import BEAT_SECONDS

logger = logging.getLogger(__name__)

# While the server is away it is asked so often whether it is back.
_RETURN_SECONDS = 1.0


class Heart:
    """Calls ``beat`` at its rate, from ``start`` to ``stop``; failures wait for the next time."""

    def __init__(self, link: Link, beat: Callable[[], None]) -> None:
        self._link = link
        self._beat = beat
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="simdedup-heart", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread, after the beat it may be at."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _work(self) -> None:
        due = time.monotonic() + BEAT_SECONDS
        while not self._stopping.wait(_RETURN_SECONDS):
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
