"""A real Spark on this machine, and what it decides beside what ``scan`` does."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scrapy_simdedup import Deduplicator
from scrapy_simdedup.batch.record import Record
from scrapy_simdedup.batch.scan import scan
from texts import page, reworded, story

Rows = Sequence[tuple[str, str | bytes | None, str | None]]
"""Pages: URL, HTML, text."""

# On a busy machine a page may have to wait for longer than it is worked on.
PATIENT = {"SIMDEDUP_TIMEOUT": 120}

FIELDS = ("url", "status", "original", "distance", "resemblance", "method", "reason")


def lacking() -> str | None:
    """Return what is missing to run Spark, None where nothing is."""
    try:
        import pyspark  # noqa: F401
    except ImportError:
        return "PySpark is not installed"
    return None if shutil.which("java") or os.environ.get("JAVA_HOME") else "there is no Java"


@contextmanager
def local_spark() -> Iterator[Any]:
    """A session of its own, made for tables of a few hundred rows."""
    from pyspark.sql import SparkSession

    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        os.environ[name] = sys.executable
    # Where the workers find the modules of the tests.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    conf = {
        "spark.master": "local[2]",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "2",
        # Queries run once each, on few rows: to compile and to mend them takes longer than that.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }
    builder = SparkSession.builder.appName("tests")
    for name, value in conf.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()


def table(spark: Any, rows: Rows) -> Any:
    """Return a table of pages."""
    kind = "binary" if any(isinstance(html, bytes) for _, html, _ in rows) else "string"
    return spark.createDataFrame(rows, f"url string, html {kind}, text string")


def by_spark(found: Any) -> list[dict[str, Any]]:
    """Return the decisions of a job as those of a scan are."""
    return [{name: row[name] for name in FIELDS} for row in found.decisions.collect()]


def by_scan(rows: Rows, index: Path, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what a scan decides, into an index."""
    with Deduplicator(index, {**PATIENT, **settings}, spider="scan") as dedup:
        records = [Record(url, url, html=html, text=text) for url, html, text in rows]
        return list(scan(records, dedup))


# Pages that are alike in every way there is


def chain(seed: int, length: int) -> list[str]:
    """Return texts of which each is near the one before, and less and less near the first."""
    texts = [story(seed, 40)]
    for step in range(1, length):
        texts.append(reworded(texts[-1], 0.15, step))
    return texts


def markup(text: str, kind: int) -> tuple[str | None, str | None]:
    """Return HTML and text: alone, in one of two templates, or beside much prose of its own."""
    if kind == 0:
        return None, text
    if kind < 3:
        return page(text, template=("plain", "wire")[kind - 1]), None
    beside = "".join(f"<div><span>{each}</span></div>" for each in story(9000 + kind).split(". "))
    article = "".join(f"<p>{each}</p>" for each in text.split("\n\n"))
    html = (
        "<html><body><nav><a href=/>Home</a> <a href=/all>All</a></nav>"
        f"<article>{article}</article><aside>{beside}</aside></body></html>"
    )
    return html, None
