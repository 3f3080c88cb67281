"""Pages from folders and JSON lines, in a fixed order, one at a time."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_HTML = {".html", ".htm", ".xhtml", ".shtml", ".asp", ".aspx", ".php", ".jsp", ""}
_TEXT = {".txt", ".text", ".md"}


@dataclass(frozen=True)
class Record:
    """A page of a batch: HTML or text, or the reason why it is neither.

    ``key`` is what makes it the same page the next time.
    """

    url: str
    key: str
    html: str | bytes | None = None
    text: str | None = None
    reason: str | None = None


def is_lines(path: Path) -> bool:
    """Tell whether a file holds JSON lines, by its name."""
    return path.name.endswith((".jsonl", ".jsonl.gz"))


def count(path: Path) -> int | None:
    """Return how many pages a path holds where that is cheap to know."""
    return sum(1 for _ in _files(path)) if path.is_dir() else None


def read(path: Path) -> Iterator[Record]:
    """Return the pages of a folder, of a file of JSON lines, or of a single page's file.

    A folder's files come in sorted order of their relative paths, which are their URLs. A
    line is an object with ``url`` and ``html`` or ``text``; one that is not has a reason.
    """
    if path.is_dir():
        for name in _files(path):
            yield _file(path / name, name)
    elif is_lines(path):
        yield from _lines(path)
    else:
        yield _file(path, path.name)


def _files(folder: Path) -> list[str]:
    return sorted(
        found.relative_to(folder).as_posix() for found in folder.rglob("*") if found.is_file()
    )


def _file(path: Path, url: str) -> Record:
    key = path.absolute().as_posix()
    kind = path.suffix.lower()
    if kind in _HTML:
        return Record(url, key, html=path.read_bytes())
    if kind in _TEXT:
        return Record(url, key, text=path.read_text(encoding="utf-8", errors="replace"))
    return Record(url, key, reason="not-html")


def _lines(path: Path) -> Iterator[Record]:
    opened: Any = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rb") as lines:
        number = 0
        try:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield _line(line, f"{path.name}:{number}")
        except (EOFError, OSError, zlib.error):
            place = f"{path.name}:{number + 1}"
            yield Record(place, place, reason="torn")


def _line(line: bytes, place: str) -> Record:
    try:
        row = json.loads(line)
    except ValueError:
        return Record(place, place, reason="not-json")
    if not isinstance(row, dict) or not isinstance(row.get("url"), str):
        return Record(place, place, reason="no-url")
    url = row["url"]
    html, text = row.get("html"), row.get("text")
    if isinstance(html, str):
        return Record(url, url, html=html)
    if isinstance(text, str):
        return Record(url, url, text=text)
    return Record(url, url, reason="no-field")
