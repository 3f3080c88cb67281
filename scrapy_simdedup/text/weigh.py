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
    weights = dict(zip(counts, map(int.bit_length, counts.values()), strict=True))
    for term in stop_words(counts):
        del weights[term]
    return weights
