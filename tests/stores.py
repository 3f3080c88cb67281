"""The two stores of an index, for tests that must pass on both."""

from __future__ import annotations

import shutil
import sqlite3
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import redis

import invariants
from redis_server import RedisServer
from scrapy_simdedup.deduplicator import Deduplicator
from scrapy_simdedup.index.redis.keys import Keys
from scrapy_simdedup.index.redis.record import Record
from scrapy_simdedup.index.redis.store import RedisIndex

KINDS = ["sqlite", "redis"]


@dataclass(frozen=True)
class Row:
    """A page as an index stores it."""

    number: int
    url: str
    digest: bytes
    confirmed: bool
    seen: int
    previous: int | None
    visits: int


class Store(ABC):
    """One index and its log of decisions."""

    kind: str
    #: What a Deduplicator is opened with, and the file of the log.
    index: str
    log: Path

    def open(self, settings: Mapping[str, Any] | None = None, **options: Any) -> Deduplicator:
        """Open the index in this process."""
        return Deduplicator(self.index, settings, log=self.log, **options)

    def asked(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return what the log of decisions answers."""
        with closing(sqlite3.connect(f"{self.log.as_uri()}?mode=ro", uri=True)) as log:
            return log.execute(query, values).fetchall()

    @abstractmethod
    def held(self) -> list[Row]:
        """Return the pages that are stored, oldest first."""

    @abstractmethod
    def bodies(self) -> int:
        """Return how many bodies are remembered of which no page is stored."""

    @abstractmethod
    def die(self, dedup: Deduplicator) -> None:
        """Do what is left of a process that is killed: nothing is said, and its lock is gone."""

    def stop(self, dedups: Sequence[Deduplicator]) -> None:
        """Do what is left when a machine stops: all its processes die at once."""
        for dedup in dedups:
            self.die(dedup)

    @abstractmethod
    def wrong(self, methods: Iterable[str], *, settled: bool = True) -> list[str]:
        """Return what is wrong with what is stored; ``settled``: nothing may be open."""

    @abstractmethod
    def empty(self) -> None:
        """Remove what is stored; this store is done with."""


def log_of(dedup: Deduplicator) -> Any:
    """Return the open file that holds the log of decisions."""
    index: Any = dedup._index
    return index._log if isinstance(index, RedisIndex) else index


def _dies(index: Any) -> None:
    index._checkpointer.stop()
    index.connection.close()
    index._lock._lock.release()


class FileStore(Store):
    """An index file."""

    kind = "sqlite"

    def __init__(self, folder: Path, name: str) -> None:
        self.log = folder / f"{name}.db"
        self.index = str(self.log)

    def held(self) -> list[Row]:
        columns = "id, url, digest, confirmed, seen, previous, visits"
        return [Row(*row) for row in self.asked(f"SELECT {columns} FROM pages ORDER BY id")]

    def bodies(self) -> int:
        return len(self.asked("SELECT * FROM bodies"))

    def die(self, dedup: Deduplicator) -> None:
        _dies(log_of(dedup))

    def stop(self, dedups: Sequence[Deduplicator]) -> None:
        # The file goes on as a copy of what is on the disk.
        copy = self.log.with_name(f"copy-of-{self.log.name}")
        for ending in ("", "-wal"):
            with suppress(FileNotFoundError):
                shutil.copy(f"{self.log}{ending}", f"{copy}{ending}")
        for dedup in dedups:
            dedup.close()
        self.log, self.index = copy, str(copy)

    def empty(self) -> None:
        self.log.unlink()

    def wrong(self, methods: Iterable[str], *, settled: bool = True) -> list[str]:
        return invariants.wrong_with(self.log, methods, settled=settled)


class RedisStore(Store):
    """An index in a Redis server, which other indexes may be in as well."""

    kind = "redis"

    def __init__(self, folder: Path, name: str, server: RedisServer) -> None:
        self.log = folder / f"{name}-log.db"
        self.index = server.url(name)
        self.keys = Keys(name)
        self.client = redis.Redis(port=server.port)

    def held(self) -> list[Row]:
        last = int(self.client.hget(self.keys.meta, "pages") or 0)
        numbers = range(1, last + 1)
        # In one transaction, since crawlers may be at work.
        with self.client.pipeline() as asking:
            for number in numbers:
                asking.get(self.keys.page(number))
                asking.getbit(self.keys.held, number)
            answers = asking.execute()
        rows = []
        for number, raw, held in zip(numbers, answers[::2], answers[1::2], strict=True):
            assert held == (raw is not None)
            if raw is not None:
                each = Record.unpack(raw)
                seen = (each.seen, each.previous, each.visits)
                rows.append(Row(number, each.url, each.digest, each.confirmed, *seen))
        return rows

    def empty(self) -> None:
        # Whoever looks through an index's keys looks through all keys of the server.
        self.client.flushall()

    def bodies(self) -> int:
        return len(self.client.keys(f"{self.keys.prefix}:body:*"))

    def die(self, dedup: Deduplicator) -> None:
        index = dedup._index
        assert isinstance(index, RedisIndex)
        index._heart.stop()
        index._link.close()
        _dies(log_of(dedup))

    def wrong(self, methods: Iterable[str], *, settled: bool = True) -> list[str]:
        found = invariants.wrong_with(self.log, [], settled=settled)
        return found + invariants.wrong_in_redis(
            self.client, self.keys.prefix, methods, settled=settled
        )


def new_name() -> str:
    """Return a name that no other index has."""
    return f"t{uuid.uuid4().hex[:12]}"
