"""Proposing: which texts may be copies of which, by the buckets that they have in common.

A bucket with no more texts than its method reads rows of a key is read whole. A fuller one is a
crowd: of a template, or of something that all pages of a site have. Not all pairs that are
proposed are compared: most texts of a cluster are copies of its first ones, and then it does not
matter what else they are near.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from scrapy_simdedup.batch.spark.crowds import Crowds
from scrapy_simdedup.batch.spark.frames import (
    BUCKET,
    NEVER,
    enough,
    part_of,
    per_part,
    settled,
    shared,
)
from scrapy_simdedup.batch.spark.keys import Keys

# Of the undecided texts that a text may be a copy of, so many are compared with it at a time.
_LEADING = 4


@dataclass(frozen=True)
class Proposed:
    """Pairs of texts, ``new`` and ``old``, and the crowds, of which not all pairs are known.

    The old one's first page comes before the new one's last.
    """

    pairs: DataFrame
    crowds: Crowds | None

    def texts(self) -> DataFrame:
        """Return the texts that others have a say about, in the column ``text``."""
        near = self.pairs.select(F.col("new").alias("text")).union(self.pairs.select("old"))
        if self.crowds is not None:
            near = near.union(self.crowds.stored.select("text"))
            near = near.union(self.crowds.asked.select("text"))
        return near.distinct()

    def wave(self, pages: DataFrame) -> tuple[DataFrame, DataFrame]:
        """Return the pairs to compare now, and the ``horizon`` of each text.

        ``pages`` are the kept ones, and those that are not decided: their ``kept`` is null. Up
        to its horizon all is known then that matters to a text's pages.
        """
        live = settled(
            pages.groupBy("text").agg(
                F.min(F.when(F.col("kept").isNull(), F.col("order"))).alias("opened"),
                F.min(F.when(F.col("kept"), F.col("order"))).alias("kept_at"),
            )
        )
        asking = live.where("opened IS NOT NULL").select(F.col("text").alias("new"))
        near = self.pairs.join(asking, "new").join(live.withColumnRenamed("text", "old"), "old")
        rank = F.row_number().over(Window.partitionBy("new").orderBy("opened"))
        led = near.where("opened IS NOT NULL").withColumn("rank", rank)
        end = F.max(F.when(F.col("rank") == _LEADING, F.col("opened")))
        horizons = led.groupBy(F.col("new").alias("text")).agg(
            F.when(F.max("rank") > _LEADING, end).otherwise(F.lit(NEVER)).alias("horizon")
        )
        pairs = near.where("kept_at IS NOT NULL").select("new", "old")
        pairs = pairs.union(led.where(F.col("rank") <= _LEADING).select("new", "old"))
        if self.crowds is not None:
            more, ends = self.crowds.wave(live)
            pairs, horizons = pairs.union(more), horizons.union(ends)
        return pairs.distinct(), horizons.groupBy("text").agg(F.min("horizon").alias("horizon"))

    def all_kept(self, pages: DataFrame) -> DataFrame:
        """Return the pairs of all texts with kept ones, when ``pages`` are all that are kept."""
        kept = pages.groupBy("text").agg(F.min("order").alias("kept_at"))
        pairs = self.pairs.join(kept.select(F.col("text").alias("old")), "old", "left_semi")
        pairs = pairs.select("new", "old")
        if self.crowds is not None:
            pairs = pairs.union(self.crowds.all_kept(kept)).distinct()
        return pairs


def propose(keys: Keys) -> Proposed:
    """Return all pairs that share enough rows of buckets that are no crowds, and the crowds."""
    most = per_part("most_rows", part_of(F.col("band")))
    sizes = keys.stored.groupBy(*BUCKET).agg(F.count("*").alias("texts"))
    crowded = settled(sizes.where(F.col("texts") > most).select(*BUCKET))
    crowds = not crowded.isEmpty()
    stored = keys.stored.join(crowded, BUCKET, "left_anti") if crowds else keys.stored
    found = settled(shared(keys.asked, stored.withColumn("kept", F.lit(False))))
    pairs = settled(found.where(enough()).select("new", "old").distinct())
    if not crowds:
        return Proposed(pairs, None)
    return Proposed(
        pairs,
        Crowds(
            settled(keys.stored.join(crowded, BUCKET)),
            settled(keys.asked.join(crowded, BUCKET)),
            found.where(~enough()),
        ),
    )
