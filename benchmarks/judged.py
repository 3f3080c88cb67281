"""What is judged against an index of made-up pages: new pages, and near-duplicates of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from made_up import (
    IDENTICAL,
    ROWS,
    SEED,
    TEMPLATE,
    UNIFORM,
    MadeUp,
    Words,
    bodies,
    digests,
    signature_of,
    sketch_of,
    terms,
    url_of,
)

from scrapy_simdedup.analysis import Analysis

# Numbers of pages that are in no index.
_NEW = 1 << 40
_ROUND = 1 << 24

# How a planted page is near its original. By bits: at most three of the fingerprint's differ
# and three quarters of the shingles are shared, but no row key. By rows: twelve of sixteen row
# keys and five sixths of the shingles are shared, but the fingerprints are unlike.
BITS, SHINGLES = "bits", "shingles"
_SHARED = {BITS: 3 / 4, SHINGLES: 5 / 6}
_SHARED_ROWS = 12
# A template's row keys, and one fingerprint for all, propose nobody in particular.
_HOWS = {TEMPLATE: (BITS,), IDENTICAL: (SHINGLES,)}
_MOST_BITS = 3


@dataclass(frozen=True)
class Query:
    """A page to judge, and the number of the page that it was made from, if any, and how."""

    number: int
    analysis: Analysis
    original: int | None = None
    how: str | None = None

    @property
    def url(self) -> str:
        """The page's own URL."""
        return url_of(self.number)

    @property
    def body(self) -> bytes:
        """The digest of the page's content."""
        return bodies(_one(self.number))[0].tobytes()

    @property
    def fingerprint(self) -> int:
        """The page's simhash."""
        return int.from_bytes(self.analysis.signature["simhash"], "little")


def _one(page: int) -> Words:
    return np.array([page], dtype=np.uint64)


def page(number: int, kind: str = UNIFORM) -> Query:
    """Return the page of that number, as it is to be judged."""
    made, number_ = MadeUp(kind), _one(number)
    hashes = made.shingles(number)
    # In reading order their hashes are in no order.
    shuffled = np.random.default_rng((SEED, number)).permutation(hashes)
    analysis = Analysis(
        None,
        digests(number_)[0].tobytes(),
        int(terms(number_)[0]),
        signature_of(made.parts(number_)),
        shuffled,
    )
    return Query(number, analysis)


def near(number: int, original: int, how: str, kind: str = UNIFORM) -> Query:
    """Return a new page that is a near-duplicate of another one."""
    made, rng = MadeUp(kind), np.random.default_rng((SEED, number, original))
    query, old = page(number, kind), page(original, kind).analysis
    signature = dict(query.analysis.signature)
    kept = rng.random(len(old.shingles)) < _SHARED[how]
    fresh = rng.integers(2**64, size=int((~kept).sum()), dtype=np.uint64)
    # Replaced where they stood: something of the original is in all parts of the copy.
    shingles = old.shingles.copy()
    shingles[~kept] = fresh
    keys = made.row_keys(_one(number))[0].copy()
    if how == BITS:
        flips = rng.choice(64, size=int(rng.integers(_MOST_BITS + 1)), replace=False)
        value = int.from_bytes(old.signature["simhash"], "little")
        for bit in flips.tolist():
            value ^= 1 << bit
        signature["simhash"] = value.to_bytes(8, "little")
    else:
        keys[:_SHARED_ROWS] = made.row_keys(_one(original))[0][:_SHARED_ROWS]
    signature["sketch"] = sketch_of(np.sort(shingles), keys[:ROWS])
    analysis = replace(query.analysis, terms=old.terms, signature=signature, shingles=shingles)
    return Query(number, analysis, original, how)


def queries(
    pages: int, count: int, share: float, turn: int = 0, kind: str = UNIFORM
) -> Iterator[Query]:
    """Return pages to judge against an index of ``pages``; a share of them is planted.

    No two turns, and no two queries of a turn, have a page in common; nor do they have an
    original, as long as the index has enough pages.
    """
    rng = np.random.default_rng((SEED, turn))
    planted = rng.random(count) < share
    # A prime: it shares no factor with a round number of pages.
    start, step = int(rng.integers(pages)), 7919
    first = _NEW + turn * _ROUND
    hows = _HOWS.get(kind, (BITS, SHINGLES))
    for at in range(count):
        if planted[at]:
            original = (start + at * step) % pages + 1
            yield near(first + at, original, hows[at % len(hows)], kind)
        else:
            yield page(first + at, kind)
