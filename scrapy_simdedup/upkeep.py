"""Looking after an index: by an open Deduplicator, or by itself, without a run and settings."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path

from scrapy_simdedup.checks.file import read_identity
from scrapy_simdedup.exceptions import IndexUnusable
from scrapy_simdedup.index.ages import ago, stamp
from scrapy_simdedup.index.claims import Claims
from scrapy_simdedup.index.damage import check_command
from scrapy_simdedup.index.files import opened
from scrapy_simdedup.index.pages import Pages
from scrapy_simdedup.index.runs import lives
from scrapy_simdedup.index.store import Store
from scrapy_simdedup.index.transactions import Transactions
from scrapy_simdedup.index.upkeep import PAUSE, Removed, Upkeep
from scrapy_simdedup.methods import rows_of
from scrapy_simdedup.sites import stored_url

logger = logging.getLogger(__name__)

# Memory for the pages of the file, in KiB.
_CACHE = 64 << 10

# How long a run that starts may spend on pruning, in seconds; its pages wait for that.
_LONGEST = 5.0


@contextmanager
def looked_after(path: Path, *, write: bool) -> Iterator[Upkeep]:
    """Open an index for its upkeep, with the methods that it was made with; it may be in use.

    Raises IndexUnusable, also for what goes wrong in the block.
    """
    with opened(path, write=write) as connection:
        try:
            methods = read_identity(connection)["methods"]
        except ValueError as error:
            raise IndexUnusable(
                f"{path.absolute()} is damaged: its identity is of no use ({error})."
                f" {check_command(path.absolute())} tells more."
            ) from error
        if write:
            # Rows of a page lie all over the table.
            connection.execute(f"PRAGMA cache_size = -{_CACHE}")
        place = path.resolve()

        def is_alive(run: int) -> bool:
            return lives(connection, place, run)

        delete = Pages(connection, 0, rows_of(methods)).delete
        claims = Claims(connection, 0, is_alive, delete)
        write_in = Transactions(connection, lambda: None).write
        yield Upkeep(connection, write_in, claims, delete, is_alive)


class Keeper:
    """The part of a Deduplicator that looks after its index while it is in use."""

    _index: Store
    _turn: threading.RLock

    def remove(self, *urls: str, host: str = "", run: int | None = None) -> Removed:
        """Remove the originals that meet all that is given, and return what went.

        ``urls`` are those of the pages, or of the pages that items come from; ``host`` is a
        host's name, or with a dot in front a domain with all its hosts; ``run`` is the one that
        made them originals. The next copy is then kept; the log keeps its history, with the
        time at which originals of copies went. Raises ValueError where nothing is given.
        """
        if not urls and not host and run is None:
            raise ValueError("give URLs, a host or a run")
        upkeep = self._index.upkeep
        with self._turn:
            found = [each.page for each in upkeep.find(map(stored_url, urls), host, run)]
        return self._in_turns(upkeep.remove(found))

    def prune(self, older_than: timedelta | datetime, *, decisions: bool = False) -> Removed:
        """Remove the originals that no run has met for so long, or since a time (UTC).

        A page counts as met when the last run that met it ended. ``decisions`` deletes what the
        log has from before that time as well, but for live runs.
        """
        if isinstance(older_than, timedelta):
            before = ago(older_than.total_seconds())
        else:
            utc = older_than if older_than.tzinfo else older_than.replace(tzinfo=timezone.utc)
            before = stamp(utc)
        removed = self._in_turns(self._index.upkeep.prune(before))
        if decisions:
            removed += self._in_turns(self._index.upkeep.prune_decisions(before))
        return removed

    def _in_turns(self, steps: Iterator[Removed]) -> Removed:
        """Take all steps; whoever judges gets a turn between two of them."""
        removed = Removed()
        while True:
            with self._turn:
                step = next(steps, None)
            if step is None:
                return removed
            removed += step
            time.sleep(PAUSE)

    def _prune_at_start(self, max_age: float) -> None:
        """Remove what has grown too old, as far as the time goes: none of it counts anyway."""
        until = time.monotonic() + _LONGEST
        removed = Removed()
        try:
            for step in self._index.upkeep.prune(ago(max_age)):
                removed += step
                if time.monotonic() > until:
                    break
                time.sleep(PAUSE)
        except sqlite3.Error as error:
            logger.warning("cannot prune %s: %s", self._index.path, error)
        if removed.originals:
            logger.info(
                "%s: %d originals were pruned, which no run had met for SIMDEDUP_MAX_AGE",
                self._index.path,
                removed.originals,
            )
