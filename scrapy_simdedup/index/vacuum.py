"""Giving back the space that removed rows have left, by SQLite's own VACUUM.

That writes the index anew: into a temporary file, and from there into the ``-wal`` file, before
it replaces anything. So it needs twice the space, and whenever it is cut short, the index is as
it was.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from dataclasses import dataclass
from pathlib import Path

from scrapy_simdedup.exceptions import IndexUnusable
from scrapy_simdedup.index.files import check_unused
from scrapy_simdedup.index.transactions import LOCK_SECONDS

# What a -wal file has beside the pages of the index, and a bit for the file system.
_MARGIN = 1.05


@dataclass(frozen=True)
class Vacuumed:
    """Bytes of an index and its ``-wal`` before and after.

    ``held`` tells that somebody still reads the old state, so that the ``-wal`` file is there
    until the next checkpoint.
    """

    before: int
    after: int
    held: bool


def vacuum(connection: sqlite3.Connection, path: Path) -> Vacuumed:
    """Vacuum an index that is open for writing.

    Raises IndexUnusable where a live run uses it or there is no room, and sqlite3.Error.
    """
    path = path.resolve()
    check_unused(path, "vacuum")
    connection.execute(f"PRAGMA busy_timeout = {LOCK_SECONDS * 1000:.0f}")
    _checkpoint(connection)
    before = _size(path)
    _check_room(connection, path)
    try:
        connection.execute("VACUUM")
    except sqlite3.OperationalError as error:
        if "full" not in str(error):
            raise
        raise IndexUnusable(
            f"there is not enough room to vacuum {path}, in {path.parent} or in {_temporary()}."
            " It is as it was."
        ) from error
    held = _checkpoint(connection)
    return Vacuumed(before, _size(path), held)


def _checkpoint(connection: sqlite3.Connection) -> bool:
    """Bring all of the -wal file into the index; tell whether somebody keeps it from that."""
    busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return bool(busy)


def _size(path: Path) -> int:
    log = path.with_name(f"{path.name}-wal")
    return path.stat().st_size + (log.stat().st_size if log.exists() else 0)


def _check_room(connection: sqlite3.Connection, path: Path) -> None:
    """Raise IndexUnusable where there is no room for what is written on the way."""
    page, pages, free = (
        int(connection.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("page_size", "page_count", "freelist_count")
    )
    once = int(page * (pages - free) * _MARGIN)
    needed = {path.parent: once}
    temporary = _temporary()
    if temporary.stat().st_dev == path.parent.stat().st_dev:
        needed[path.parent] += once
    else:
        needed[temporary] = once
    for folder, size in needed.items():
        room = shutil.disk_usage(folder).free
        if room < size:
            raise IndexUnusable(
                f"cannot vacuum {path}: that takes up to {size:,} bytes in {folder}, where"
                f" {room:,} are free. Make room there"
                + (", or set SQLITE_TMPDIR to another folder." if temporary == folder else ".")
            )


def _temporary() -> Path:
    """Return the folder in which SQLite makes its temporary files."""
    if os.name == "posix":
        # In this order (os_unix.c); Python's own order is another one.
        places = [os.environ.get("SQLITE_TMPDIR"), os.environ.get("TMPDIR")]
        for place in (*places, "/var/tmp", "/usr/tmp", "/tmp"):  # noqa: S108  (only looked at)
            if place and Path(place).is_dir() and os.access(place, os.W_OK | os.X_OK):
                return Path(place)
    return Path(tempfile.gettempdir())
