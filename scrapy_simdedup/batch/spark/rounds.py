"""Which pages are kept, by rounds: all at once those that are decided by what is known.

A page is no original if one that stands before it has a text that its own is a copy of. It is
one once all pages are decided that come before it and whose texts its own would be a copy of,
and none of them stands. So a chain of n such pages takes n rounds, however many chains there
are. A kept page stands until its URL comes again with a text that is kept in its place.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from scrapy_simdedup.batch.spark.frames import NEVER, settled
from scrapy_simdedup.batch.spark.pairs import Proposed
from scrapy_simdedup.batch.spark.turns import PAGE, in_turn
from scrapy_simdedup.batch.spark.verify import verify
from scrapy_simdedup.compare import Rules
from scrapy_simdedup.exceptions import SimDedupError


class TooManyRounds(SimDedupError):
    """Pages depend on each other in a chain that is longer than the rounds allowed."""


@dataclass(frozen=True)
class Found:
    """The kept pages, the evidence on pairs of texts, and how many rounds it took."""

    kept: DataFrame
    evidence: DataFrame
    rounds: int


class Rounds:
    """Decides about the pages of texts, in so many rounds at ``most``."""

    def __init__(self, texts: DataFrame, proposed: Proposed, rules: Rules, most: int) -> None:
        self._texts = texts
        self._proposed = proposed
        self._rules = rules
        self._most = most

    def run(self, pages: DataFrame) -> Found:
        """Decide about all pages. Raises TooManyRounds."""
        # Of several pages of one text, the later ones are held against the first.
        itself = self._texts.where("pages > 1").select(
            F.col("text").alias("new"), F.col("text").alias("old")
        )
        evidence = verify(itself, self._texts, self._rules)
        state, alone = self._involved(pages)
        several = not state.where("again").isEmpty()
        number, left = 0, 1
        while left:
            number += 1
            wave, horizons = self._proposed.wave(state)
            evidence = self._more(evidence, wave)
            accepted = evidence.where("method IS NOT NULL")
            state = settled(_decided(state, accepted, horizons, several=several))
            left = state.where("kept IS NULL").count()
            if left and number == self._most:
                raise self._too_many(state, pages, left)
        kept = settled(state.select(*PAGE).unionByName(alone))
        evidence = self._more(evidence, self._proposed.all_kept(kept))
        return Found(kept, evidence, number)

    def _more(self, evidence: DataFrame, pairs: DataFrame) -> DataFrame:
        fresh = pairs.join(evidence.select("new", "old"), ["new", "old"], "left_anti")
        return settled(evidence.unionByName(verify(fresh, self._texts, self._rules)))

    def _involved(self, pages: DataFrame) -> tuple[DataFrame, DataFrame]:
        """Return the pages that other pages may have a say about, undecided, and the others."""
        near = self._proposed.texts()
        marked = pages.join(near.withColumn("near", F.lit(True)), "text", "left")
        involved = F.col("near").isNotNull() | F.col("again") | (F.col("pages") > 1)
        state = marked.where(involved).select(*PAGE, F.lit(None).cast("boolean").alias("kept"))
        return settled(state), marked.where(~involved).select(*PAGE)

    def _too_many(self, state: DataFrame, pages: DataFrame, left: int) -> TooManyRounds:
        first = state.where("kept IS NULL").orderBy("order").limit(1).join(pages, "order")
        urls = [row["url"] for row in first.select("url").collect()]
        return TooManyRounds(
            f"after {self._most} rounds {left} pages are not decided, the first of them"
            f" {urls[0]}: each waits for one before it that it may be a copy of. Allow more rounds."
        )


def _decided(
    state: DataFrame, accepted: DataFrame, horizons: DataFrame, *, several: bool
) -> DataFrame:
    """Return the state after one more round: kept pages and undecided ones, no others."""
    around = (
        accepted.join(_of_texts(state).withColumnRenamed("text", "old"), "old")
        .groupBy(F.col("new").alias("text"))
        .agg(*(F.flatten(F.collect_list(name)).alias(name) for name in ("rows", "waiting")))
    )
    asked = state.where("kept IS NULL").join(around, "text", "left").join(horizons, "text", "left")
    horizon = F.coalesce("horizon", F.lit(NEVER))
    clear = (F.col("order") <= horizon) & ~_meets("rows", "until") & ~_meets("waiting")
    told = asked.select(*PAGE, _meets("rows", "surely").alias("copy"), clear.alias("clear"))
    kept = F.when(F.col("clear"), F.lit(True))
    now = told.where("NOT again AND NOT copy").select(*PAGE, kept.alias("kept"))
    now = now.unionByName(state.where("kept AND NOT again"))
    return now.unionByName(in_turn(told, state)) if several else now


def _of_texts(state: DataFrame) -> DataFrame:
    """Return the rows of each text, and the first pages of two identities that are undecided."""
    is_open = F.col("kept").isNull()
    first = F.min(F.when(is_open, F.struct("order", "identity")))
    others = is_open & (F.col("identity") != F.col("first.identity"))
    return (
        with_ends(state)
        .withColumn("first", first.over(Window.partitionBy("text")))
        .groupBy("text")
        .agg(
            F.collect_list(
                F.when(F.col("kept"), F.struct("order", "identity", "surely", "until"))
            ).alias("rows"),
            F.min("first").alias("first"),
            F.min(F.when(others, F.struct("order", "identity"))).alias("second"),
        )
        .select("text", "rows", F.array_compact(F.array("first", "second")).alias("waiting"))
    )


def _meets(rows: str, end: str | None = None) -> Column:
    """Tell whether one of the rows comes before a page and is not its own, and stands up to it."""

    def met(row: Column) -> Column:
        there = (row["order"] < F.col("order")) & (row["identity"] != F.col("identity"))
        return there if end is None else there & (F.col("order") <= row[end])

    return F.coalesce(F.exists(rows, met), F.lit(False))


def with_ends(state: DataFrame) -> DataFrame:
    """Add how long a page stands if it is kept: at least up to ``surely``, at most ``until``."""
    later = (
        Window.partitionBy("space", "identity")
        .orderBy(F.desc("order"))
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    kept = F.last(F.when(F.col("kept"), F.col("order")), ignorenulls=True)
    several = state.where("again").select(
        "*",
        F.coalesce(F.last("order").over(later), F.lit(NEVER)).alias("surely"),
        F.coalesce(kept.over(later), F.lit(NEVER)).alias("until"),
    )
    single = state.where("NOT again")
    return several.unionByName(
        single.select("*", F.lit(NEVER).alias("surely"), F.lit(NEVER).alias("until"))
    )
