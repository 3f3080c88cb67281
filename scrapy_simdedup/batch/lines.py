"""Pages from JSON lines, plain or compressed; what is torn or none is named by its line."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import IO, cast

from scrapy_simdedup.batch.record import MOST_BYTES, Record

_TORN = (EOFError, OSError, zlib.error)


def read_lines(path: Path) -> Iterator[Record]:
    """Return the pages of a file of JSON lines, one at a time.

    A line is an object with ``url`` and ``html`` or ``text``; one that is not has a reason. So
    has a last line that a writer who was stopped left half done (``torn``). Raises OSError
    where the file cannot be opened.
    """
    with path.open("rb") as raw:
        lines = cast(IO[bytes], gzip.GzipFile(fileobj=raw)) if path.suffix.lower() == ".gz" else raw
        read = 0
        for number in count(1):
            place = f"{path.name}:{number}"
            try:
                line = _line(lines)
            except _TORN:
                yield Record(place, place, reason="torn", size=_position(raw) - read)
                return
            if line == b"":
                return
            if line is None or line.strip():
                size, read = _position(raw) - read, _position(raw)
                yield _record(line, place, size)


def _position(raw: IO[bytes]) -> int:
    """Return how far a file is read, 0 in a pipe."""
    return raw.tell() if raw.seekable() else 0


def _line(lines: IO[bytes]) -> bytes | None:
    """Read a line; None for one that is too long, which is read to its end."""
    line = lines.readline(MOST_BYTES + 1)
    if len(line) <= MOST_BYTES:
        return line
    while line and not line.endswith(b"\n"):
        line = lines.readline(MOST_BYTES)
    return None


def _record(line: bytes | None, place: str, size: int) -> Record:
    if line is None:
        return Record(place, place, reason="too-large", size=size)
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        torn = not line.endswith(b"\n")
        return Record(place, place, reason="torn" if torn else "not-json", size=size)
    if not isinstance(row, dict) or not isinstance(row.get("url"), str):
        return Record(place, place, reason="no-url", size=size)
    url = row["url"]
    html, text = row.get("html"), row.get("text")
    if isinstance(html, str):
        return Record(url, url, html=html, size=size)
    if isinstance(text, str):
        return Record(url, url, text=text, size=size)
    return Record(url, url, reason="no-field", size=size)
