"""Full buckets, where not every text can be held against every other one.

Most of a crowd turns out to be copies of its first members. So only kept texts are looked at,
and the first of those that are not decided yet; when these are, the next ones. Of the kept ones
the first are looked at that would not be a crowd by themselves: where there are more, a bucket
is full. So the work grows with the crowd and not with its square.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from scrapy_simdedup.batch.spark.frames import (
    BUCKET,
    NEVER,
    enough,
    part_of,
    per_part,
    settled,
    shared,
)

# Of the undecided texts of a bucket so many are compared with each other at a time.
_LEADING = 16


@dataclass(frozen=True)
class Crowds:
    """What crowded buckets store, and what asks for them; what their texts share elsewhere."""

    stored: DataFrame
    asked: DataFrame
    elsewhere: DataFrame

    def wave(self, live: DataFrame) -> tuple[DataFrame, DataFrame]:
        """Return the pairs to compare now, and the ``horizon`` of each text.

        ``live`` are the texts with kept pages, the first of them ``kept_at``, or with pages that
        are not decided, the first of them ``opened``.
        """
        here = settled(self.stored.join(live, "text"))
        asking = self.asked.join(live.where("opened IS NOT NULL").select("text", "opened"), "text")
        leaders = _first(here, "opened", F.lit(_LEADING))
        ends = settled(
            here.groupBy(*BUCKET)
            .agg(F.count("kept_at").alias("kept"), F.count("opened").alias("open"))
            .join(leaders.groupBy(*BUCKET).agg(F.max("opened").alias("end")), BUCKET, "left")
            .withColumn("full", F.col("kept") >= _most())
            .withColumn(
                "upto",
                F.when(~F.col("full") & (F.col("open") > _LEADING), F.col("end")).otherwise(
                    F.lit(NEVER)
                ),
            )
            .select(*BUCKET, "full", "upto")
        )
        led = leaders.join(ends.where("NOT full"), BUCKET).withColumn("kept", F.lit(False))
        exposed = _kept(here).unionByName(led.select(*BUCKET, "key", "text", "upto", "kept"))
        horizons = asking.join(ends, BUCKET).groupBy("text").agg(F.min("upto").alias("horizon"))
        return self._pairs(asking, exposed), horizons

    def all_kept(self, kept: DataFrame) -> DataFrame:
        """Return the pairs of all texts with those that are ``kept_at`` last."""
        exposed = _kept(self.stored.join(kept, "text"))
        return self._pairs(self.asked.withColumn("opened", F.lit(0)), exposed)

    def full(self, pages: DataFrame) -> int:
        """Return how many buckets hold more kept texts than are looked at."""
        here = self.stored.join(pages.select("text").distinct(), "text")
        return int(here.groupBy(*BUCKET).count().where(F.col("count") > _most()).count())

    def _pairs(self, asking: DataFrame, exposed: DataFrame) -> DataFrame:
        # A text may have a kept page, and another one that is not decided.
        once = exposed.groupBy(*BUCKET, "key", "text").agg(
            F.max("upto").alias("upto"), F.max("kept").alias("kept")
        )
        found = shared(asking, once, F.col("asking.opened") <= F.col("stored.upto"))
        of_part = ["new", "old", "part"]
        more = self.elsewhere.join(found.select(*of_part), of_part, "left_semi")
        both = (
            found.unionByName(more)
            .groupBy(*of_part)
            .agg(
                F.sum("shared").alias("shared"),
                F.min("apart").alias("apart"),
                F.max("kept").alias("kept"),
            )
        )
        nearest = Window.partitionBy("new", "part", "kept").orderBy(
            "apart", F.desc("shared"), "old"
        )
        picked = F.col("rank") <= per_part("most_candidates", F.col("part"))
        return (
            both.where(enough())
            .withColumn("rank", F.row_number().over(nearest))
            .where(~F.col("kept") | picked)
            .select("new", "old")
            .distinct()
        )


def _most() -> Column:
    return per_part("most_rows", part_of(F.col("band")))


def _first(here: DataFrame, by: str, most: Column) -> DataFrame:
    """Return the first texts of each bucket, at most so many."""
    rank = F.row_number().over(Window.partitionBy(*BUCKET).orderBy(by))
    return here.where(F.col(by).isNotNull()).withColumn("rank", rank).where(F.col("rank") <= most)


def _kept(here: DataFrame) -> DataFrame:
    """Return the kept texts that are looked at, by all."""
    return _first(here, "kept_at", _most()).select(
        *BUCKET, "key", "text", F.lit(NEVER).alias("upto"), F.lit(True).alias("kept")
    )
