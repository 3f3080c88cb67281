"""What bodies were judged to be of which the index holds no page: copies, and skipped pages.

A page that is kept has its body's digest in its own row. With both, a body that comes again is
recognised before anything is extracted from it.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from scrapy_simdedup.index.records import Subject
from scrapy_simdedup.index.store import Remembered


class Bodies:
    """Decisions by the digest of a body, inside the transactions of the index.

    A decision counts for the same ``rules`` only: a number for the limits it was made with.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._execute = connection.execute

    def remember(self, subject: Subject, rules: int, decision: int) -> None:
        """Note which decision a body met, the newest one."""
        self._execute(
            "INSERT INTO bodies VALUES (?, ?, ?, ?)"
            " ON CONFLICT DO UPDATE SET decision = excluded.decision",
            (subject.body, subject.space, rules, decision),
        )

    def decision(self, subject: Subject, rules: int) -> Remembered | None:
        """Return what a body met; None where it was not judged, or a log entry is gone."""
        row: Any = self._execute(
            "SELECT status, reason, original_page, distance, max_distance, resemblance,"
            " containment, method, terms, text FROM decisions WHERE id ="
            " (SELECT decision FROM bodies WHERE body = ? AND space = ? AND rules = ?)",
            (subject.body, subject.space, rules),
        ).fetchone()
        return Remembered(*row) if row else None
