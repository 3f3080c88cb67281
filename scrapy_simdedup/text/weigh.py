"""Terms to integer weights: damped term frequency, stop words out.

Raw term frequency is unsafe: the few words that all texts of a language repeat then fix many
bits, so that unrelated texts lie near each other. Weights are integers, so that sums do not
depend on the order of addition and fingerprints are equal on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping

from scrapy_simdedup.text.stopwords import stop_words


def weigh(counts: Mapping[str, int]) -> dict[str, int]:
    """Return each counted term that is no stop word with its weight, ``1 + floor(log2(tf))``.

    In the same order.
    """
    stops = stop_words(counts)
    return {term: count.bit_length() for term, count in counts.items() if term not in stops}
