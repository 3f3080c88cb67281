"""Transactions of one connection, alone or several at once, and the wait for other writers."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# How long another writer is waited for, in seconds; and how long after a wait that was in vain,
# until one is not: pages must not queue up behind a lock that nobody gives back.
LOCK_SECONDS = 30.0
_SHORT_SECONDS = 0.5

# And how long from one try to the next, at most. SQLite's own waits grow to 100 ms, which is a
# hundred times what the other one takes.
_PAUSE = 0.001


class Transactions:
    """Write transactions; ``undone`` is called after a part or the whole of one was rolled back."""

    def __init__(self, connection: sqlite3.Connection, undone: Callable[[], None]) -> None:
        self._connection = connection
        self._undone = undone
        self._joined = self._begun = False
        self._patience = LOCK_SECONDS

    @contextmanager
    def write(self) -> Iterator[None]:
        """Run a block as one transaction, alone with the file; roll back if it raises."""
        if self._joined:
            with self._part():
                yield
            return
        self._begin()
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise

    @contextmanager
    def together(self) -> Iterator[None]:
        """Commit all transactions of a block at once, at its end, or none of them.

        One that raises is undone alone, if the others can go on.
        """
        self._joined, self._begun = True, False
        try:
            yield
            if self._begun:
                self._check_begun()
                self._connection.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise
        finally:
            self._joined = False

    @contextmanager
    def _part(self) -> Iterator[None]:
        if not self._begun:
            self._begin()
            self._begun = True
        self._check_begun()
        self._connection.execute("SAVEPOINT part")
        try:
            yield
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK TO part")
                self._connection.execute("RELEASE part")
                self._undone()
            raise
        self._connection.execute("RELEASE part")

    def _check_begun(self) -> None:
        # A full disk undoes a whole transaction, not just the statement that met it.
        if not self._connection.in_transaction:
            raise sqlite3.OperationalError("the transaction was rolled back")

    def _begin(self) -> None:
        until = time.monotonic() + self._patience
        while True:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    raise
                if time.monotonic() > until:
                    self._patience = _SHORT_SECONDS
                    raise
                time.sleep(random.uniform(0, _PAUSE))  # noqa: S311  (no secret)
            else:
                self._patience = LOCK_SECONDS
                return

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        self._undone()
