"""A thread that works beside an open index, from its start to its close."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod


class Background(ABC):
    """Runs ``work`` in a daemon thread, which ends when ``stopping`` is set."""

    def __init__(self, name: str) -> None:
        self.stopping = threading.Event()
        self._thread = threading.Thread(target=self.work, name=name, daemon=True)

    @abstractmethod
    def work(self) -> None:
        """Work until ``stopping`` is set."""

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread, after what it may be at."""
        self.stopping.set()
        if self._thread.is_alive():
            self._thread.join()
