"""One thread that watches over many deadlines, so that none needs a timer thread of its own."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable


class Watchdog:
    """Calls a function for each deadline that passes before it is called off.

    The thread is started by the first deadline, and is a daemon.
    """

    def __init__(self) -> None:
        self._deadlines: dict[int, tuple[float, Callable[[], None]]] = {}
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._awake_at = float("inf")
        self._thread: threading.Thread | None = None

    def expect(self, seconds: float, late: Callable[[], None]) -> int:
        """Set a deadline that many seconds from now; return its number."""
        due = time.monotonic() + seconds
        with self._changed:
            number = next(self._numbers)
            self._deadlines[number] = due, late
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._watch, name="simdedup-watchdog", daemon=True
                )
                self._thread.start()
            elif due < self._awake_at:
                # Usually the others are due earlier, and the thread can sleep on.
                self._changed.notify()
        return number

    def call_off(self, number: int) -> None:
        """Forget a deadline; one that has passed already is no error."""
        with self._changed:
            self._deadlines.pop(number, None)

    def _watch(self) -> None:
        while True:
            with self._changed:
                now = time.monotonic()
                passed = [n for n, (due, _) in self._deadlines.items() if due <= now]
                late = [self._deadlines.pop(number)[1] for number in passed]
                if not late:
                    dues = (due for due, _ in self._deadlines.values())
                    self._awake_at = min(dues, default=float("inf"))
                    forever = self._awake_at == float("inf")
                    self._changed.wait(None if forever else self._awake_at - now)
            for call in late:
                call()
