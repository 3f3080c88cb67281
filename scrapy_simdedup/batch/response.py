"""HTTP responses as they were sent, with their headers: the HTML that Scrapy would see."""

from __future__ import annotations

import io
import re
import zlib

from scrapy.http import Headers, HtmlResponse
from scrapy.responsetypes import responsetypes
from w3lib.http import headers_raw_to_dict

from scrapy_simdedup.batch.record import MOST_BYTES
from scrapy_simdedup.responses import not_a_page

# HTTP/2 has no such line, but archives write one.
_STATUS = re.compile(rb"HTTP/\d(?:\.\d)?[ \t]+(\d{3})\b[^\n]*\n")
_BLANK_LINE = re.compile(rb"^\r?\n", re.MULTILINE)
_CHUNK_SIZE = re.compile(rb"(?:\r?\n)?([0-9a-fA-F]{1,8})[ \t]*(?:;[^\n]*)?\r?\n")

# How zlib is told to look for a header itself, of gzip or of zlib, and that there is none.
_ANY_HEADER, _NO_HEADER = zlib.MAX_WBITS | 32, -zlib.MAX_WBITS


class _Unusable(Exception):
    """A response has no body that could be judged; its argument is the reason."""


def html_of(url: str, block: bytes) -> tuple[str | None, str | None]:
    """Return the HTML of a response, or None and the reason why there is none.

    What is HTML, and how it is decoded, is told as in a crawl: by the headers, then by the
    body. A body that an archive stores decoded, with the headers that it came with, is taken
    as it is.
    """
    status = _STATUS.match(block)
    if status is None:
        return None, "not-http"
    end = _BLANK_LINE.search(block, status.end())
    head = block[status.end() : end.start() if end else None]
    headers = Headers(headers_raw_to_dict(head))
    try:
        body = _content(headers, block[end.end() :] if end else b"")
    except _Unusable as unusable:
        return None, str(unusable)
    kind = responsetypes.from_args(headers=headers, url=url, body=body)
    response = kind(url, status=int(status[1]), headers=headers, body=body)
    reason = not_a_page(response)
    if reason is None and isinstance(response, HtmlResponse):
        return response.text, None
    return None, reason


def _content(headers: Headers, body: bytes) -> bytes:
    """Undo what the headers say was done to a body, and strike it out of them."""
    if b"chunked" in _values(headers, "Transfer-Encoding"):
        body = _joined(body)
    for encoding in reversed(_values(headers, "Content-Encoding")):
        try:
            body = _decoded(body, encoding)
        except (OSError, zlib.error):
            if not body.lstrip().startswith(b"<"):
                raise _Unusable("not-text") from None
        if len(body) > MOST_BYTES:
            raise _Unusable("too-large")
    headers.pop("Content-Encoding", None)
    return body


def _values(headers: Headers, name: str) -> list[bytes]:
    return [value.strip().lower() for line in headers.getlist(name) for value in line.split(b",")]


def _joined(body: bytes) -> bytes:
    """Join the chunks of a body; one that has none is stored without them."""
    size = _CHUNK_SIZE.match(body)
    if size is None:
        return body
    parts = []
    while size and (length := int(size[1], 16)):
        end = size.end() + length
        parts.append(body[size.end() : end])
        size = _CHUNK_SIZE.match(body, end)
    if size is None:
        # The last one, of no length, says that it is whole.
        raise _Unusable("truncated")
    return b"".join(parts)


def _decoded(body: bytes, encoding: bytes) -> bytes:
    """Undo one encoding, up to a byte more than a page may have. Raises OSError, zlib.error."""
    from fastwarc.stream_io import BrotliReader, ZstdReader

    if encoding in (b"gzip", b"x-gzip", b"deflate"):
        try:
            return zlib.decompressobj(_ANY_HEADER).decompress(body, MOST_BYTES + 1)
        except zlib.error:
            if encoding != b"deflate":
                raise
            # What some servers take for it.
            return zlib.decompressobj(_NO_HEADER).decompress(body, MOST_BYTES + 1)
    readers = {b"br": BrotliReader, b"zstd": ZstdReader}
    if encoding in readers:
        return bytes(readers[encoding](io.BytesIO(body)).read(MOST_BYTES + 1))
    if encoding in (b"", b"identity"):
        return body
    raise OSError(f"unknown encoding {encoding!r}")
