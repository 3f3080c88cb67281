"""The Spark session that the command works in: the one there is, or one on this machine."""

from __future__ import annotations

import logging
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scrapy_simdedup.exceptions import SimDedupError

# What tells that somebody else has said where and how Spark runs.
_GIVEN = (
    *("PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR", "SPARK_HOME"),
    *("SPARK_REMOTE", "MASTER"),
)


class SparkMissing(SimDedupError):
    """Spark, or the Java that it runs on, is not there."""


@contextmanager
def session(conf: Mapping[str, str]) -> Iterator[Any]:
    """Open a session with some configuration, or use the one that is active.

    Under ``spark-submit`` it is that one's. Raises SparkMissing.
    """
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise SparkMissing(
            f"PySpark is not installed ({error}): pip install 'scrapy-simdedup[spark]'"
        ) from error
    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    builder = SparkSession.builder.appName("scrapy-simdedup")
    for name, value in {**_defaults(conf), **conf}.items():
        builder = builder.config(name, value)
    try:
        opened = builder.getOrCreate()
    except PySparkException as error:
        raise SparkMissing(
            f"Spark did not start: {error}. It needs Java 17 or newer; found is {_java() or 'none'}"
        ) from error
    logging.getLogger().addFilter(_is_news)
    try:
        yield opened
    finally:
        opened.stop()
        logging.getLogger().removeFilter(_is_news)


def _is_news(record: logging.LogRecord) -> bool:
    """Tell whether a record is none of Py4J's, which logs Ctrl-C with several tracebacks."""
    return record.module not in ("java_gateway", "clientserver")


def _defaults(conf: Mapping[str, str]) -> dict[str, str]:
    """Return what a session on this machine should have, where nobody has said anything."""
    if "PYSPARK_GATEWAY_PORT" not in os.environ and _java() is None:
        raise SparkMissing(
            "Spark runs on Java 17 or newer, and there is none: install a JDK (Debian:"
            " openjdk-17-jre-headless), or set JAVA_HOME"
        )
    # Else the workers would be whatever python3 is on the path.
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        os.environ.setdefault(name, sys.executable)
    if "spark.master" in conf or any(name in os.environ for name in _GIVEN):
        return {}
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    return {
        "spark.master": "local[*]",
        "spark.driver.memory": f"{max(1024, memory // 2)}m",
        # Nobody else needs to reach it.
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": str(sys.stderr.isatty()).lower(),
        # Partitions of a few thousand rows would cost more to begin than to work on.
        "spark.sql.shuffle.partitions": str(4 * (os.cpu_count() or 1)),
        "spark.log.level": "ERROR",
    }


def _java() -> str | None:
    """Return the path of the Java that Spark will find."""
    home = os.environ.get("JAVA_HOME")
    found = Path(home, "bin", "java") if home else None
    return str(found) if found and found.exists() else shutil.which("java")
