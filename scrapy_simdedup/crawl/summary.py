"""What a crawl came to, in a line."""

from __future__ import annotations

from typing import Any


def summary(stats: dict[str, Any]) -> str:
    """Sum up the ``simdedup/`` stats: ``pages: 3 duplicate, 7 unique; items: ...``."""
    told = []
    for kind in ("pages", "items"):
        start = f"simdedup/{kind}/"
        counts: dict[str, int] = {}
        for name, value in sorted(stats.items()):
            if name.startswith(start):
                status = name[len(start) :].split("/")[0]
                counts[status] = counts.get(status, 0) + value
        if counts:
            told.append(f"{kind}: " + ", ".join(f"{n} {status}" for status, n in counts.items()))
    return "; ".join(told) or "nothing was judged"
