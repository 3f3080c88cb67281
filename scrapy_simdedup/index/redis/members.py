"""Who is alive: runs by their last heartbeat, and on this machine by their processes."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from scrapy_simdedup.index.files import connect_reading
from scrapy_simdedup.index.redis.keys import Keys
from scrapy_simdedup.index.redis.link import Link
from scrapy_simdedup.index.runs import is_alive

# A run tells that it is alive so often, and is dead when it has not for so long.
BEAT_SECONDS = 10.0
DEAD_SECONDS = 60.0
# A server that has been up for less has not heard of everybody.
_UP_SECONDS = DEAD_SECONDS


class Member:
    """A run among the live ones, as it is written there: its number, its log, its lock."""

    def __init__(self, written: bytes) -> None:
        self.written = written
        number, self.log, self.lock = written.decode().split(" ", 2)
        self.number = int(number)

    def gone(self, log: str | None, path: Path) -> bool:
        """Tell whether a run that shares the log of that number, at ``path``, has no process."""
        return self.log == log and not is_alive(path, self.lock)


def members(link: Link, keys: Keys) -> list[tuple[Member, bool]]:
    """Return the runs that count as alive, and whether they have been silent for too long."""
    seconds, more = link.call(lambda client: client.time())
    up = link.call(lambda client: client.info("server")["uptime_in_seconds"])
    (found,) = link.ask(("ZRANGE", keys.live, 0, -1, "WITHSCORES"))
    now = seconds * 1000 + more / 1000
    before = now - DEAD_SECONDS * 1000 if up > _UP_SECONDS else 0
    return [(Member(written), float(beat) < before) for written, beat in _pairs(found)]


def living(link: Link, keys: Keys, path: Path) -> list[Member]:
    """Return the runs that are alive, as far as can be told beside the log at ``path``."""
    log = log_id(path)
    return [
        member
        for member, silent in members(link, keys)
        if not silent and not member.gone(log, path)
    ]


def log_id(path: Path) -> str | None:
    """Return the number of the log in a file, None where there is none."""
    if not path.exists():
        return None
    try:
        with closing(connect_reading(path)) as connection:
            row = connection.execute("SELECT value FROM meta WHERE key = 'log'").fetchone()
    except sqlite3.Error:
        return None
    return str(row[0]) if row else None


def _pairs(answer: Any) -> list[tuple[bytes, bytes]]:
    """Read an answer with scores: a list of pairs by one protocol, flat by the other."""
    if answer and isinstance(answer[0], bytes):
        return list(zip(answer[::2], answer[1::2], strict=True))
    return [tuple(pair) for pair in answer]
