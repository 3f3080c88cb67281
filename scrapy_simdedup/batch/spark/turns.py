"""Pages of one identity, one after the other: what each is depends on the row of the one before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from scrapy_simdedup.batch.spark.frames import through

#: Of a page, what decides about it: where it stands, and who it is.
PAGE = ("order", "space", "identity", "text", "digest", "again")

_SCHEMA = (
    "order long, space long, identity long, text long, digest binary, again boolean, kept boolean"
)


def in_turn(told: DataFrame, state: DataFrame) -> DataFrame:
    """Decide about the pages whose identities others have, as far as each one's turn has come.

    ``told`` has the undecided pages: ``copy`` tells of one that it is no original, whatever its
    own row is, ``clear`` that nothing but its own row can keep it from being one. Returned are
    these and the kept pages of ``state``, without the pages that are neither.
    """
    known = state.where("kept AND again").select(
        *PAGE, "kept", F.lit(False).alias("copy"), F.lit(False).alias("clear")
    )
    asked = told.where("again").withColumn("kept", F.lit(None).cast("boolean"))
    both = known.unionByName(asked).repartition("space", "identity")
    return through(both.sortWithinPartitions("space", "identity", "order"), _turns, _SCHEMA)


def _turns(rows: Iterator[Row]) -> Iterable[tuple[Any, ...]]:
    who, own, is_known = None, None, True
    for *page, kept, copy, clear in rows:
        _, space, identity, _, digest, _ = page
        if who != (space, identity):
            who, own, is_known = (space, identity), None, True
        if copy or (is_known and digest == own):
            # A copy, or the same page unchanged.
            continue
        if kept or (clear and is_known):
            own, is_known = digest, True
            yield *page, True
        else:
            is_known = False
            yield *page, None
