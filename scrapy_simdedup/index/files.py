"""The index as a file: whether it could be opened, and how it is moved out of the way."""

from __future__ import annotations

import glob
import logging
import sqlite3
import tempfile
from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from scrapy_simdedup.exceptions import IndexUnusable
from scrapy_simdedup.index import schema
from scrapy_simdedup.index.damage import unusable
from scrapy_simdedup.index.runs import is_alive

logger = logging.getLogger(__name__)


def check_place(path: Path) -> None:
    """Raise IndexUnusable where no file could be made at ``path``. Changes nothing."""
    try:
        if path.is_dir():
            raise IndexUnusable(f"{path} is a folder: SIMDEDUP_INDEX takes the path of a file")
        if path.exists() and not path.is_file():
            raise IndexUnusable(f"{path} is no regular file: name another one in SIMDEDUP_INDEX")
        folder = path
        while not folder.exists():
            if folder.is_symlink():
                # An empty index in place of one on a disk that is not mounted helps nobody.
                raise IndexUnusable(
                    f"{folder} is a link to {folder.readlink()}, where nothing is: make that"
                    " available, remove the link, or name another file in SIMDEDUP_INDEX"
                )
            folder = folder.parent
        _check_folder(path, folder.parent if folder == path else folder)
    except OSError as error:
        raise unusable(path, error) from error


def _check_folder(path: Path, folder: Path) -> None:
    """Raise IndexUnusable where a folder takes no new files (``-wal`` and lock files are such)."""
    try:
        # What it says of itself is not enough: /proc says that it can be written to.
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise IndexUnusable(
            f"cannot make {path}: {folder} is no folder that can be written to"
            f" ({error.strerror}); name another file in SIMDEDUP_INDEX"
        ) from None


def check_usable(path: Path, identity: dict[str, Any]) -> None:
    """Raise IndexUnusable where ``path`` could not be opened as an index. Changes nothing."""
    check_place(path)
    if not path.exists() or not path.stat().st_size:
        return
    # What a process that died while it made the file left half done is undone by opening it,
    # which no one can who only reads.
    mode = "rw" if path.with_name(f"{path.name}-journal").exists() else "ro"
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode={mode}", uri=True)) as connection:
            schema.refuse_foreign(connection, path)
            if connection.execute("PRAGMA user_version").fetchone()[0]:
                schema.refuse_incomplete(connection, path)
                schema.refuse_identity(connection, path, identity)
    except sqlite3.Error as error:
        raise unusable(path, error) from error


def connect_reading(path: Path) -> sqlite3.Connection:
    """Open a file for reading only, also where nothing can be written beside it."""
    uri = path.resolve().as_uri()
    connection = sqlite3.connect(f"{uri}?mode=ro", uri=True, isolation_level=None)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        connection.close()
        log = path.resolve().with_name(f"{path.resolve().name}-wal")
        if log.exists() and log.stat().st_size:
            raise
        # A file of a read-only medium: nobody writes to it either.
        return sqlite3.connect(f"{uri}?immutable=1", uri=True, isolation_level=None)
    except sqlite3.DatabaseError:
        # Whoever asks for it will be told why it cannot be read.
        return connection
    return connection


def check_unused(path: Path, intent: str = "reset") -> None:
    """Raise IndexUnusable where a live run holds the index, so that it cannot be reset."""
    path = path.resolve()
    for lock in path.parent.glob(f"{glob.escape(path.name)}-run-*.lock"):
        if is_alive(path, lock.name):
            raise IndexUnusable(
                f"cannot {intent} {path}: another run is using it. Try again when it is over."
            )


def move_aside(path: Path) -> Path | None:
    """Rename an index file out of the way, and return its new place; None where there is none.

    Raises IndexUnusable where a live run holds it.
    """
    path = path.resolve()
    if not path.exists():
        return None
    check_unused(path)
    connection = sqlite3.connect(path)
    try:
        # What is still in the log belongs into the file that is moved.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.DatabaseError:
        logger.debug("%s is no SQLite file; moved as it is", path)
    finally:
        connection.close()
    stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%S%f")
    aside = path.with_name(f"{path.name}.{stamp}.bak")
    path.rename(aside)
    return aside
