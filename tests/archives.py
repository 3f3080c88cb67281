"""Web archives as crawlers write them, made up."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Sequence


def record(
    kind: str,
    url: str,
    block: bytes,
    *,
    content_type: str = "application/http; msgtype=response",
    headers: Sequence[str] = (),
    length: object = None,
) -> bytes:
    """Return a WARC record; ``length`` is what it says of its block, the truth by default."""
    lines = [
        "WARC/1.0",
        f"WARC-Type: {kind}",
        "WARC-Record-ID: <urn:uuid:5f0c1d0e-4b1a-4a38-9d51-0c6a1b0f2d3c>",
        "WARC-Date: 2026-05-01T06:30:00Z",
        *([f"WARC-Target-URI: {url}"] if url else []),
        f"Content-Type: {content_type}",
        *headers,
        f"Content-Length: {len(block) if length is None else length}",
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + block + b"\r\n\r\n"


def http(
    body: bytes,
    *headers: str,
    status: str = "HTTP/1.1 200 OK",
    content_type: str = "text/html; charset=utf-8",
) -> bytes:
    """Return a response as it was sent."""
    lines = [status, *([f"Content-Type: {content_type}"] if content_type else []), *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def response(url: str, body: bytes, *headers: str, **options: str) -> bytes:
    """Return the record of a response."""
    return record("response", url, http(body, *headers, **options))


def request(url: str) -> bytes:
    """Return the record of a request."""
    block = b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"
    return record("request", url, block, content_type="application/http; msgtype=request")


INFO = record("warcinfo", "", b"software: made up\r\n", content_type="application/warc-fields")


def compressed(records: Iterable[bytes]) -> bytes:
    """Return a compressed archive: each record is a member of its own."""
    return b"".join(gzip.compress(each, mtime=0) for each in records)


def chunked(body: bytes, size: int = 1000) -> bytes:
    """Return a body in chunks, the first of which has an extension."""
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    lines = [
        b"%x%s\r\n%s\r\n" % (len(part), b"" if at else b";a=b", part)
        for at, part in enumerate(parts)
    ]
    return b"".join(lines) + b"0\r\nExpires: never\r\n\r\n"
