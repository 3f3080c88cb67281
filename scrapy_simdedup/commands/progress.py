"""A bar on a terminal for what takes long, and nothing in a pipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from scrapy_simdedup.commands.screen import watched


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Callable[[int], object]]:
    """Show how a pass of some name and length gets on; what it gives is called with steps."""
    from tqdm import tqdm

    with tqdm(desc=what, total=total, unit="", leave=False, disable=not watched()) as bar:
        yield bar.update
