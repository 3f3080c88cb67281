"""Whether an index file is whole: SQLite's own check, the tables there must be, the identity."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from scrapy_simdedup.checks.finding import Finding, Progress, ticking
from scrapy_simdedup.index import schema
from scrapy_simdedup.index.damage import is_damage, rescue
from scrapy_simdedup.methods import METHODS

# Lines of SQLite's check that are told.
_MOST_LINES = 3

# What building the indexes anew makes good: the tables are sound.
_OF_INDEX = re.compile(r"row \d+ missing from index|wrong # of entries in index|non-unique entry")

# What of an identity the installed packages decide, and no setting.
_INSTALLED = ("algorithm", "stop_words", "dictionary")

# Tables that may be empty: their rows follow from those of others, or nothing rests on them.
_SPARE = ("bands", "bodies", "texts")


def check_integrity(
    connection: sqlite3.Connection, path: Path, progress: Progress, *, mend: bool
) -> Finding:
    """Run SQLite's integrity check."""
    lines = _integrity(connection, progress)
    indexes = bool(lines) and all(_OF_INDEX.match(line) for line in lines)
    if indexes and mend:
        connection.execute("REINDEX")
        rest = _integrity(connection, progress)
        lines, indexes = rest or lines, not rest
    more = f" (and {len(lines) - _MOST_LINES} more)" if len(lines) > _MOST_LINES else ""
    return Finding(
        "the file",
        len(lines),
        "damaged: " + "; ".join(lines[:_MOST_LINES]) + more,
        "builds the indexes anew" if indexes else "",
        "" if indexes or not lines else f"{path} cannot be repaired. {rescue(path)}",
    )


def _integrity(connection: sqlite3.Connection, progress: Progress) -> list[str]:
    with ticking(connection, progress, "integrity"):
        try:
            lines = [str(line) for (line,) in connection.execute("PRAGMA integrity_check")]
        except sqlite3.DatabaseError as error:
            if "interrupted" in str(error):
                # Ctrl-C while the progress was shown, where SQLite lets no exception pass.
                raise KeyboardInterrupt from error
            if not is_damage(error):
                raise
            lines = [str(error)]
    # A heading, a newline, and what is wrong.
    return [line.replace("\n", " ") for line in lines if line != "ok"]


def check_schema(connection: sqlite3.Connection, *, mend: bool) -> tuple[Finding, bool]:
    """Look for tables, columns, indexes and views that are lacking.

    Also returns whether all tables and columns are there (now).
    """
    lacking = _lacking(connection)
    possible = all(lacking.values())
    if mend and possible:
        for statement in lacking.values():
            connection.execute(statement)
    finding = Finding(
        "tables",
        len(lacking),
        f"{', '.join(lacking)} missing",
        "makes them anew" if possible else "",
        "" if possible else "what they held cannot be rebuilt: bring back a backup, or start anew",
    )
    needed = any(name.startswith(("table", "column")) for name in lacking)
    return finding, not needed or (mend and possible)


def _lacking(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the tables, indexes, views and columns that the newest schema has and a file lacks.

    Each with the statement that makes it, which is empty where it would be empty of what counts.
    """
    fresh = sqlite3.connect(":memory:", isolation_level=None)
    with closing(fresh):
        schema.migrate(fresh)
        there = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
        found = {}
        for kind, name, statement in fresh.execute(
            "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL"
        ):
            if name not in there:
                found[f"{kind} {name}"] = statement if kind != "table" or name in _SPARE else ""
            elif kind == "table":
                columns = "SELECT name FROM pragma_table_info(?)"
                here = {row[0] for row in connection.execute(columns, (name,))}
                for (column,) in fresh.execute(columns, (name,)):
                    if column not in here:
                        found[f"column {name}.{column}"] = ""
        return found


def read_identity(connection: sqlite3.Connection) -> dict[str, Any]:
    """Return the identity of a file. Raises ValueError where there is none that makes sense."""
    row = connection.execute("SELECT value FROM meta WHERE key = 'identity'").fetchone()
    if row is None:
        raise ValueError("it is missing")
    identity = json.loads(row[0])
    if not isinstance(identity, dict) or not isinstance(identity.get("methods"), list):
        raise ValueError("it names no methods")
    if identity.get("bits") not in (32, 64):
        raise ValueError(f"{identity.get('bits')!r} bits are unknown")
    unknown = [name for name in identity["methods"] if name not in METHODS]
    if unknown:
        raise ValueError(f"there is no method {', '.join(map(str, unknown))}")
    return identity


def check_identity(identity: Mapping[str, Any], now: Mapping[str, Any], rebuild: str) -> Finding:
    """Compare what the packages decide with what they would decide ``now``.

    ``rebuild`` is the command that signs the texts anew, empty where there are none.
    """
    instead = f"sign its texts anew: {rebuild}" if rebuild else "start anew"
    other = [name for name in _INSTALLED if identity.get(name) != now.get(name)]
    return Finding(
        "identity",
        len(other),
        f"written with another {' and another '.join(other)}",
        "",
        "crawls with the packages installed here refuse the file: install those that the newest"
        f" of its runs names (table runs, column versions), or {instead}"
        if other
        else "",
    )
