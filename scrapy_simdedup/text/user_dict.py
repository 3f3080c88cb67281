"""User dictionaries: words of one's own for cutting Chinese, in files as jieba reads them.

A line is a word, then its frequency, then a tag; one or both of these may be missing. A word
whose frequency is missing gets one that keeps it whole, a frequency of 0 takes a word away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import xxhash

from scrapy_simdedup.text.normalise import normalise

# In bytes and in characters; what is longer is no dictionary.
_LONGEST_LINE = 1000
_LONGEST_WORD = 100
_HIGHEST = 1_000_000_000

_FREQUENCY = re.compile("[0-9]+")
_TAG = re.compile("[A-Za-z]+")

# What jieba's dictionary is asked about.
_HAN = re.compile("[\u4e00-\u9fd5]+")

Word = tuple[str, int | None]
"""A word in the form in which texts are cut, and its frequency, None where it has none."""


@dataclass(frozen=True)
class UserDict:
    """A dictionary that settings name: where its file lies, and what words it had then."""

    path: str
    digest: str

    @classmethod
    def of(cls, path: str, words: list[Word]) -> UserDict:
        """Return the dictionary of a file that holds these words."""
        # Not the file's own bytes: ends of lines and tags change nothing.
        lines = "".join(f"{word} {frequency}\n" for word, frequency in words)
        return cls(path, xxhash.xxh3_64_hexdigest(lines.encode()))

    def words(self) -> list[Word]:
        """Read the words. Raises ValueError where they are not those that were found before."""
        words, _ = read(self.path)
        if self.of(self.path, words) != self:
            raise ValueError(f"{self.path} has changed since the start: start again")
        return words


def read(path: str) -> tuple[list[Word], list[str]]:
    """Return the words of a file in order, and those that can be in no run of Han characters.

    Raises ValueError with the number of the line that is no line of a dictionary, and OSError.
    """
    words: list[Word] = []
    others: list[str] = []
    for number, line in enumerate(_lines(path), 1):
        try:
            if len(line) > _LONGEST_LINE:
                raise ValueError(f"is longer than {_LONGEST_LINE} bytes")
            found = _word(line.decode("utf-8-sig" if number == 1 else "utf-8"))
        except ValueError as error:
            what = "is not UTF-8" if isinstance(error, UnicodeDecodeError) else error
            raise ValueError(f"line {number} of {path} {what}") from None
        if found is None:
            continue
        if _HAN.fullmatch(found[0]):
            words.append(found)
        else:
            others.append(found[0])
    return words, others


def _lines(path: str) -> Iterator[bytes]:
    with Path(path).open("rb") as file:
        # One more than the longest, so that a longer one is told from it.
        while line := file.readline(_LONGEST_LINE + 1):
            yield line


def _word(line: str) -> Word | None:
    """Read a line, None where it is empty. Raises ValueError with what is wrong with it."""
    first, *rest = line.split() or [""]
    if rest and _TAG.fullmatch(rest[-1]):
        rest.pop()
    frequency = int(rest.pop()) if rest and _FREQUENCY.fullmatch(rest[-1]) else None
    # As for jieba, a word may have spaces in it; but no Chinese word has.
    word = normalise(" ".join([first, *rest]))
    if rest and _HAN.fullmatch(normalise(first)):
        raise ValueError(f"is not a word, a frequency and a tag: {line.strip()[:60]!r}")
    if len(word) > _LONGEST_WORD:
        raise ValueError(f"has a word of more than {_LONGEST_WORD} characters")
    if frequency is not None and frequency > _HIGHEST:
        raise ValueError(f"has a frequency above {_HIGHEST}")
    return (word, frequency) if word else None
