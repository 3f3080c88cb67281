"""The rows that a text's methods store, and those that they look up, as joinable buckets.

They are the methods' own: a range of a plan is a prefix of keys, so that what an index finds by
comparing is found here by equality.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from scrapy_simdedup.batch.spark.frames import settled, signed, through
from scrapy_simdedup.compare import Rules
from scrapy_simdedup.exceptions import ConfigError
from scrapy_simdedup.index.bands import Plan, choose_width, range_count
from scrapy_simdedup.index.records import Signature, unpack
from scrapy_simdedup.methods import FIRST_BAND, METHODS, rows_of
from scrapy_simdedup.methods.simhash import Simhash

# With more look-ups for each text nearly all texts would be held against each other.
_MOST_RANGES = 1200

_SCHEMA = (
    "text long, last long, space long,"
    " stored array<struct<band int, prefix long, key long>>,"
    " asked array<struct<band int, prefix long, key long, within int>>"
)


@dataclass(frozen=True)
class Keys:
    """Buckets: the rows of ``stored``, and which of them each text must look at, ``asked``.

    A row counts if its key is ``within`` so many bits of the key asked for.
    """

    stored: DataFrame
    asked: DataFrame


def keys(texts: DataFrame, rules: Rules, bits: int) -> Keys:
    """Return the buckets of texts. Raises ConfigError where a limit is too wide."""
    widths = _widths(rules, texts.count(), bits)
    keyed = _Keyed(rules, widths).keyed
    made = settled(
        through(texts.select("text", "last", "space", "terms", "signature"), keyed, _SCHEMA)
    )
    stored = made.select("text", "space", F.explode("stored").alias("row"))
    asked = made.select("text", "last", "space", F.explode("asked").alias("row"))
    return Keys(
        stored.select("text", "space", "row.*"),
        asked.select("text", "last", "space", "row.*"),
    )


def _widths(rules: Rules, size: int, bits: int) -> dict[str, int]:
    """Return how long the prefixes are that each method with a fingerprint looks up."""
    widths = {}
    for name in rules.methods:
        method = METHODS[name]
        if isinstance(method, Simhash):
            widest = method.widest(rules.limits)
            # Where an index would rather compare all fingerprints: there is no such thing here.
            width = choose_width(widest, size, bits) or 16
            ranges = range_count(widest, width, bits)
            if ranges > _MOST_RANGES:
                raise ConfigError(
                    f"the method {name} finds texts up to {widest} of {bits} bits apart, for which"
                    f" a Spark job would have to look up {ranges} keys for each text, and does not"
                    f" look up more than {_MOST_RANGES}: lower SIMDEDUP_MAX_DISTANCE, leave"
                    f" {name} out of SIMDEDUP_METHODS, or use scan"
                )
            widths[name] = width
    return widths


class _Keyed:
    def __init__(self, rules: Rules, widths: dict[str, int]) -> None:
        self._rules = rules
        self._widths = widths
        self._rows = rows_of(rules.methods)
        # Bands of fingerprints hold prefixes, all others whole keys.
        self._of_band = {
            FIRST_BAND[METHODS[name].part_name] + band: width
            for name, width in widths.items()
            for band in range(METHODS[name].bands)
        }

    def keyed(self, rows: Iterator[Row]) -> Iterable[tuple[Any, ...]]:
        for text, last, space, terms, packed in rows:
            signature = unpack(bytes(packed))
            stored = [
                (band, self._prefix(band, key), signed(key)) for band, key in self._rows(signature)
            ]
            yield text, last, space, stored, list(self._asked(signature, terms))

    def _asked(self, signature: Signature, terms: int) -> set[tuple[int, int, int, int]]:
        asked = set()
        for name in self._rules.methods:
            method = METHODS[name]
            part, first = signature[method.part_name], FIRST_BAND[method.part_name]
            if isinstance(method, Simhash):
                limit = method.limit(self._rules.limits, terms)
                plan = method.plan(part, terms, self._rules.limits, 0, self._widths[name])
                own = dict(method.rows(part))
            else:
                limit, own = 0, {}
                plan = method.plan(part, terms, self._rules.limits, 0)
            assert isinstance(plan, Plan)
            for band, low, _ in plan.ranges:
                key = own.get(band, low)
                asked.add((first + band, self._prefix(first + band, low), signed(key), limit))
        return asked

    def _prefix(self, band: int, key: int) -> int:
        return signed(key >> (64 - self._of_band.get(band, 64)))
