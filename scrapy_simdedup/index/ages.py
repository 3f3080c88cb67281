"""Times, as the index writes them, and how long ago a page was met last.

A page knows the run that met it last, and a run its end. So a page is as old as that end: what
a run of a month met on its first day counts as met on its last.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import datetime, timedelta, timezone

# Of a run that died, the last sign of life is what it logged last.
_LAST_SIGN = (
    "coalesce((SELECT time FROM decisions WHERE run = runs.id ORDER BY id DESC LIMIT 1), started)"
)
#: Ends the runs that a WHERE after it names, which died.
END_DEAD = f"UPDATE runs SET ended = {_LAST_SIGN}, status = 'died'"  # noqa: S608  (ours)


def stamp(moment: datetime) -> str:
    """Write a time as the index does: UTC, ISO 8601, milliseconds."""
    return moment.astimezone(timezone.utc).isoformat(timespec="milliseconds")


def now() -> str:
    """Return the time as the index writes it."""
    return ago(0)


def ago(seconds: float) -> str:
    """Return a time in the past as the index writes it."""
    return stamp(_clock() - timedelta(seconds=seconds))


def _clock() -> datetime:
    return datetime.now(timezone.utc)


class Ages:
    """Tells which runs ended more than ``most`` seconds ago; with 0, none did."""

    def __init__(self, connection: sqlite3.Connection, most: float) -> None:
        self._execute = connection.execute
        self._most = most
        self._ends: dict[int, str] = {}

    def is_old(self, run: int) -> bool:
        """Tell whether what a run met last has grown too old."""
        if not self._most:
            return False
        if run not in self._ends:
            row = self._execute("SELECT ended FROM runs WHERE id = ?", (run,)).fetchone()
            if row is None or row[0] is None:
                return False
            self._ends[run] = row[0]
        return self._ends[run] < ago(self._most)


def runs_before(
    connection: sqlite3.Connection, before: str, is_alive: Callable[[int], bool]
) -> list[int]:
    """Return the runs that ended before a time, those that died included."""
    rows = connection.execute(
        f"SELECT id, ended, {_LAST_SIGN} FROM runs WHERE started < ?",  # noqa: S608  (ours)
        (before,),
    ).fetchall()
    return [
        run
        for run, ended, last_sign in rows
        if (ended or last_sign) < before and (ended or not is_alive(run))
    ]
