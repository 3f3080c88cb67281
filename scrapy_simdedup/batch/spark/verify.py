"""Disposing: proposed pairs of texts, compared as judging compares them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from scrapy_simdedup.analysis import Analysis
from scrapy_simdedup.batch.spark.frames import settled, through
from scrapy_simdedup.batch.spark.pages import shingles_of
from scrapy_simdedup.compare import Rules, compare
from scrapy_simdedup.index.records import Kept, Signature, unpack

# What judging a page of the text ``new`` would find out about a kept one of the text ``old``;
# ``method`` is the one that accepts the pair, or null.
SCHEMA = (
    "new long, old long, old_terms int, distance int, resemblance double, containment double,"
    " new_parts int, resembles boolean, numbers double, names double, method string"
)


def verify(pairs: DataFrame, texts: DataFrame, rules: Rules) -> DataFrame:
    """Return the evidence on pairs of texts."""
    new = texts.select(
        F.col("text").alias("new"),
        *(
            F.col(name).alias(f"new_{name}")
            for name in ("digest", "terms", "signature", "shingles")
        ),
    )
    old = texts.select(
        F.col("text").alias("old"), F.struct("text", "digest", "terms", "signature").alias("other")
    )
    # Shingles are the largest part by far, and travel once for all that is held against them.
    gathered = (
        pairs.join(old, "old").groupBy("new").agg(F.collect_list("other").alias("others"))
    ).join(new, "new")
    return settled(through(gathered, _compared(rules), SCHEMA))


def _compared(rules: Rules) -> Callable[[Iterator[Row]], Iterable[tuple[Any, ...]]]:
    def compared(rows: Iterator[Row]) -> Iterable[tuple[Any, ...]]:
        for row in rows:
            analysis = Analysis(
                None,
                bytes(row["new_digest"]),
                row["new_terms"],
                _signature(row["new_signature"]),
                shingles_of(bytes(row["new_shingles"])),
            )
            for other in row["others"]:
                yield row["new"], other["text"], other["terms"], *_measured(analysis, other, rules)

    return compared


def _measured(analysis: Analysis, other: Row, rules: Rules) -> tuple[Any, ...]:
    signature = _signature(other["signature"])
    found = compare(
        analysis, kept(other["text"], other["terms"], bytes(other["digest"]), signature), rules
    )
    evidence = found.evidence
    return (
        evidence.distance,
        float(evidence.resemblance),
        float(evidence.containment),
        evidence.new_parts,
        bool(evidence.resembles),
        float(evidence.numbers),
        float(evidence.names),
        found.method,
    )


def kept(page: int, terms: int, digest: bytes, signature: Signature) -> Kept:
    """Return a kept page as judging sees one: confirmed, met by one name, in the one run."""
    return Kept(page, "", 0, 1, True, (0,), b"", digest, terms, signature, 1, False)


def _signature(packed: Any) -> Signature:
    # What the extraction left out belongs to pages, and is looked at when a copy is found.
    return {**unpack(bytes(packed)), "rest": b""}
