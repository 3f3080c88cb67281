"""The places of indexes: a file, or an address of a Redis server with a file for the log."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Protocol

from scrapy_simdedup.index.bands import Rows
from scrapy_simdedup.index.files import check_place, check_unused, check_usable, move_aside
from scrapy_simdedup.index.records import Signature
from scrapy_simdedup.index.redis import address
from scrapy_simdedup.index.sqlite import SqliteIndex
from scrapy_simdedup.index.store import Store


class Place(Protocol):
    """Where an index is, whether it is there yet or not; ``str`` tells it without a password."""

    #: The file that holds the log of decisions.
    path: Path

    def check(self, identity: dict[str, Any]) -> None:
        """Raise IndexUnusable where the index could not be opened. Changes nothing."""

    def check_reset(self) -> None:
        """Raise IndexUnusable where the index could not be reset. Changes nothing."""

    def reset(self) -> str | None:
        """Make room for an empty index, and return what became of the old one, if any."""

    def open(
        self,
        identity: dict[str, Any],
        rows_of: Callable[[Signature], Rows],
        short: Collection[int],
        *,
        cache: int,
        **options: Any,
    ) -> Store:
        """Open the index, made if need be. Raises IndexUnusable."""


class FilePlace:
    """A file."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()

    def __str__(self) -> str:
        return str(self.path)

    def check(self, identity: dict[str, Any]) -> None:
        """Raise IndexUnusable where the file could not be opened. Changes nothing."""
        check_usable(self.path, identity)

    def check_reset(self) -> None:
        """Raise IndexUnusable where the file could not be moved aside. Changes nothing."""
        check_place(self.path)
        check_unused(self.path)

    def reset(self) -> str | None:
        """Move the file aside, if there is one."""
        aside = move_aside(self.path)
        return None if aside is None else f"the index so far is now {aside}"

    def open(
        self,
        identity: dict[str, Any],
        rows_of: Callable[[Signature], Rows],
        short: Collection[int],
        *,
        cache: int,
        **options: Any,
    ) -> SqliteIndex:
        """Open the file, made if need be. Raises IndexUnusable."""
        return SqliteIndex(self.path, identity, rows_of, cache=cache, **options)


def place_of(index: str | Path, log: Path) -> Place:
    """Return the place that a path or an address names; ``log`` is used with an address.

    Raises ValueError where an address is none.
    """
    if address.is_address(index):
        # What not everybody has installed.
        from scrapy_simdedup.index.redis.place import RedisPlace

        return RedisPlace(address.read(str(index)), log)
    return FilePlace(Path(index))
