"""The bar that long work shows on a terminal; in a pipe there is none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from tqdm import tqdm

T = TypeVar("T")

_FORMAT = "{percentage:3.0f}%|{bar}| {count} {unit} [{elapsed}<{remaining}, {pace} {unit}/s]"


class Bar(tqdm):  # type: ignore[type-arg]
    """A bar that counts one thing (pages) and gets on by another, whose total is known (bytes).

    How long it will take comes from the latter.
    """

    def __init__(self, unit: str, total: int, *, shown: bool) -> None:
        super().__init__(
            total=total,
            unit=unit,
            bar_format=_FORMAT,
            leave=False,
            # What takes no time needs no bar.
            delay=0.5,
            # Drawn anew by time alone: a short archive is read at once, and judged for long.
            miniters=0,
            disable=not shown,
        )
        self.count = 0

    @property
    def format_dict(self) -> dict[str, Any]:
        """What the format can hold."""
        values = super().format_dict
        pace = self.count / values["elapsed"] if values["elapsed"] else 0
        return {**values, "count": f"{self.count:,}", "pace": f"{pace:,.0f}"}

    def counting(self, things: Iterable[T]) -> Iterator[T]:
        """Count things as they pass."""
        for thing in things:
            self.count += 1
            self.update(0)
            yield thing
