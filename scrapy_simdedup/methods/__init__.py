"""The methods, by the names of ``SIMDEDUP_METHODS``; a new one is registered here."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scrapy_simdedup.index.bands import Rows
from scrapy_simdedup.index.records import Signature
from scrapy_simdedup.methods.base import Method
from scrapy_simdedup.methods.classic import Classic
from scrapy_simdedup.methods.keywords import Keywords
from scrapy_simdedup.methods.piecewise import Piecewise
from scrapy_simdedup.methods.simhash import Simhash
from scrapy_simdedup.methods.sketch import Sketch

_ALL: tuple[Method, ...] = (
    Simhash(),
    Sketch(),
    Classic(),
    Piecewise(),
    *(Keywords(rule) for rule in range(1, 6)),
)

METHODS: dict[str, Method] = {method.name: method for method in _ALL}

# Names for several methods at once.
GROUPS = {"keywords": tuple(name for name in METHODS if name.startswith("keywords-"))}

# The first band number of each signature part in the ``bands`` table, 16 apart and for good.
_PARTS = dict.fromkeys(method.part_name for method in _ALL)
FIRST_BAND: dict[str, int] = {name: 16 * (place + 1) for place, name in enumerate(_PARTS)}

# The bands whose keys have 32 bits; those of the others have 64.
SHORT_BANDS = frozenset(
    FIRST_BAND[method.part_name] + band
    for method in _ALL
    if method.key_bits == 32
    for band in range(method.bands)
)


def rows_of(methods: Sequence[str]) -> Callable[[Signature], Rows]:
    """Return the function from a signature to the rows that these methods store for it."""
    chosen = [
        (FIRST_BAND[METHODS[name].part_name], METHODS[name], METHODS[name].part_name)
        for name in methods
    ]
    # Methods that share a part have rows in common.
    shared = len({first for first, _, _ in chosen}) < len(chosen)

    def rows(signature: Signature) -> Rows:
        found = [
            (first + band, key)
            for first, method, part in chosen
            for band, key in method.rows(signature[part])
        ]
        return list(dict.fromkeys(found)) if shared else found

    return rows
