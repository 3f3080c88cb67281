"""The settings of a run, as its record has them."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from scrapy_simdedup.config import PREFIX

# Written down for people to read, and of no use without the crawl.
_OF_THE_CRAWL = {f"{PREFIX}{name}" for name in ("ITEM_FIELDS", "EXPORT", "MAX_AGE")}


def newest_run(connection: sqlite3.Connection) -> int | None:
    """Return the number of the newest run, if possible of one that judged."""
    judged = "SELECT max(run) FROM decisions WHERE max_distance IS NOT NULL"
    number = connection.execute(judged).fetchone()[0]
    if number is None:
        number = connection.execute("SELECT max(id) FROM runs").fetchone()[0]
    return None if number is None else int(number)


def settings_of(connection: sqlite3.Connection, run: int) -> dict[str, Any]:
    """Return the settings of a run that shape texts and decide, where they are no defaults."""
    row = connection.execute("SELECT settings FROM runs WHERE id = ?", (run,)).fetchone()
    recorded = json.loads(row[0] or "{}") if row else {}
    return {name: value for name, value in recorded.items() if name not in _OF_THE_CRAWL}
