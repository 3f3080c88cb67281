"""A page of a batch, wherever it was read from."""

from __future__ import annotations

from dataclasses import dataclass

from scrapy_simdedup.exceptions import SimDedupError

# A page of more bytes is not read: whatever it is, it would have to fit the memory.
MOST_BYTES = 64 << 20


class Unreadable(SimDedupError):
    """A file that was named cannot be read."""


@dataclass(frozen=True)
class Record:
    """A page of a batch: HTML or text, or the reason why it is neither.

    ``key`` is what makes it the same page the next time, ``size`` how many bytes of the input
    were read since the record before.
    """

    url: str
    key: str
    html: str | bytes | None = None
    text: str | None = None
    reason: str | None = None
    size: int = 0
