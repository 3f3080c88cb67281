"""Numbers and names: what tells pages of one template apart, where texts alone cannot.

Products, weather reports, timetables and legal notices share nearly every word; what differs
is a number, a model, a company. This is no method but a guard: it can only refuse.
"""

from __future__ import annotations

import re
from itertools import filterfalse

import numpy as np

from scrapy_simdedup.text.document import Document, sample_terms
from scrapy_simdedup.text.normalise import fold

# Of each kind so many are stored, the smallest hashes: a sample that two pages draw alike.
_SAMPLE = 48

_TAG = np.dtype("<u4")
_NUMBER = re.compile(r"\d")
# A capitalised word that does not begin a sentence or a line.
_NAME = re.compile(r" (?=[A-ZÀ-ÖØ-ÞΑ-ΩА-Я])(?<![.!?:\"“”'’)\]] )(\w[\w’'-]+)")


def numbers(document: Document) -> set[str]:
    """Return the terms with a digit in them: amounts, dates, model names."""
    return set(filter(_NUMBER.search, filterfalse(str.isalpha, document.counts)))


def names(document: Document) -> set[str]:
    """Return the capitalised words inside sentences, in scripts that have capitals."""
    found = dict.fromkeys(_NAME.findall(document.raw.replace("\t", " ")))
    return set(fold(" ".join(found)).split())


def sign(document: Document) -> bytes:
    """Return samples of both kinds: two counts, then 32-bit tags, 386 bytes at most."""
    samples = [sample_terms(words, _SAMPLE) for words in (numbers(document), names(document))]
    return bytes(len(sample) for sample in samples) + b"".join(s.tobytes() for s in samples)


def shares(new: bytes, old: bytes) -> tuple[float, float]:
    """Return which share of the new page's numbers, and of its names, the kept page has.

    From 0 to 1; 1 where the new page has none.
    """
    pairs = zip(_unpack(new), _unpack(old), strict=True)
    found = [_share(one, other) for one, other in pairs]
    return found[0], found[1]


def _unpack(part: bytes) -> tuple[list[int], list[int]]:
    first = part[0]
    tags = np.frombuffer(part, dtype=_TAG, offset=2).tolist()
    return tags[:first], tags[first:]


def _share(new: list[int], old: list[int]) -> float:
    if len(old) == _SAMPLE:
        # Beyond the sample's largest tag nothing is known of the kept page.
        new = [tag for tag in new if tag <= old[-1]]
    return len(set(old).intersection(new)) / len(new) if new else 1.0
