"""One spelling for one text: what a reader cannot see must not change a fingerprint."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import regex

# Characters that carry no text and break parsers, encoders and SQLite: NUL and the other
# control characters (tab, line feed and carriage return are white space), and halves of
# surrogate pairs, which ``str.encode("utf-8")`` refuses.
_BROKEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]+")

# Characters without a glyph of their own: soft hyphen, grapheme joiner, zero-width spaces and
# joiners, direction marks, invisible operators, variation selectors, byte order mark, tags.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffc\U000e0000-\U000e0fff]+"
)

# Normalising sorts the marks on a letter, in a time that grows with the square of their number.
# Thirty are more than any language needs (UAX 15, stream-safe text); in a short text it is no
# matter.
_PILE = regex.compile(r"(\p{M}{30})\p{M}+")
_LONG = 1000

# What most texts have that are not in NFKC: punctuation as wide as a Chinese character, dots,
# and spaces that do not break; and what NFKC makes of it.
_COMMON = {sign: unicodedata.normalize("NFKC", sign) for sign in "，：；！？（）\u3000…\xa0"}

# White space that is left of a clean text in NFKC.
_SPACES = "\t\n\r\u1680\u2028\u2029"

# From so many characters on a table finds out faster than these patterns that there is nothing
# for them to do.
_WORTH_A_TABLE = 250
_KINDS = "broken", "invisible", "mark"


def clean(text: str) -> str:
    """Return ``text`` without control characters and lone surrogates.

    Markup survives it, so it comes before extraction: the HTML parser would otherwise cut a
    page off at its first lone surrogate, without a word.
    """
    return _BROKEN.sub("", text) if "broken" in _kinds(text) else text


def normalise(text: str) -> str:
    """Return ``text`` in NFKC, case-folded, with single spaces and no invisible characters.

    Idempotent, and total: any ``str`` is accepted, lone surrogates included, and the result
    can always be encoded as UTF-8.
    """
    return fold(clean(text))


def fold(text: str) -> str:
    """Return what ``normalise`` makes of a text that is clean already."""
    if text.isascii():
        return _single_spaced(text.lower())
    kinds = _kinds(text)
    if "invisible" in kinds:
        text = _INVISIBLE.sub("", text)
    if len(text) > _LONG and "mark" in kinds:
        text = _PILE.sub(r"\1", text)
    # Where only these are not in NFKC yet, it is quick to see; composing a text takes long.
    for sign, plain in _COMMON.items():
        text = text.replace(sign, plain)
    text = unicodedata.normalize("NFKC", text).casefold()
    # Folding may decompose ("ǰ"), and composing again may bring back invisible ones.
    if not unicodedata.is_normalized("NFKC", text):
        text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
    return _single_spaced(text)


def _single_spaced(text: str) -> str:
    """Return what ``" ".join(text.split())`` does of a clean text in NFKC; it is faster."""
    for space in _SPACES:
        text = text.replace(space, " ")
    while "  " in text:
        text = text.replace("  ", " ")
    return text.strip(" ")


def _kinds(text: str) -> Collection[str]:
    """Return which kinds of characters a text may hold."""
    if len(text) < _WORTH_A_TABLE:
        return _KINDS
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    try:
        found = int(np.bitwise_or.reduce(_table().take(codes)))
    except IndexError:
        return _KINDS
    return [kind for bit, kind in enumerate(_KINDS) if found >> bit & 1]


@lru_cache(maxsize=1)
def _table() -> npt.NDArray[np.uint8]:
    """Return the kinds of each code point of the first two planes, a bit for each.

    Few texts have others, of which there are a million: those texts may hold every kind.
    """
    kinds = np.zeros(0x20000, dtype=np.uint8)
    everything = "".join(map(chr, range(len(kinds))))
    patterns: list[Any] = [_BROKEN, _INVISIBLE, regex.compile(r"\p{M}+")]
    for bit, pattern in enumerate(patterns):
        for found in pattern.finditer(everything):
            kinds[found.start() : found.end()] |= 1 << bit
    return kinds
