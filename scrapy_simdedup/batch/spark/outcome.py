"""What comes out: a decision for each page, and the pages that an index would hold now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F

from scrapy_simdedup.batch.spark.frames import NEVER, settled, through
from scrapy_simdedup.batch.spark.timeline import rows_of
from scrapy_simdedup.config import Config
from scrapy_simdedup.guards import rest
from scrapy_simdedup.index.records import ABOUT, pack, unpack

DECISION = (
    *("order", "url", "status", "original", "distance", "resemblance", "method", "reason"),
    *("containment", "max_distance", "nearest", "changed", "terms", "page", "original_page"),
    *("space", "body", "text"),
)
ORIGINAL = (
    *("page", "order", "url", "space", "identity", "body", "digest", "terms", "visits"),
    "signature",
)


def numbered(kept: DataFrame) -> DataFrame:
    """Return the rows that stand at the end, ``order``, with their numbers in an index."""
    standing = rows_of(kept).where(F.col("until") == NEVER).select("order").orderBy("order")
    counted = standing.rdd.zipWithIndex().map(lambda each: (each[0]["order"], each[1] + 1))
    return settled(standing.sparkSession.createDataFrame(counted, "order long, page long"))


def decisions(
    told: DataFrame,
    meetings: DataFrame,
    verdicts: DataFrame,
    numbers: DataFrame,
    config: Config,
) -> DataFrame:
    """Return a decision for each page, in their order; ``text`` is the digest of a stored text."""
    judged = verdicts.join(meetings.select("order", "rest", "doubt"), "order").join(
        _near(meetings, verdicts), "order", "left"
    )
    is_copy = F.col("status") == "duplicate"
    judged = judged.join(_other_texts(judged.where(is_copy)), "order", "left")
    judged = judged.select(
        *("order", "status", "distance", "resemblance", "method", "containment", "max_distance"),
        "changed",
        F.when(is_copy, F.col("near_url")).alias("original"),
        F.when(is_copy, F.col("near")).alias("near"),
        F.when(is_copy, F.coalesce("doubt", "other_text")).alias("doubt"),
        F.col("near_url").alias("nearest"),
    )
    as_original = numbers.select(F.col("order").alias("near"), F.col("page").alias("original_page"))
    return (
        told.withColumnsRenamed({"status": "unjudged", "reason": "why"})
        .join(judged, "order", "left")
        .join(numbers, "order", "left")
        .join(as_original, "near", "left")
        .withColumn("status", F.coalesce("status", "unjudged"))
        .withColumn("reason", F.coalesce("doubt", "why"))
        .withColumn("changed", F.coalesce("changed", F.lit(False)))
        .withColumn("text", F.when(F.lit(config.store_text), F.col("digest")))
        .select(*DECISION)
        .orderBy("order")
    )


def _other_texts(copies: DataFrame) -> DataFrame:
    """Return the copies of which most of what the extraction left out is not the same."""

    def differing(rows: Iterator[Row]) -> Iterable[tuple[Any, ...]]:
        for order, new, old in rows:
            if rest.differs(bytes(new), bytes(old)):
                yield order, "other-text"

    asked = copies.select("order", "rest", "near_rest").where(
        "length(rest) > 0 AND length(near_rest) > 0"
    )
    return through(asked, differing, "order long, other_text string")


def _near(meetings: DataFrame, verdicts: DataFrame) -> DataFrame:
    """Return the URL of the row that each verdict speaks of, and what it then left out."""
    rows = meetings.where("row IS NOT NULL").select(
        "row",
        F.col("order").alias("at"),
        F.lit(None).cast("long").alias("order"),
        F.when(F.col("kept"), F.col("url")).alias("near_url"),
        F.col("rest").alias("near_rest"),
    )
    asked = verdicts.where("near IS NOT NULL").select(
        F.col("near").alias("row"),
        F.col("since").alias("at"),
        "order",
        F.lit(None).cast("string").alias("near_url"),
        F.lit(None).cast("binary").alias("near_rest"),
    )
    so_far = Window.partitionBy("row").orderBy("at", F.col("order").asc_nulls_first())
    return (
        rows.unionByName(asked)
        .withColumn("near_url", F.last("near_url", ignorenulls=True).over(so_far))
        .withColumn("near_rest", F.last("near_rest", ignorenulls=True).over(so_far))
        .where("order IS NOT NULL")
        .select("order", "near_url", "near_rest")
    )


def originals(meetings: DataFrame, texts: DataFrame, numbers: DataFrame) -> DataFrame:
    """Return the kept pages that stand at the end, as an index would hold them, in order."""
    # A page that was seen again has the body of the last time.
    last = (
        meetings.where("row IS NOT NULL")
        .groupBy("row")
        .agg(
            F.max_by(F.struct("body", "rest", "doubt", "about"), "order").alias("now"),
            F.count("*").alias("visits"),
        )
    )
    rows = (
        numbers.join(meetings.select("order", "url", "identity", "text"), "order")
        .join(last.withColumnRenamed("row", "order"), "order")
        .join(texts.select("text", "space", "digest", "terms", "signature"), "text")
    )
    schema = (
        "page long, order long, url string, space long, identity long, body binary,"
        " digest binary, terms int, visits long, signature binary"
    )
    return through(rows.select(*ORIGINAL[:5], "now", *ORIGINAL[6:]), _whole, schema).orderBy("page")


def _whole(rows: Iterator[Row]) -> Iterable[tuple[Any, ...]]:
    """Put signatures together again, with what the markup said of them."""
    for *named, now, digest, terms, visits, signature in rows:
        parts = {**unpack(bytes(signature)), "rest": bytes(now["rest"])}
        if now["doubt"]:
            parts["doubt"] = now["doubt"].encode("ascii")
        if now["about"] is not None:
            parts[ABOUT] = bytes(now["about"])
        yield *named, now["body"], digest, terms, visits, pack(parts)
