"""One spelling for one text: what a reader cannot see must not change a fingerprint."""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import lru_cache

import numpy as np
import numpy.typing as npt

# Characters that carry no text and break parsers, encoders and SQLite: NUL and the other
# control characters (tab, line feed and carriage return are white space), and halves of
# surrogate pairs, which ``str.encode("utf-8")`` refuses.
_BROKEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]+")

# From so many characters on a table finds out faster than the pattern that nothing is broken.
_LONG = 1000

# Characters without a glyph of their own: soft hyphen, grapheme joiner, zero-width spaces and
# joiners, direction marks, invisible operators, variation selectors, byte order mark, tags.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffc\U000e0000-\U000e0fff]+"
)


def clean(text: str) -> str:
    """Return ``text`` without control characters and lone surrogates.

    Markup survives it, so it comes before extraction: the HTML parser would otherwise cut a
    page off at its first lone surrogate, without a word.
    """
    if len(text) > _LONG:
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
        if not _broken_codes().take(codes).any():
            return text
    return _BROKEN.sub("", text)


@lru_cache(maxsize=1)
def _broken_codes() -> npt.NDArray[np.bool_]:
    """Tell of each code point whether it is broken."""
    codes = np.zeros(sys.maxunicode + 1, dtype=bool)
    for found in _BROKEN.finditer("".join(map(chr, range(1 << 16)))):
        codes[found.start() : found.end()] = True
    return codes


def normalise(text: str) -> str:
    """Return ``text`` in NFKC, case-folded, with single spaces and no invisible characters.

    Idempotent, and total: any ``str`` is accepted, lone surrogates included, and the result
    can always be encoded as UTF-8.
    """
    return fold(clean(text))


def fold(text: str) -> str:
    """Return what ``normalise`` makes of a text that is clean already."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).casefold()
        # Folding may decompose ("ǰ"), and composing again may bring back invisible ones.
        if not unicodedata.is_normalized("NFKC", text):
            text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
    return " ".join(text.lower().split())
