"""Which runs are alive: each holds an OS lock on a file beside the index, gone with it."""

from __future__ import annotations

import contextlib
import sqlite3
import uuid
from pathlib import Path

from filelock import FileLock, Timeout


class RunLock:
    """A run's lock file, held from ``acquire`` to ``release`` or the end of the process."""

    def __init__(self, index: Path) -> None:
        self.name = f"{index.name}-run-{uuid.uuid4().hex}.lock"
        self._path = index.with_name(self.name)
        # Several threads of the process may let go of it.
        self._lock = FileLock(self._path, thread_local=False)

    def acquire(self) -> None:
        """Take the lock; nobody else knows its name yet."""
        self._lock.acquire(timeout=10)

    def release(self) -> None:
        """Let go of the lock and remove its file."""
        self._lock.release()
        with contextlib.suppress(OSError):
            self._path.unlink()


def lives(connection: sqlite3.Connection, index: Path, run: int) -> bool:
    """Tell whether a run of an index has no end yet, and its process still holds its lock."""
    row = connection.execute("SELECT lock, ended FROM runs WHERE id = ?", (run,)).fetchone()
    return row is not None and row[1] is None and is_alive(index, row[0])


def is_alive(index: Path, name: str) -> bool:
    """Tell whether the run that holds the lock file ``name`` beside ``index`` still runs.

    A dead run's file is removed.
    """
    try:
        path = index.with_name(name)
    except (ValueError, TypeError):
        # In a damaged file: nobody runs by a name that is none.
        return False
    if not path.exists():
        return False
    lock = FileLock(path, thread_local=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return True
    lock.release()
    with contextlib.suppress(OSError):
        path.unlink()
    return False
