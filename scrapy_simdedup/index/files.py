"""The index as a file: whether it could be opened, and how it is moved out of the way."""

from __future__ import annotations

import logging
import os
import sqlite3
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from scrapy_simdedup.exceptions import IndexUnusable
from scrapy_simdedup.index import schema
from scrapy_simdedup.index.runs import is_alive

logger = logging.getLogger(__name__)


def check_place(path: Path) -> None:
    """Raise IndexUnusable where no file could be made at ``path``. Changes nothing."""
    folder = path.parent
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise IndexUnusable(f"cannot make {path}: {folder} is no folder that can be written to")
    if path.is_dir():
        raise IndexUnusable(f"{path} is a folder: SIMDEDUP_INDEX takes the path of a file")


def check_usable(path: Path, identity: dict[str, Any]) -> None:
    """Raise IndexUnusable where ``path`` could not be opened as an index. Changes nothing."""
    check_place(path)
    if not path.exists() or not path.stat().st_size:
        return
    try:
        connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    except sqlite3.Error as error:
        raise IndexUnusable(f"cannot open {path}: {error}") from error
    try:
        schema.refuse_foreign(connection, path)
        if connection.execute("PRAGMA user_version").fetchone()[0]:
            schema.refuse_identity(connection, path, identity)
    finally:
        connection.close()


def check_unused(path: Path) -> None:
    """Raise IndexUnusable where a live run holds the index, so that it cannot be reset."""
    for lock in path.parent.glob(f"{path.name}-run-*.lock"):
        if is_alive(path, lock.name):
            raise IndexUnusable(f"cannot reset {path}: another run is using it")


def move_aside(path: Path) -> Path | None:
    """Rename an index file out of the way, and return its new place; None where there is none.

    Raises IndexUnusable where a live run holds it.
    """
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
