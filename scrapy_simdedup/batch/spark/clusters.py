"""Views of what belongs together: originals with their copies, and connected components."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from scrapy_simdedup.batch.spark.frames import settled
from scrapy_simdedup.batch.spark.rounds import TooManyRounds


def clusters(decisions: DataFrame) -> DataFrame:
    """Return the originals that have copies, with the number of these, most first."""
    return (
        decisions.where("status = 'duplicate'")
        .groupBy("original")
        .agg(F.count("*").alias("copies"), F.min("order").alias("first_copy"))
        .select("original", "copies", "first_copy")
        .orderBy(F.desc("copies"), "first_copy")
    )


def components(pages: DataFrame, evidence: DataFrame, most: int) -> DataFrame:
    """Return judged pages with the URL of the first page that they are connected with.

    Two pages are connected if one would be a copy of the other, or both are connected with a
    third: so chains, which judging keeps apart, are one component. By rounds of the algorithm
    of large and small stars (Kiveris et al., Connected Components in MapReduce and Beyond, 2014).
    Raises TooManyRounds.
    """
    edges = evidence.where("method IS NOT NULL AND new != old").select("new", "old")
    stars = settled(_larger_first(edges))
    for _ in range(most):
        before, stars = stars, settled(_small_stars(_large_stars(stars)))
        if stars.subtract(before).isEmpty() and before.subtract(stars).isEmpty():
            return _named(pages, stars)
    raise TooManyRounds(f"after {most} rounds connected components still grow together")


def _larger_first(edges: DataFrame) -> DataFrame:
    return edges.select(
        F.greatest("new", "old").alias("text"), F.least("new", "old").alias("root")
    ).distinct()


def _large_stars(stars: DataFrame) -> DataFrame:
    """Hang all larger neighbours of each text on the smallest of its neighbours and itself."""
    both = stars.union(stars.select("root", "text")).toDF("text", "near")
    least = both.groupBy("text").agg(F.least(F.min("near"), F.first("text")).alias("root"))
    return (
        both.where("near > text")
        .join(least, "text")
        .select(F.col("near").alias("text"), "root")
        .where("text != root")
        .distinct()
    )


def _small_stars(stars: DataFrame) -> DataFrame:
    """Hang each text, and its smaller neighbours, on the smallest of them."""
    least = stars.groupBy("text").agg(F.min("root").alias("least"))
    hung = stars.join(least, "text").select(
        F.col("root").alias("text"), F.col("least").alias("root")
    )
    return (
        hung.union(least.select("text", "least"))
        .toDF("text", "root")
        .where("text != root")
        .distinct()
    )


def _named(pages: DataFrame, stars: DataFrame) -> DataFrame:
    root = stars.groupBy("text").agg(F.min("root").alias("root"))
    placed = pages.join(root, "text", "left").withColumn("root", F.coalesce("root", "text"))
    first = pages.select(F.col("order").alias("root"), F.col("url").alias("component"))
    return placed.join(first, "root").select("order", "url", "component").orderBy("order")
