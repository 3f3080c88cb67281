"""The verdict: all that crosses from judging into Scrapy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Status = Literal["unique", "duplicate", "revisit", "skipped", "error", "orphaned"]


@dataclass(frozen=True)
class Verdict:
    """What a page or item was judged to be, against what, how close, and why.

    ``status`` is ``unique``, ``duplicate`` (of ``original``), ``revisit`` (the same page
    again), ``skipped`` (with ``reason``; passed on, never indexed), ``error`` (passed on) or
    ``orphaned`` (a duplicate whose original was not stored after all). A duplicate has a
    ``reason`` when its extraction is doubtful (``links``, ``little-text``, ``other-text``): it
    is tagged then, and never dropped.

    ``original`` is the URL of the kept page that it copies. ``nearest`` is the closest
    candidate even when that was not close enough, and the measures speak of it: ``distance``
    in bits, ``resemblance`` and ``containment`` from 0 to 1, None where there was nothing to
    compare with. ``method`` names what decided, ``max_distance`` the bit limit that held.
    ``changed`` tells, of a revisit, that the text is not the one of last time.
    """

    status: Status
    reason: str | None = None
    original: str | None = None
    distance: int | None = None
    resemblance: float | None = None
    containment: float | None = None
    method: str | None = None
    nearest: str | None = None
    max_distance: int | None = None
    changed: bool = False

    @property
    def is_duplicate(self) -> bool:
        """Whether the page or item is a near-duplicate of a kept one."""
        return self.status == "duplicate"

    @property
    def label(self) -> str:
        """The status, for ``skipped`` with its reason: ``skipped/too-short``, as in the stats."""
        return f"{self.status}/{self.reason}" if self.status == "skipped" else self.status

    @property
    def measures(self) -> str:
        """The method and how near it was, for log lines: ``sketch, 3 bits, ...``."""
        parts = [self.method or "no method"]
        if self.distance is not None:
            parts.append(f"{self.distance} bits")
        if self.resemblance is not None and self.containment is not None:
            parts.append(f"resemblance {self.resemblance:.2f}")
            parts.append(f"containment {self.containment:.2f}")
        return ", ".join(parts)

    def as_dict(self) -> dict[str, Any]:
        """Return the verdict as a plain dict, for ``response.meta`` and item fields."""
        # Flat, so that there is nothing to copy.
        return dict(vars(self))
