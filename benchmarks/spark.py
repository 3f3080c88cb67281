"""The Spark job beside ``scan`` on the same cores, and a template that is repeated many times.

    python benchmarks/spark.py [--pages 2000] [--cores 2] [--skew 200000] [--json FILE]

benchmarks/README.md says what each figure is.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from children import alone
from crawl_pages import made_up, read
from figures import Figures, merged, rounded, show
from spark_log import from_log
from spark_skew import skewed

from scrapy_simdedup import Deduplicator
from scrapy_simdedup.batch.record import Record
from scrapy_simdedup.batch.scan import scan

_PACKAGES = ("scrapy-simdedup", "pyspark", "trafilatura")
_SEED = 20_260


def pages_of(corpus: Path | None, count: int) -> list[tuple[str, bytes]]:
    """Return so many pages, real ones from a folder or made-up ones."""
    pages = read(corpus, count) if corpus else made_up(count, _SEED)
    return [(f"https://site{at % 97}.example/{at}", page) for at, page in enumerate(pages)]


def by_scan(corpus: Path | None, count: int, cores: int) -> Figures:
    """Return what a scan with so many workers takes, with a new index."""
    pages = pages_of(corpus, count)
    with (
        tempfile.TemporaryDirectory() as folder,
        Deduplicator(Path(folder, "index.db"), {"SIMDEDUP_WORKERS": cores}) as dedup,
    ):
        # Workers start, and load what they need.
        list(scan([Record(url, f"warm {url}", html=html) for url, html in pages[:8]], dedup))
        begun = time.perf_counter()
        found = list(scan([Record(url, url, html=html) for url, html in pages], dedup))
        took = time.perf_counter() - begun
    copies = sum(each["status"] == "duplicate" for each in found)
    return {"pages": len(found), "per_second": len(found) / took, "duplicates": copies}


def by_spark(
    corpus: Path | None, count: int, cores: int, warm: bool, make: Callable[..., Any] | None = None
) -> Figures:
    """Return what the job takes in a session with so many cores, its start apart.

    The table lies in Parquet files, as an archive would; ``make`` returns another table.
    """
    from pyspark.sql import SparkSession

    from scrapy_simdedup.batch.spark import deduplicate
    from scrapy_simdedup.batch.spark.results import write

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "events").mkdir()
        begun = time.perf_counter()
        spark = _session(SparkSession.builder, cores, folder)
        figures: Figures = {"start_s": time.perf_counter() - begun}
        table = make(spark, count) if make else _table(spark, corpus, count)
        table.write.parquet(f"{folder}/pages")
        if warm:
            # The job's code is compiled, and each core's worker has started.
            deduplicate(spark.read.parquet(f"{folder}/pages").limit(16)).decisions.count()
        begun = time.perf_counter()
        found = deduplicate(spark.read.parquet(f"{folder}/pages"))
        counts, _ = write(found, f"{folder}/result", "parquet", components=False)
        took = time.perf_counter() - begun
        total = sum(counts.values())
        figures |= {
            "pages": total,
            "seconds": took,
            "per_second": total / took,
            "duplicates": counts["duplicate"],
            "rounds": found.rounds,
            "full_keys": found.full_keys,
            "compared_per_page": found.evidence.count() / total,
            "result_bytes_per_page": _size(Path(folder, "result")) / total,
        }
        spark.stop()
        return figures | from_log(Path(folder, "events"), total)


def _session(builder: Any, cores: int, folder: str) -> Any:
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    # Where the workers find the modules beside this one.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    conf = {
        "spark.master": f"local[{cores}]",
        "spark.driver.memory": "6g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": str(4 * cores),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{folder}/events",
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }
    for name, value in conf.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _table(spark: Any, corpus: Path | None, count: int) -> Any:
    return spark.createDataFrame(pages_of(corpus, count), "url string, html binary")


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> None:
    """Measure, print and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=2000, help="0: not measured")
    parser.add_argument("--corpus", type=Path, help="a folder of sets with pages/*.html")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--skew", type=int, default=200_000, help="rows of each kind; 0: none")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found: dict[str, Figures] = {}
    if options.pages:
        given = options.corpus, options.pages, options.cores
        # In turns: a busy machine slows both down.
        turns = [
            (alone(by_scan, *given), alone(by_spark, *given, True)) for _ in range(options.repeat)
        ]
        found["scan"] = merged([each for each, _ in turns])
        found["spark"] = merged([each for _, each in turns])
        ratios = [spark["per_second"] / scan["per_second"] for scan, spark in turns]
        found["spark"]["over_scan"] = sorted(ratios)[len(ratios) // 2]
    if options.skew:
        found["skew"] = alone(by_spark, None, options.skew, options.cores, False, skewed)
    for name, figures in found.items():
        show(name, figures)
    meta = {
        "seed": _SEED,
        **{name: getattr(options, name) for name in ("pages", "cores", "repeat", "skew")},
        "versions": {name: version(name) for name in _PACKAGES}
        | {"python": platform.python_version()},
    }
    if options.json:
        written = {name: rounded(figures) for name, figures in found.items()}
        options.json.write_text(json.dumps({**written, "meta": meta}, indent=2) + "\n")


if __name__ == "__main__":
    main()
