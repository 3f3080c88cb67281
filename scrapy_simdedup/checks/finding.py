"""What a check of an index found, one thing that was checked at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

Progress = Callable[[str, int | None], AbstractContextManager[Callable[[int], object]]]
"""Shows how a pass of some name and length gets on; what it gives is called with steps."""

# After so many steps of SQLite's machine the progress of a statement is shown.
_STEPS = 100_000


@contextmanager
def ticking(connection: sqlite3.Connection, progress: Progress, what: str) -> Iterator[None]:
    """Show that SQLite is at work, which says nothing of how far it is."""
    with progress(what, None) as step:

        def tell() -> None:
            step(1)

        connection.set_progress_handler(tell, _STEPS)
        try:
            yield
        finally:
            connection.set_progress_handler(None, 0)


@dataclass
class Finding:
    """Something that was checked, how many things are ``wrong`` with it, and what they are.

    ``mending`` says what repairing does about it, empty where nothing can be done; ``mended``
    tells that it has been done. ``note`` is told in any case.
    """

    what: str
    wrong: int = 0
    told: str = ""
    mending: str = ""
    note: str = ""
    mended: bool = False

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong, or no longer."""
        return not self.wrong or self.mended
