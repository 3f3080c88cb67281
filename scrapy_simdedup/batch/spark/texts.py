"""Pages in order, and their texts: what is the same in all that methods compare is one text."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from scrapy_simdedup.batch.spark.frames import settled

_OF_PAGE = (
    *("order", "url", "identity", "space", "body", "terms", "digest"),
    *("rest", "doubt", "about"),
)
_OF_TEXT = ("space", "digest", "terms", "signature", "shingles")


@dataclass(frozen=True)
class Collapsed:
    """The pages in order, those that are judged, and the texts of these.

    A text's number, ``text``, is the place in the order of its first page; ``last`` is that of
    its last page, ``pages`` how many it has. ``again`` marks pages whose identity others have.
    ``stored`` are packed texts by their digests, those that came first, if they are wanted.
    """

    all: DataFrame
    judged: DataFrame
    texts: DataFrame
    stored: DataFrame


def collapse(analysed: DataFrame) -> Collapsed:
    """Number the analysed pages in their order, and collapse their texts."""
    analysed = settled(analysed)
    if analysed.schema["place"].dataType.simpleString() == "bigint":
        analysed = analysed.withColumnRenamed("place", "order")
    else:
        number = F.monotonically_increasing_id()
        analysed = settled(analysed.orderBy("place").select(number.alias("order"), "*"))
    # What is large is read once more, for the texts, and is then let go.
    narrow = settled(analysed.drop("place", "signature", "shingles", "packed"))
    judged = narrow.where("sameness IS NOT NULL")
    same = settled(
        judged.groupBy("sameness").agg(
            F.min("order").alias("text"), F.max("order").alias("last"), F.count("*").alias("pages")
        )
    )
    everyone = Window.partitionBy("space", "identity")
    pages = (
        judged.select("sameness", *_OF_PAGE)
        .withColumn("again", F.count("*").over(everyone) > 1)
        .join(same.select("sameness", "text", "pages"), "sameness")
        .drop("sameness")
    )
    texts = same.drop("sameness").join(
        analysed.select(F.col("order").alias("text"), *_OF_TEXT), "text"
    )
    told = narrow.select("order", "url", "space", "body", "status", "reason", "terms", "digest")
    stored = (
        analysed.where("packed IS NOT NULL")
        .groupBy("digest")
        .agg(F.min_by("packed", "order").alias("text"))
    )
    return Collapsed(told, settled(pages), settled(texts), stored)
