"""``rebuild``: sign the stored texts of an index anew, for settings that shape what is stored.

Everything happens in a copy, which takes its place whole or not at all: whatever becomes of the
process, there is the old index or the new one. Runs, decisions, claims and the names of pages
stay as they are. What bodies of copies were judged to be is forgotten, since it rests on the old
signatures; they are analysed when they come again.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from scrapy_simdedup.batch.resign import Resigning
from scrapy_simdedup.checks.finding import Progress
from scrapy_simdedup.config import Config
from scrapy_simdedup.exceptions import IndexUnusable
from scrapy_simdedup.identity import identity_of, versions, written
from scrapy_simdedup.index import files, schema
from scrapy_simdedup.index.ages import now
from scrapy_simdedup.index.damage import is_damage, unusable
from scrapy_simdedup.index.recorded import FIXED, recorded_identity
from scrapy_simdedup.index.runs import RunLock
from scrapy_simdedup.index.upkeep import Removed

# Pages of the file that are copied at a time.
_STEP = 4096


@dataclass(frozen=True)
class Rebuilt:
    """Where the new index is, and the old one now; pages signed anew, and what was left out."""

    path: Path
    old: Path
    pages: int
    left_out: Removed


def rebuild(
    path: Path,
    config: Config,
    progress: Progress,
    *,
    output: Path | None = None,
    leave_out: bool = False,
) -> Rebuilt:
    """Sign the texts of the index at ``path`` as ``config`` says.

    The new index goes to ``output``, where no file may be, or else takes the place of the old
    one, which is moved aside. Pages without a text are refused, or left out. Raises
    IndexUnusable, with the index as it was.
    """
    path = path.absolute()
    if not path.is_file():
        raise IndexUnusable(f"there is no index at {path}")
    path = path.resolve()
    target = output.absolute() if output else path
    if output:
        _refuse_taken(target)
    files.check_place(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        try:
            source = _Source(path, stack)
            identity = identity_of(config)
            source.check(identity, leave_out=leave_out)
            part = stack.enter_context(_part_of(target))
            source.copy(part, progress)
            pages, left_out = _sign(part, identity, config, progress, leave_out=leave_out)
            old = _publish(source, part, target)
        except (sqlite3.Error, OSError) as error:
            if is_damage(error):
                raise unusable(path, error) from error
            raise IndexUnusable(f"cannot rebuild {path}, which is as it was: {error}") from error
    return Rebuilt(target, old, pages, left_out)


def _refuse_taken(target: Path) -> None:
    if os.path.lexists(target):
        raise IndexUnusable(f"there is a file at {target} already: name another one in --output")


class _Source:
    """The old index, which no run may use meanwhile."""

    def __init__(self, path: Path, stack: ExitStack) -> None:
        self.path = path
        self._lock = RunLock(path)
        with files.opening(path):
            files.check_unused(path, "rebuild")
            self._lock.acquire()
        stack.callback(self.let_go)
        self.connection = sqlite3.connect(
            f"{path.as_uri()}?mode=rw", uri=True, isolation_level=None
        )
        stack.callback(self.connection.close)
        self._version = self._data_version()

    def check(self, identity: dict[str, Any], *, leave_out: bool) -> None:
        """Raise IndexUnusable where the file cannot be signed anew, or not all of it."""
        schema.refuse_foreign(self.connection, self.path)
        if not self.connection.execute("PRAGMA user_version").fetchone()[0]:
            raise IndexUnusable(f"{self.path} is empty: there is no index in it")
        schema.refuse_incomplete(self.connection, self.path)
        recorded = recorded_identity(self.connection, self.path) or {}
        for name in FIXED:
            if recorded.get(name) != identity[name]:
                raise IndexUnusable(
                    f"{self.path} was written with {name} {recorded.get(name)!r}, and the settings"
                    f" ask for {identity[name]!r}: texts cannot be signed anew for that. Set"
                    f" SIMDEDUP_{name.upper()} as it was, or start anew."
                )
        pages, texts = self.connection.execute(
            "SELECT count(*), count(texts.digest) FROM pages LEFT JOIN texts USING (digest)"
        ).fetchone()
        if texts < pages and not leave_out:
            raise IndexUnusable(
                f"{self.path} has the texts of {texts} of its {pages} pages; the others were kept"
                " while SIMDEDUP_STORE_TEXT was off. Go back to the old settings and crawl with"
                " SIMDEDUP_STORE_TEXT = True, which stores the texts of pages that come again; or"
                f" go on with --leave-out, and {pages - texts} pages will be unknown."
            )

    def copy(self, part: Path, progress: Progress) -> None:
        """Copy the whole file."""
        with contextlib.closing(sqlite3.connect(part)) as copy, progress("copy", None) as step:
            self.connection.backup(copy, pages=_STEP, progress=lambda *_: step(1))
        shutil.copymode(self.path, part)

    def let_go(self) -> None:
        """Let others use the index again."""
        self._lock.release()

    def check_unchanged(self) -> None:
        """Raise IndexUnusable where anybody has written to the file since it was opened."""
        files.check_unused(self.path, "rebuild")
        if self._data_version() != self._version:
            raise IndexUnusable(
                f"{self.path} has been written to meanwhile, and was left as it is: try again"
            )

    def _data_version(self) -> int:
        return int(self.connection.execute("PRAGMA data_version").fetchone()[0])


@contextmanager
def _part_of(target: Path) -> Iterator[Path]:
    """Return the place for what is not finished; whatever is there at the end is removed."""
    part = target.with_name(f"{target.name}.part")
    lock = FileLock(f"{part}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise IndexUnusable(f"{target} is being rebuilt by another process") from None
    try:
        # What one that was killed has left behind.
        part.unlink(missing_ok=True)
        yield part
    finally:
        for path in (part, part.with_name(f"{part.name}-journal"), Path(lock.lock_file)):
            with contextlib.suppress(OSError):
                path.unlink()
        lock.release()


def _sign(
    part: Path, identity: dict[str, Any], config: Config, progress: Progress, *, leave_out: bool
) -> tuple[int, Removed]:
    """Sign the pages of a copy anew; return how many are signed, and what is left out."""
    with contextlib.closing(sqlite3.connect(part, isolation_level=None)) as connection:
        execute = connection.execute
        # If anything happens to it, it is thrown away.
        execute("PRAGMA journal_mode = OFF")
        execute("PRAGMA synchronous = OFF")
        execute(f"PRAGMA cache_size = -{config.cache_mb << 10}")
        schema.migrate(connection)
        execute("BEGIN")
        started = now()
        done = Resigning(connection, config, leave_out=leave_out).run(progress)
        execute("DELETE FROM bodies")
        execute("INSERT OR REPLACE INTO meta VALUES ('identity', ?)", (json.dumps(identity),))
        execute(
            "INSERT INTO runs (spider, job, started, ended, status, lock, settings, versions)"
            " VALUES ('rebuild', ?, ?, ?, 'finished', '', ?, ?)",
            (uuid.uuid4().hex, started, now(), written(config), json.dumps(versions())),
        )
        execute("COMMIT")
    return done


def _publish(source: _Source, part: Path, target: Path) -> Path:
    """Put the new index into its place, and return where the old one is."""
    with part.open("rb+") as file:
        os.fsync(file.fileno())
    with files.opening(target):
        if target != source.path:
            _refuse_taken(target)
            part.rename(target)
            return source.path
        source.let_go()
        source.check_unchanged()
        files.detach(source.connection, source.path)
        source.connection.close()
        aside = files.place_aside(target)
        try:
            # A second name, so that there is an index at the old one all the time.
            os.link(target, aside)
        except OSError:
            target.rename(aside)
        part.replace(target)
    return aside
