"""Names and contents as hashes."""

from __future__ import annotations

import xxhash


def name_hash(name: str | bytes) -> int:
    """Return the 64-bit hash that stands for a name: a request's fingerprint, a key, a URL."""
    return xxhash.xxh3_64_intdigest(_bytes(name))


def content_digest(kind: str, *parts: str | bytes) -> bytes:
    """Return the XXH3-128 of a content as it came, before anything is made of it, 16 bytes.

    ``kind`` keeps apart what is read in different ways: a text from the same bytes as HTML, or
    one body under two charsets.
    """
    state = xxhash.xxh3_128()
    for part in (kind, *parts):
        data = _bytes(part)
        # With its length: parts that are cut elsewhere are others.
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.digest()


def _bytes(data: str | bytes) -> bytes:
    return data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
