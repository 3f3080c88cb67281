"""Terms to integer weights: damped term frequency, stop words out.

Raw term frequency is unsafe: the few words that all texts of a language repeat then fix many
bits, so that unrelated texts lie near each other. Weights are integers, so that sums do not
depend on the order of addition and fingerprints are equal on every machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from scrapy_simdedup.text.stopwords import stop_words


def weigh(terms: Sequence[str]) -> dict[str, int]:
    """Return each distinct term that is no stop word with its weight, ``1 + floor(log2(tf))``.

    In order of first occurrence.
    """
    counts = Counter(terms)
    stops = stop_words(counts)
    return {term: count.bit_length() for term, count in counts.items() if term not in stops}
