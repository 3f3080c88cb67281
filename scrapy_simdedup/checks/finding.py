"""What a check of an index found, one thing that was checked at a time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

Progress = Callable[[str, int | None], AbstractContextManager[Callable[[int], object]]]
"""Shows how a pass of some name and length gets on; what it gives is called with steps."""


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
