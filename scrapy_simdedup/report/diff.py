"""How two texts differ, word by word, or character by character where there are no words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice

import regex

#: Longer texts are cut: comparing takes a time that grows faster than they do.
MOST_TOKENS = 4000

# More white space than text is no reason to read on.
_MOST_CHARACTERS = 20 * MOST_TOKENS

# Scripts that put no spaces between words: each character is a token.
_SPACELESS = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
# The space in front, and the word; or a single character with its marks.
_TOKEN = regex.compile(rf"(?V1)(\s*)((?:[\w--[{_SPACELESS}]]|(?<=\w)['’](?=\w))+|\X)", regex.DOTALL)

# An equal stretch is taken for chance where what differs before and after is so much longer.
_OUTWEIGHED = 3

Piece = str | tuple[str, str]


@dataclass(frozen=True)
class Difference:
    """Two texts side by side, in rows of pieces.

    A piece is a string that both have, or the pair of what either has in that place. A row ends
    where a paragraph does in either text. ``cut`` tells that the texts go on.
    """

    rows: list[list[Piece]]
    cut: bool


@dataclass(frozen=True)
class _Token:
    space: str
    word: str


@dataclass(frozen=True)
class _Block:
    """A stretch of tokens of both texts, equal or not."""

    equal: bool
    left: list[_Token]
    right: list[_Token]

    def __add__(self, other: _Block) -> _Block:
        return _Block(False, self.left + other.left, self.right + other.right)

    def __len__(self) -> int:
        return max(len(self.left), len(self.right))


def difference(left: str, right: str) -> Difference:
    """Compare two texts; white space that differs is no difference."""
    one, other = _tokens(left), _tokens(right)
    cut = len(one) > MOST_TOKENS or len(other) > MOST_TOKENS
    return Difference(list(_rows(_blocks(one[:MOST_TOKENS], other[:MOST_TOKENS]))), cut)


def _tokens(text: str) -> list[_Token]:
    found = _TOKEN.finditer(text.strip()[:_MOST_CHARACTERS].rstrip())
    return [_Token(_space(token[1]), token[2]) for token in islice(found, MOST_TOKENS + 1)]


def _space(found: str) -> str:
    return "\n" if "\n" in found else found and " "


def _blocks(one: list[_Token], other: list[_Token]) -> list[_Block]:
    """Return what is equal and what is not, in turn."""
    # Words that come again and again are no anchors to it (autojunk), so that it stays fast, and
    # unlike texts do not match in their little words.
    left, right = ([token.word for token in text] for text in (one, other))
    matcher = SequenceMatcher(None, left, right)
    found = [
        _Block(tag == "equal", one[i:j], other[k:m]) for tag, i, j, k, m in matcher.get_opcodes()
    ]
    blocks: list[_Block] = []
    for at, block in enumerate(found):
        around = [found[near] for near in (at - 1, at + 1) if 0 <= near < len(found)]
        if block.equal and _by_chance(block, around):
            block = _Block(False, block.left, block.right)  # noqa: PLW2901
        if blocks and not block.equal and not blocks[-1].equal:
            blocks[-1] += block
        else:
            blocks.append(block)
    return blocks


def _by_chance(block: _Block, around: list[_Block]) -> bool:
    return len(around) == 2 and _OUTWEIGHED * len(block) < min(map(len, around))


def _rows(blocks: list[_Block]) -> Iterator[list[Piece]]:
    row: list[Piece] = []
    for block in blocks:
        if not block.equal:
            if row and any(side and side[0].space == "\n" for side in (block.left, block.right)):
                yield row
                row = []
            row.append((_text(block.left, not row), _text(block.right, not row)))
            continue
        start = 0
        for at, pair in enumerate(zip(block.left, block.right, strict=True)):
            if (row or at) and "\n" in (token.space for token in pair):
                if at > start:
                    row.append(_text(block.left[start:at], not row))
                yield row
                row, start = [], at
        row.append(_text(block.left[start:], not row))
    if row:
        yield row


def _text(tokens: list[_Token], first: bool) -> str:
    text = "".join(token.space + token.word for token in tokens)
    return text.lstrip() if first else text
