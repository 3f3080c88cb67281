"""What each page meets when it comes: the rows that stand, and its own."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from scrapy_simdedup.batch.spark.frames import NEVER
from scrapy_simdedup.batch.spark.rounds import Found, with_ends
from scrapy_simdedup.compare import Rules

# Of a row that a page may be held against: what tells it apart, how long it stands, and the
# evidence on the two texts.
_EVIDENCE = (
    *("old_terms", "distance", "resemblance", "containment", "new_parts", "resembles"),
    *("numbers", "names", "method"),
)


def rows_of(kept: DataFrame) -> DataFrame:
    """Return the kept pages, each with the place up to which its row stands, ``until``."""
    marked = with_ends(kept.withColumn("kept", F.lit(True)))
    return marked.select("order", "text", "identity", "until")


def meetings(pages: DataFrame, found: Found, rules: Rules) -> DataFrame:
    """Return the judged pages with what they meet.

    ``near`` are the rows of texts that theirs was held against, ``own`` is the page's own row
    and ``unchanged`` whether that has the same text. A page that is ``kept`` or a ``visit``
    gives a row its body, up to ``renewed``, and ``row`` is that row.
    """
    rows = rows_of(found.kept)
    near = (
        found.evidence.join(rows.withColumnRenamed("text", "old"), "old")
        .groupBy(F.col("new").alias("text"))
        .agg(F.collect_list(F.struct("order", "identity", "until", *_EVIDENCE)).alias("near"))
    )
    marked = pages.join(
        found.kept.select("order", F.lit(True).alias("kept")), "order", "left"
    ).withColumn("kept", F.coalesce("kept", F.lit(False)))
    return _with_visits(marked.join(near, "text", "left"), rules)


def _with_visits(pages: DataFrame, rules: Rules) -> DataFrame:
    same = Window.partitionBy("space", "identity")
    before = same.orderBy("order").rowsBetween(Window.unboundedPreceding, -1)
    after = same.orderBy(F.desc("order")).rowsBetween(Window.unboundedPreceding, -1)
    own = F.last(F.when(F.col("kept"), F.struct("order", "digest")), ignorenulls=True)
    unchanged = F.coalesce(F.col("own_row.digest") == F.col("digest"), F.lit(False))
    visit = ~F.col("kept") & F.col("unchanged")
    if rules.this_run_only:
        visit &= ~_copied()
    holds = F.when(F.col("kept") | F.col("visit"), F.col("order"))
    several = (
        pages.where("again")
        .withColumn("own_row", own.over(before))
        .withColumn("unchanged", unchanged)
        .withColumn("visit", visit)
        .withColumn(
            "renewed", F.coalesce(F.last(holds, ignorenulls=True).over(after), F.lit(NEVER))
        )
    )
    own_order = F.col("own_row.order")
    several = several.withColumn("own", own_order).drop("own_row")
    single = pages.where("NOT again").select(
        "*",
        F.lit(False).alias("unchanged"),
        F.lit(False).alias("visit"),
        F.lit(NEVER).alias("renewed"),
        F.lit(None).cast("long").alias("own"),
    )
    row = F.when(F.col("kept"), F.col("order")).when(F.col("visit"), F.col("own"))
    return single.unionByName(several).withColumn("row", row)


def _copied() -> Column:
    """Tell whether a page is a copy of a row that stands when it comes."""
    return F.coalesce(
        F.exists(
            F.col("near"),
            lambda row: (
                row["method"].isNotNull()
                & (row["order"] < F.col("order"))
                & (F.col("order") <= row["until"])
                & (row["identity"] != F.col("identity"))
            ),
        ),
        F.lit(False),
    )
