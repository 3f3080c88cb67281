"""Proposing: which texts are held against which, by the buckets that they have in common.

A bucket with no more texts than its method reads rows of a key is read whole. A fuller one is a
crowd: of a template, or of something that all pages of a site have.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from scrapy_simdedup.batch.spark.crowds import Crowds
from scrapy_simdedup.batch.spark.frames import (
    BUCKET,
    enough,
    part_of,
    per_part,
    settled,
    shared,
)
from scrapy_simdedup.batch.spark.keys import Keys


def propose(keys: Keys) -> tuple[DataFrame, Crowds | None]:
    """Return all pairs that share enough rows of buckets that are no crowds, and the crowds.

    A pair is ``new`` and ``old``, two texts of which the old one's first page comes before the
    new one's last.
    """
    most = per_part("most_rows", part_of(F.col("band")))
    sizes = keys.stored.groupBy(*BUCKET).agg(F.count("*").alias("texts"))
    crowded = settled(sizes.where(F.col("texts") > most).select(*BUCKET))
    crowds = not crowded.isEmpty()
    stored = keys.stored.join(crowded, BUCKET, "left_anti") if crowds else keys.stored
    found = shared(keys.asked, stored.withColumn("kept", F.lit(False)))
    if not crowds:
        return found.where(enough()).select("new", "old").distinct(), None
    found = settled(found)
    return found.where(enough()).select("new", "old").distinct(), Crowds(
        settled(keys.stored.join(crowded, BUCKET)),
        settled(keys.asked.join(crowded, BUCKET)),
        found.where(~enough()),
    )
