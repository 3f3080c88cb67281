"""The index file that a benchmark works on: built, or a copy of one that was built before."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bulk import build
from made_up import UNIFORM


@dataclass(frozen=True)
class Built:
    """A file to work on, its bytes a page as built, and how long that took (0: it was there)."""

    path: Path
    bytes_per_page: float
    seconds: float


@contextmanager
def index_of(pages: int, keep: Path | None = None, kind: str = UNIFORM) -> Iterator[Built]:
    """Yield an index of made-up pages, to be written to, and remove it at the end.

    With ``keep`` it is built there, or was before, and a copy beside it is worked on.
    """
    with tempfile.TemporaryDirectory(dir=keep.absolute().parent if keep else None) as folder:
        path = Path(folder) / "index.db"
        target, seconds = keep or path, 0.0
        if not target.exists():
            unready = target.with_name(target.name + ".part")
            unready.unlink(missing_ok=True)
            seconds = build(unready, pages, kind)
            unready.rename(target)
            unready.with_name(unready.name + ".lock").unlink(missing_ok=True)
        elif (found := _pages(target)) != pages:
            raise SystemExit(f"{target} has {found:,} pages, not {pages:,}: name another file")
        size = target.stat().st_size
        if target != path:
            shutil.copyfile(target, path)
        yield Built(path, size / pages, seconds)


def _pages(path: Path) -> int:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    try:
        return int(connection.execute("SELECT max(id) FROM pages").fetchone()[0] or 0)
    finally:
        connection.close()
