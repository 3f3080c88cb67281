"""The log of decisions of an index in Redis: a local file with the tables of an index.

Its identity is that of the index it belongs to, and says besides that it is a log, so that none
is taken for an index, nor an index for one. A log goes on where the index is another one.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from scrapy_simdedup.exceptions import IndexUnusable
from scrapy_simdedup.index.damage import unusable
from scrapy_simdedup.index.files import check_place, check_usable, connect_reading, opening
from scrapy_simdedup.index.transactions import LOCK_SECONDS

_MARK = "log"
_VALUE = "of an index in Redis"


def of_log(identity: dict[str, Any]) -> dict[str, Any]:
    """Return the identity of the log of an index with this one."""
    return {**identity, _MARK: _VALUE}


def check_log(path: Path) -> None:
    """Raise IndexUnusable where a file could not be opened as a log. Changes nothing."""
    check_place(path)
    recorded = _recorded(path)
    if recorded is not None and recorded.get(_MARK) != _VALUE:
        raise IndexUnusable(
            f"{path} is an index, and cannot be the log of an index in Redis: move it aside"
        )
    if recorded is not None:
        check_usable(path, recorded)


def adopt(path: Path, identity: dict[str, Any]) -> None:
    """Have a log that is there go on with an index of another identity."""
    check_log(path)
    recorded = _recorded(path)
    if recorded is None or recorded == of_log(identity):
        return
    try:
        with (
            opening(path),
            closing(sqlite3.connect(path, timeout=LOCK_SECONDS)) as connection,
            connection,
        ):
            new = json.dumps(of_log(identity))
            connection.execute("UPDATE meta SET value = ? WHERE key = 'identity'", (new,))
    except sqlite3.Error as error:
        raise unusable(path, error) from error


def _recorded(path: Path) -> dict[str, Any] | None:
    """Return the identity of a file, None where there is none that can be read."""
    if not path.exists():
        return None
    try:
        with closing(connect_reading(path)) as connection:
            row = connection.execute("SELECT value FROM meta WHERE key = 'identity'").fetchone()
        recorded = json.loads(row[0]) if row else None
    except (sqlite3.Error, ValueError):
        # Opening it will tell why.
        return None
    return recorded if isinstance(recorded, dict) else None
