"""A result as a folder: decisions, originals and clusters, in order, and what made them."""

from __future__ import annotations

import json
from collections import Counter

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from scrapy_simdedup.batch.result import ABOUT, LAYOUT
from scrapy_simdedup.batch.spark.job import Deduplicated
from scrapy_simdedup.compare import Rules
from scrapy_simdedup.exceptions import SimDedupError
from scrapy_simdedup.identity import identity_of, versions, written


class OutputUnusable(SimDedupError):
    """The output is there already."""


def refuse_existing(spark: SparkSession, output: str) -> None:
    """Raise OutputUnusable where something is at the path, before anything is computed."""
    try:
        spark.read.text(output)
    except AnalysisException:
        return
    raise OutputUnusable(f"{output} is there already: name another folder")


def write(
    found: Deduplicated, output: str, form: str, *, components: bool
) -> tuple[Counter[str], Counter[str]]:
    """Write a result as Parquet or JSON lines.

    Returns how many pages have which status, and for which reasons some were not judged. What
    says that the result is whole is written last.
    """
    _write(found.decisions, output, "decisions", form)
    _write(found.originals, output, "originals", form)
    _write(found.clusters, output, "clusters", form)
    if found.texts is not None:
        _write(found.texts, output, "texts", form)
    if components:
        _write(found.components(), output, "components", form)
    statuses, reasons = Counter[str](), Counter[str]()
    counted = found.decisions.groupBy("status", "reason").count().orderBy("status", "reason")
    for status, reason, count in counted.collect():
        statuses[status] += count
        if status in ("skipped", "error"):
            reasons[reason] += count
    config = found.config
    about = {
        "layout": LAYOUT,
        "format": form,
        "identity": identity_of(config),
        "rules": Rules.of(config).number,
        "settings": written(config),
        "versions": versions(),
        "pages": statuses,
        "originals": found.originals.count(),
        "texts": 0 if found.texts is None else found.texts.count(),
        "rounds": found.rounds,
        "full_keys": found.full_keys,
    }
    spark = found.decisions.sparkSession
    line = spark.createDataFrame([(json.dumps(about),)], "value string")
    line.coalesce(1).write.text(f"{output}/{ABOUT}")
    return statuses, reasons


def _write(frame: DataFrame, output: str, name: str, form: str) -> None:
    path = f"{output}/{name}"
    if form == "parquet":
        frame.write.parquet(path, compression="zstd")
    else:
        frame.write.json(path, compression="gzip", ignoreNullFields=False)
