"""The index file's tables and views, as sqlite-utils migrations, and whose file it is.

The file is a public interface: plain tables and views that sqlite-utils and datasette open as
they are. A migration, once released, never changes; the next one goes below it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlite_utils import Database, Migrations

from scrapy_simdedup.exceptions import IndexUnusable
from scrapy_simdedup.index.damage import check_command, rebuild_command, unusable
from scrapy_simdedup.index.recorded import FIXED, recorded_identity
from scrapy_simdedup.index.texts import any_stored

# "SDDP": tells our files from other SQLite files (PRAGMA application_id).
APPLICATION_ID = 0x53444450

# The newest schema (PRAGMA user_version); each migration sets its own number.
SCHEMA = 1

# The tables of the newest schema.
TABLES = ("meta", "runs", "pages", "bands", "decisions", "bodies", "texts")

migrations = Migrations("scrapy-simdedup")


@migrations()
def m001_initial(db: Database) -> None:
    """Tables of the first release."""
    db.table("meta").create({"key": str, "value": str}, pk="key", not_null={"value"})
    db.table("runs").create(
        {
            "id": int,
            "spider": str,
            "job": str,
            "started": str,
            "ended": str,
            "status": str,
            "lock": str,
            "settings": str,
            "versions": str,
        },
        pk="id",
        not_null={"started", "status", "lock"},
    )
    # AUTOINCREMENT: numbers only grow, so that "newer than" can be asked of a page.
    db.execute(
        """
        CREATE TABLE pages (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            url TEXT NOT NULL,
            space INTEGER NOT NULL,
            run INTEGER NOT NULL REFERENCES runs(id),
            confirmed INTEGER NOT NULL,
            replaces INTEGER,
            identities BLOB NOT NULL,
            body BLOB NOT NULL,
            digest BLOB NOT NULL,
            terms INTEGER NOT NULL,
            signature BLOB NOT NULL,
            seen INTEGER NOT NULL,
            previous INTEGER,
            visits INTEGER NOT NULL
        )
        """
    )
    # New rows that are open, which are few; and the runs that met pages last, by which they grow
    # old, with the visits that are open.
    db.execute("CREATE INDEX pages_open ON pages(run) WHERE confirmed = 0")
    db.execute("CREATE INDEX pages_seen ON pages(seen, previous)")
    db.execute(
        """
        CREATE TABLE bands (
            band INTEGER NOT NULL,
            key INTEGER NOT NULL,
            page INTEGER NOT NULL,
            PRIMARY KEY (band, key, page)
        ) WITHOUT ROWID
        """
    )
    db.execute(
        """
        CREATE TABLE decisions (
            id INTEGER PRIMARY KEY,
            run INTEGER NOT NULL REFERENCES runs(id),
            time TEXT NOT NULL,
            kind TEXT NOT NULL,
            url TEXT NOT NULL,
            status TEXT NOT NULL,
            reason TEXT,
            original TEXT,
            original_page INTEGER,
            original_removed TEXT,
            distance INTEGER,
            max_distance INTEGER,
            resemblance REAL,
            containment REAL,
            method TEXT,
            nearest TEXT,
            terms INTEGER,
            text BLOB
        )
        """
    )
    db.execute("CREATE INDEX decisions_run ON decisions(run)")
    db.execute(
        "CREATE INDEX decisions_original ON decisions(original_page)"
        " WHERE original_page IS NOT NULL"
    )
    db.execute(
        """
        CREATE TABLE bodies (
            body BLOB NOT NULL,
            space INTEGER NOT NULL,
            rules INTEGER NOT NULL,
            decision INTEGER NOT NULL,
            PRIMARY KEY (body, space, rules)
        ) WITHOUT ROWID
        """
    )
    db.execute(
        """
        CREATE TABLE texts (
            digest BLOB PRIMARY KEY,
            text BLOB NOT NULL
        ) WITHOUT ROWID
        """
    )
    db.execute("PRAGMA user_version = 1")
    db.create_view(
        "duplicates",
        """
        SELECT d.url, d.original, d.distance, d.max_distance, d.resemblance, d.containment,
               d.method, d.kind, d.time, r.spider, d.run, d.original_removed
        FROM decisions d JOIN runs r ON r.id = d.run
        WHERE d.status = 'duplicate'
        """,
    )
    db.create_view(
        "clusters",
        """
        SELECT original, kind, count(DISTINCT url) AS copies, min(time) AS first_copy,
               max(time) AS last_copy
        FROM decisions
        WHERE status = 'duplicate' AND original_removed IS NULL
        GROUP BY original, kind
        ORDER BY copies DESC
        """,
    )


def refuse_foreign(connection: sqlite3.Connection, path: Path) -> None:
    """Raise IndexUnusable unless the file is empty or one of ours, not newer than we are."""
    try:
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        tables = connection.execute(
            # sqlite-utils makes its own one before the first migration.
            "SELECT count(*) FROM sqlite_master WHERE tbl_name != '_sqlite_migrations'"
        ).fetchone()[0]
    except sqlite3.DatabaseError as error:
        raise unusable(path, error) from error
    except UnicodeDecodeError:
        # SQLite's message, which quotes what stands in the place of its schema.
        malformed = sqlite3.DatabaseError("malformed database schema")
        raise unusable(path, malformed) from malformed
    if version == 0 and application == APPLICATION_ID and tables:
        # A migration is a transaction: what it makes is there as a whole, with its number.
        raise IndexUnusable(
            f"{path} has tables and no schema number: it is half made, and not by scrapy-simdedup."
            " It was left untouched: move it aside, or name another file in SIMDEDUP_INDEX."
        )
    if tables and application != APPLICATION_ID:
        raise IndexUnusable(
            f"{path} is an SQLite file of another program. It was left untouched: name another"
            " file in SIMDEDUP_INDEX."
        )
    if version > SCHEMA:
        raise IndexUnusable(
            f"{path} has schema {version}, but this scrapy-simdedup knows schemas up to"
            f" {SCHEMA}: upgrade scrapy-simdedup, or name another file in"
            " SIMDEDUP_INDEX."
        )


def refuse_incomplete(
    connection: sqlite3.Connection, path: Path, needed: Sequence[str] = TABLES
) -> None:
    """Raise IndexUnusable where a file of the newest schema has lost tables that are needed."""
    there = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    lost = [name for name in needed if name not in there]
    if lost:
        raise IndexUnusable(
            f"{path} is damaged: it has no table {', '.join(lost)}. It was left untouched;"
            f" {check_command(path)} tells what can be repaired. Or name another file in"
            " SIMDEDUP_INDEX."
        )


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the tables up to date. The caller makes sure that nobody else does the same."""
    db = Database(connection, execute_plugins=False)
    if not migrations.pending(db):
        return
    # First of all: killed half way through, the file must still be known as ours.
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    migrations.apply(db)


def refuse_identity(connection: sqlite3.Connection, path: Path, identity: dict[str, Any]) -> bool:
    """Raise IndexUnusable where the file was written with another identity.

    Returns whether the file records one at all.
    """
    recorded = recorded_identity(connection, path)
    if recorded is None:
        return False
    differing = differences(recorded, identity)
    if differing:
        rebuild = ""
        if any_stored(connection) and all(recorded.get(n) == identity.get(n) for n in FIXED):
            rebuild = (
                f", sign its stored texts anew ({rebuild_command(path)}, and -s NAME=VALUE for what"
                " a spider sets by itself)"
            )
        raise IndexUnusable(
            f"{path} was written with {differing}: fingerprints would not match. Go back to"
            f" those settings{rebuild}, or start anew: move the file aside, set SIMDEDUP_RESET ="
            " True once, or name another file in SIMDEDUP_INDEX."
        )
    return True


def differences(recorded: dict[str, Any], identity: dict[str, Any]) -> str:
    """Say in what the identity that an index records is not that of the settings."""
    return ", ".join(
        f"{name} {recorded.get(name)!r} where the settings now ask for {identity.get(name)!r}"
        for name in sorted(recorded.keys() | identity.keys())
        if recorded.get(name) != identity.get(name)
    )
