"""What a person sees beside the output: lines on standard error, and whether a bar is of use."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections import Counter
from pathlib import Path


def say(line: str) -> None:
    """Print a line on standard error, if there is one that takes it."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            print(line, file=sys.stderr)


def listed(counts: Counter[str]) -> str:
    """Return counts in words, the largest first."""
    return ", ".join(f"{number:,} {name}" for name, number in counts.most_common())


def summary(statuses: Counter[str], reasons: Counter[str]) -> str:
    """Return in words what became of pages, and why some were not judged."""
    total = statuses.total()
    told = f"{total:,} page{'' if total == 1 else 's'}: {listed(statuses) or 'none'}"
    return f"{told}; not judged: {listed(reasons)}" if reasons else told


def watched() -> bool:
    """Tell whether a person looks at standard error."""
    return sys.stderr is not None and sys.stderr.isatty()


def beside(output: Path | None) -> bool:
    """Tell whether a bar is of use, and not in the way of rows on the screen or in a pager."""
    return watched() and (output is not None or _to_file())


def _to_file() -> bool:
    try:
        return stat.S_ISREG(os.fstat(sys.stdout.fileno()).st_mode)
    except (AttributeError, OSError):
        return False
