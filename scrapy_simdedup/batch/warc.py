"""Pages of web archives (WARC), record after record, also behind a damaged one."""

from __future__ import annotations

import contextlib
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from scrapy_simdedup.batch.record import MOST_BYTES, Record, Unreadable
from scrapy_simdedup.batch.response import html_of

# How a compressed archive begins, and each of its records, which are members of their own.
_GZIP = b"\x1f\x8b\x08"
_MEMBER = re.compile(re.escape(_GZIP))
# How a record of a plain archive begins; a few more bytes than its longest match.
_HEAD = re.compile(rb"(?<=\n)WARC/\d")
_OVERLAP = 8

# Records that stand for a page.
_PAGES = ("response", "revisit")

# Bytes that are read at a time.
_CHUNK = 1 << 16


@dataclass(frozen=True)
class _Stored:
    """A record as it is stored at a place in the file; ``reason`` says why it has no block."""

    place: int
    kind: str = "torn"
    url: str = ""
    http: bool = False
    cut: bool = False
    block: bytes = b""
    reason: str | None = "torn"


def read_warc(path: Path, left_out: Counter[str]) -> Iterator[Record]:
    """Return the pages of an archive, compressed or not: its HTTP responses, in order.

    A response that is no page has a reason; records of other kinds are counted in ``left_out``.
    What is torn or damaged is told once, as ``torn``, and reading goes on where the next record
    begins. Raises OSError where the file cannot be opened, and Unreadable where the extra
    ``warc`` is not installed.
    """
    with path.open("rb") as file:
        read = 0
        for stored in _stored(file, path):
            if stored.kind not in _PAGES and stored.reason != "torn":
                left_out[stored.kind] += 1
                continue
            place = f"{path.name}:{stored.place}"
            # What was read to find the next record is not read on.
            size, read = max(0, file.tell() - read), max(read, file.tell())
            yield _page(stored, place, size)


def _page(stored: _Stored, place: str, size: int) -> Record:
    url = stored.url if stored.url and stored.kind in _PAGES else place
    html, reason = None, stored.reason
    if not reason and stored.kind == "revisit":
        reason = "revisit-record"
    elif not reason and stored.cut:
        reason = "truncated"
    elif not reason and not stored.http:
        reason = "not-http"
    if not reason:
        html, reason = html_of(url, stored.block)
    return Record(url, url, html=html, reason=reason, size=size)


def _stored(file: IO[bytes], path: Path) -> Iterator[_Stored]:
    try:
        from fastwarc import ArchiveIterator
    except ImportError:
        raise Unreadable(
            f"cannot read {path} without FastWARC: pip install 'scrapy-simdedup[warc]'"
        ) from None
    magic = file.read(len(_GZIP))
    # A damaged beginning does not make it a plain one.
    compressed = magic == _GZIP or (path.suffix.lower() == ".gz" and magic != b"WAR")
    start: int | None = 0 if magic else None
    told = False
    while start is not None:
        file.seek(start)
        # Where the last record begins, and from where on there may be another one.
        last, behind = start, start + 1
        try:
            for each in ArchiveIterator(file, parse_http=False):
                last = each.stream_pos
                behind = last + (1 if compressed else max(1, each.content_length))
                stored = _read(each)
                told = stored.reason == "torn"
                yield stored
            if not compressed or _ends_with(file, start):
                return
        except OSError:
            # Damaged: a record that is told already, or one that did not get so far.
            pass
        if compressed and not told and _ends_with(file, last):
            return
        start = _next(file, behind, _MEMBER if compressed else _HEAD)
        if not told:
            told = True
            yield _Stored(last if start is None else start)


def _read(record: Any) -> _Stored:
    headers, length = record.headers, record.content_length
    reason, block = None, b""
    # Torn in its own head, it has no length, or not all of it.
    if length != _number(headers.get("Content-Length")):
        reason = "torn"
    elif length > MOST_BYTES:
        reason = "too-large"
    else:
        with contextlib.suppress(OSError):
            block = record.reader.read()
        if len(block) < length:
            reason = "torn"
    return _Stored(
        record.stream_pos,
        str(record.record_type),
        # Old versions of wget put brackets around it.
        (headers.get("WARC-Target-URI") or "").strip(" <>"),
        record.is_http,
        any(headers.get(name) for name in ("WARC-Truncated", "WARC-Segment-Number")),
        block,
        reason,
    )


def _number(written: str | None) -> int | None:
    return int(written) if written and written.strip().isdecimal() else None


def _ends_with(file: IO[bytes], place: int) -> bool:
    """Tell whether a compressed file ends with the member that begins at a place."""
    file.seek(place)
    member = zlib.decompressobj(zlib.MAX_WBITS | 16)
    while not member.eof:
        data = member.unconsumed_tail or file.read(_CHUNK)
        try:
            if not member.decompress(data, _CHUNK) and not data:
                return False
        except zlib.error:
            return False
    # Some tools fill the last block with zeros.
    return not (member.unused_data + file.read(_CHUNK)).strip(b"\0")


def _next(file: IO[bytes], place: int, begin: re.Pattern[bytes]) -> int | None:
    """Return where the next record may begin, None where there is no more."""
    file.seek(place)
    data = b""
    while chunk := file.read(_CHUNK):
        data += chunk
        found = begin.search(data)
        if found:
            return place + found.start()
        place += max(0, len(data) - _OVERLAP)
        data = data[-_OVERLAP:]
    return None
