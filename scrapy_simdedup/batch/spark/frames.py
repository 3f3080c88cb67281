"""What every step of the job does with its tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from scrapy_simdedup.methods import FIRST_BAND, METHODS

#: Later than all pages.
NEVER = 2**63 - 1

#: The columns that name a bucket: rows of one key, or of one prefix of keys.
BUCKET = ["space", "band", "prefix"]


def settled(frame: DataFrame) -> DataFrame:
    """Compute a table's rows now, and forget the plan that led to them.

    They are kept where the context's checkpoints are, which outlives a lost executor, if it has
    such a folder; else with the executors.
    """
    if frame.sparkSession.sparkContext.getCheckpointDir():
        return frame.checkpoint()
    return frame.localCheckpoint()


def through(
    frame: DataFrame, function: Callable[[Iterator[Row]], Iterable[tuple[Any, ...]]], schema: Any
) -> DataFrame:
    """Return what a function makes of the rows of each partition, in their order."""
    rows = frame.rdd.mapPartitions(function)
    return frame.sparkSession.createDataFrame(rows, schema, verifySchema=False)


def signed(key: int) -> int:
    """Return an unsigned 64-bit number as Spark's ``long`` has its bits."""
    return key - (1 << 64) if key >> 63 else key


def part_of(band: Column) -> Column:
    """Return the first band of the signature part that a band belongs to."""
    return band - band % 16


def per_part(attribute: str, part: Column) -> Column:
    """Return an attribute of the methods whose signature part has ``part`` as its first band."""
    values = {
        FIRST_BAND[method.part_name]: getattr(method, attribute) for method in METHODS.values()
    }
    return F.create_map([F.lit(each) for pair in values.items() for each in pair])[part]


def shared(asking: DataFrame, stored: DataFrame, where: Column | None = None) -> DataFrame:
    """Return the pairs that have rows in common: ``new``, ``old``, of which part, how many.

    ``apart`` is how many bits the nearest are apart, ``kept`` whether the old one's row says so.
    """
    apart = F.bit_count(F.col("asking.key").bitwiseXOR(F.col("stored.key")))
    pairs = (
        asking.alias("asking")
        .join(stored.alias("stored"), BUCKET)
        .where(F.col("asking.text") != F.col("stored.text"))
        .where(F.col("stored.text") < F.col("asking.last"))
        .where(apart <= F.col("asking.within"))
    )
    if where is not None:
        pairs = pairs.where(where)
    return (
        pairs.select(
            F.col("asking.text").alias("new"),
            F.col("stored.text").alias("old"),
            part_of(F.col("band")).alias("part"),
            apart.alias("apart"),
            F.col("stored.kept").alias("kept"),
        )
        .groupBy("new", "old", "part")
        .agg(
            F.count("*").alias("shared"),
            F.min("apart").alias("apart"),
            F.max("kept").alias("kept"),
        )
    )


def enough() -> Column:
    """Tell whether a pair shares as many rows as its method asks for."""
    return F.col("shared") >= per_part("least_shared", F.col("part"))
