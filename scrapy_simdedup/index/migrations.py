"""The index file's tables and views, as sqlite-utils migrations.

The file is a public interface: plain tables and views that sqlite-utils and datasette open as
they are. A migration, once released, never changes; the next one goes below it.
"""

from __future__ import annotations

from sqlite_utils import Database, Migrations

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
