"""A text in little space, for those that are stored."""

from __future__ import annotations

import zlib

from scrapy_simdedup.text.document import LONGEST_TEXT

# No character takes more bytes in UTF-8.
_MOST_BYTES = 4 * LONGEST_TEXT


def pack(text: str) -> bytes:
    """Compress a text of up to ``LONGEST_TEXT`` characters: zlib over UTF-8."""
    return zlib.compress(text.encode("utf-8", "surrogatepass"))


def unpack(packed: bytes) -> str:
    """Return what was packed. Raises ValueError where that is damaged, or no packed text."""
    reader = zlib.decompressobj()
    try:
        # A few bytes may stand for gigabytes.
        data = reader.decompress(packed, _MOST_BYTES)
    except (zlib.error, TypeError) as error:
        raise ValueError(f"no packed text: {error}") from error
    if not reader.eof or reader.unused_data:
        raise ValueError("a packed text that is cut off, or has more behind it, or is too long")
    return data.decode("utf-8", "surrogatepass")
