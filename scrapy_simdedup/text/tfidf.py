"""TF-IDF: which terms say most about a text, by a frozen table."""

from __future__ import annotations

import math

import regex

from scrapy_simdedup.text import idf
from scrapy_simdedup.text.document import Document

_HAN = regex.compile(r"\p{Han}")

# Below this a term weighs nothing: it stands in the text once, and in half of all texts.
_LOW = 0.75


def _rarity(document: Document) -> dict[str, float]:
    """Return each weighted term's idf as a multiple of the table's middle one."""
    if not document.shape.idf and not _HAN.search(document.text):
        # jieba's table knows no other script; it need not be loaded to say so.
        return dict.fromkeys(document.weights, 1.0)
    table = idf.load(document.shape.idf)
    return {term: table.of(term) / table.middle for term in document.weights}


def integer_weights(document: Document) -> dict[str, int]:
    """Return TF-IDF weights as integers, low ones removed: ``1 + floor(2 log2(1 + tf) idf)``."""
    counts = document.counts
    weights = {
        term: math.log2(1 + counts[term]) * rarity for term, rarity in _rarity(document).items()
    }
    return {term: 1 + int(2 * weight) for term, weight in weights.items() if weight >= _LOW}


def heaviest(document: Document, count: int) -> list[tuple[str, float]]:
    """Return the ``count`` terms of most tf times idf and their weights, the heaviest first.

    Of equal weights the term that sorts first.
    """
    counts = document.counts
    weights = [(term, counts[term] * rarity) for term, rarity in _rarity(document).items()]
    return sorted(weights, key=lambda pair: (-pair[1], pair[0]))[:count]
