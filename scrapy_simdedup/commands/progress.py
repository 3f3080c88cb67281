"""A bar on a terminal for what takes long, and nothing in a pipe."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_simdedup.commands.screen import say, watched

if TYPE_CHECKING:
    from scrapy_simdedup.index.upkeep import Removed


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Callable[[int], object]]:
    """Show how a pass of some name and length gets on; what it gives is called with steps."""
    from tqdm import tqdm

    with tqdm(desc=what, total=total, unit="", leave=False, disable=not watched()) as bar:
        yield bar.update


def total_of(steps: Iterator[Removed], total: int, path: Path) -> Removed:
    """Take all steps of an index's upkeep, show how far it is, and say what to crawl again."""
    from scrapy_simdedup.index.records import Settled
    from scrapy_simdedup.index.upkeep import PAUSE, Removed

    removed = Removed()
    with progress("removing", total) as step:
        for each in steps:
            removed += each
            step(each.originals + each.decisions)
            time.sleep(PAUSE)
    if removed.orphans:
        say(Settled(0, removed.orphans).warning(path))
    return removed
