"""What an index file records of how it was made."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from scrapy_simdedup.exceptions import IndexUnusable

# What of an identity signing the stored texts anew cannot change.
FIXED = ("extractor", "scope")


def recorded_identity(connection: sqlite3.Connection, path: Path) -> dict[str, Any] | None:
    """Return the identity of a file, None where it has none. Raises IndexUnusable."""
    row = connection.execute("SELECT value FROM meta WHERE key = 'identity'").fetchone()
    if row is None:
        return None
    try:
        return dict(json.loads(row[0]))
    except (ValueError, TypeError) as error:
        raise IndexUnusable(
            f"{path} is damaged: its identity cannot be read ({error}). It was left untouched:"
            " move it aside, or name another file in SIMDEDUP_INDEX."
        ) from error
