"""The index as a file: whether it could be opened, and how it is moved out of the way."""

from __future__ import annotations

import glob
import logging
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from filelock import FileLock

from scrapy_simdedup.exceptions import IndexUnusable
from scrapy_simdedup.index import schema
from scrapy_simdedup.index.damage import unusable
from scrapy_simdedup.index.runs import is_alive
from scrapy_simdedup.index.transactions import LOCK_SECONDS

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


@contextmanager
def opened(
    path: Path, needed: Sequence[str] = schema.TABLES, *, write: bool = False
) -> Iterator[sqlite3.Connection]:
    """Open an index that is there, for reading only or also to write; it may be in use.

    Raises IndexUnusable, also where it lacks one of the tables that are ``needed``, and for
    errors of SQLite in the block.
    """
    path = path.absolute()
    if not path.is_file():
        raise IndexUnusable(f"there is no index at {path}")
    try:
        with closing(_connect_writing(path) if write else connect_reading(path)) as connection:
            schema.refuse_foreign(connection, path)
            if not connection.execute("PRAGMA user_version").fetchone()[0]:
                raise IndexUnusable(f"{path} is empty: there is no index in it")
            schema.refuse_incomplete(connection, path, needed)
            yield connection
    except sqlite3.Error as error:
        raise unusable(path, error) from error


def _connect_writing(path: Path) -> sqlite3.Connection:
    """Open a file that is there to write to it; ``Transactions`` is to wait for others."""
    uri = path.resolve().as_uri()
    return sqlite3.connect(f"{uri}?mode=rw", uri=True, isolation_level=None, timeout=0.001)


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
    except (sqlite3.DatabaseError, UnicodeDecodeError):
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


def opening(path: Path) -> FileLock:
    """Return the lock that is held while an index file is made, opened or replaced."""
    return FileLock(path.with_name(f"{path.name}.lock"), timeout=LOCK_SECONDS)


def move_aside(path: Path) -> Path | None:
    """Rename an index file out of the way, and return its new place; None where there is none.

    Raises IndexUnusable where a live run holds it, or another program has it open.
    """
    path = path.resolve()
    if not path.exists():
        return None
    with opening(path):
        check_unused(path)
        with closing(sqlite3.connect(path)) as connection:
            try:
                detach(connection, path)
            except sqlite3.DatabaseError:
                logger.debug("%s is no SQLite file; moved as it is", path)
        aside = place_aside(path)
        path.rename(aside)
    return aside


def place_aside(path: Path) -> Path:
    """Return where a file may be moved that is in the way."""
    stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%S%f")
    return path.with_name(f"{path.name}.{stamp}.bak")


def detach(connection: sqlite3.Connection, path: Path) -> None:
    """Bring what is still in the log of an index into the file, which can then be moved by itself.

    Raises IndexUnusable where another program has it open: that one would go on in a log that
    the next file at this place takes for its own.
    """
    try:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.OperationalError as error:
        if "locked" not in str(error):
            raise
        raise IndexUnusable(
            f"{path} is open in another program, and cannot be moved: end that one first"
        ) from error
