"""Checkpoints in a thread of their own: in the judging one they would be its stalls.

What is committed lies in the ``-wal`` file beside the index until a checkpoint brings it into
the index file, which means waiting for the disk.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
from pathlib import Path

from scrapy_simdedup.index.background import Background

logger = logging.getLogger(__name__)

_SECONDS = 0.5

# A -wal file of fewer bytes is left alone; a longer one is brought in as far as nobody has to
# wait for that.
_SOME = 4 << 20

# One that is written to without a pause never empties that way. With so many pages of 2 KiB in
# it, the writers wait for the rest, which is little by then, and begin the file anew.
_MOST_FRAMES = 32_768


class Checkpointer(Background):
    """Brings what has been committed into an index file, from ``start`` to ``stop``."""

    def __init__(self, path: Path) -> None:
        super().__init__("simdedup-checkpoint")
        self._path = path
        self._log = path.with_name(f"{path.name}-wal")

    def work(self) -> None:
        """Look after the file's log at intervals; closing the index makes the last checkpoint."""
        with contextlib.ExitStack() as stack:
            connection: sqlite3.Connection | None = None
            while not self.stopping.wait(_SECONDS):
                if self._size() < _SOME:
                    continue
                try:
                    if connection is None:
                        # Never made anew: whoever removed the file meant it.
                        uri = f"{self._path.as_uri()}?mode=rw"
                        connection = sqlite3.connect(uri, uri=True, timeout=0.1)
                        stack.callback(connection.close)
                    done = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
                    if done[1] > _MOST_FRAMES:
                        connection.execute("PRAGMA wal_checkpoint(RESTART)")
                except sqlite3.Error as error:
                    # It costs space and no page; the next try is soon.
                    logger.debug("no checkpoint of %s: %s", self._path, error)

    def _size(self) -> int:
        try:
            return self._log.stat().st_size
        except OSError:
            return 0
