"""Pages from folders, files, JSON lines and web archives, in a fixed order, one at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from scrapy_simdedup.batch.lines import read_lines
from scrapy_simdedup.batch.record import MOST_BYTES, Record, Unreadable
from scrapy_simdedup.batch.warc import read_warc

_HTML = {".html", ".htm", ".xhtml", ".shtml", ".asp", ".aspx", ".php", ".jsp", ""}
_TEXT = {".txt", ".text", ".md"}

_LINES = (".jsonl", ".jsonl.gz")
_ARCHIVES = (".warc", ".warc.gz")


def holds_many(path: Path) -> bool:
    """Tell whether a file holds many pages, by its name."""
    return path.name.lower().endswith(_LINES + _ARCHIVES)


def size(path: Path) -> int:
    """Return how many bytes there are to read at a path."""
    try:
        if path.is_dir():
            return sum((path / name).stat().st_size for name in _files(path))
        return path.stat().st_size
    except OSError:
        return 0


def read(path: Path, left_out: Counter[str] | None = None) -> Iterator[Record]:
    """Return the pages of a folder, of a file that holds many, or of a single page's file.

    A folder's files come in sorted order of their relative paths, which are their URLs. What
    is no page but belongs to an archive (its requests, say) is counted in ``left_out`` by its
    kind. Raises Unreadable where a file that was named cannot be read.
    """
    if path.is_dir():
        for name in _files(path):
            yield _in_folder(path / name, name)
        return
    try:
        yield from _reader(path)(path, Counter() if left_out is None else left_out)
    except OSError as error:
        raise Unreadable(f"cannot read {path}: {error.strerror or error}") from error


def _reader(path: Path) -> Callable[[Path, Counter[str]], Iterator[Record]]:
    name = path.name.lower()
    if name.endswith(_ARCHIVES):
        return read_warc
    if name.endswith(_LINES):
        return lambda path, _: read_lines(path)
    return lambda path, _: iter((_file(path, path.name),))


def _files(folder: Path) -> list[str]:
    return sorted(
        found.relative_to(folder).as_posix() for found in folder.rglob("*") if found.is_file()
    )


def _in_folder(path: Path, url: str) -> Record:
    """Return a file's page; one that cannot be read, or is gone by now, does not stop others."""
    try:
        return _file(path, url)
    except OSError:
        return Record(url, path.absolute().as_posix(), reason="unreadable")


def _file(path: Path, url: str) -> Record:
    key = path.absolute().as_posix()
    kind = path.suffix.lower()
    size = path.stat().st_size
    if kind not in _HTML | _TEXT:
        return Record(url, key, reason="not-html", size=size)
    with path.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        return Record(url, key, reason="too-large", size=size)
    if kind in _HTML:
        return Record(url, key, html=data, size=size)
    return Record(url, key, text=data.decode("utf-8", "replace"), size=size)
