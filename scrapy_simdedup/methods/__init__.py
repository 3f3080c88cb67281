"""The methods, by the names of ``SIMDEDUP_METHODS``; a new one is registered here."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scrapy_simdedup.index.bands import Rows
from scrapy_simdedup.index.records import Signature
from scrapy_simdedup.methods.base import Method
from scrapy_simdedup.methods.simhash import Simhash
from scrapy_simdedup.methods.sketch import Sketch

_ALL: tuple[Method, ...] = (Simhash(), Sketch())

METHODS: dict[str, Method] = {method.name: method for method in _ALL}

# The first band number of each method in the ``bands`` table, 16 apart and for good.
FIRST_BAND: dict[str, int] = {name: 16 * (place + 1) for place, name in enumerate(METHODS)}


def rows_of(methods: Sequence[str]) -> Callable[[Signature], Rows]:
    """Return the function from a signature to the rows that these methods store for it."""

    def rows(signature: Signature) -> Rows:
        return [
            (FIRST_BAND[name] + band, key)
            for name in methods
            for band, key in METHODS[name].rows(signature[name])
        ]

    return rows
