"""Tables of pages from files: Parquet as Spark reads it, all else as ``scan`` does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from scrapy_simdedup.batch.read import read
from scrapy_simdedup.batch.record import Record
from scrapy_simdedup.batch.spark.pages import of_records, of_table
from scrapy_simdedup.config import Config
from scrapy_simdedup.exceptions import SimDedupError

# Names of files with many pages, by the format that they are in.
MANY = {"jsonl": (".jsonl", ".jsonl.gz"), "warc": (".warc", ".warc.gz")}
FORMATS = ("parquet", *MANY)


class InputUnusable(SimDedupError):
    """What is named as input is not there, or holds no pages."""


@dataclass(frozen=True)
class Columns:
    """The names of the columns of Parquet files; ``order`` may be missing."""

    url: str = "url"
    html: str = "html"
    text: str = "text"
    order: str | None = None


def analysed(
    spark: SparkSession, paths: list[str], form: str | None, columns: Columns, config: Config
) -> DataFrame:
    """Return the analysed pages of some paths, in their order. Raises InputUnusable."""
    if form is None and any(_is_parquet(path) for path in paths):
        form = "parquet"
    if form == "parquet":
        table = _table(spark, paths, columns)
        try:
            return of_table(table, config, "asked")
        except ValueError as error:
            raise InputUnusable(f"{', '.join(paths)}: {error}") from None
    files = [each for path in paths for each in _files(path, form)]
    if not files:
        raise InputUnusable(f"there are no {form or ''} files in {', '.join(paths)}")
    # Slices of the list, in its order; large enough that many small files are not many tasks.
    slices = min(len(files), max(8 * spark.sparkContext.defaultParallelism, len(files) // 512))
    rows = spark.sparkContext.parallelize(files, slices)
    return of_records(spark.createDataFrame(rows, "path string, name string"), config, _records)


def _is_parquet(path: str) -> bool:
    if "://" in path or path.endswith(".parquet"):
        return True
    return Path(path).is_dir() and any(Path(path).rglob("*.parquet"))


def _table(spark: SparkSession, paths: list[str], columns: Columns) -> DataFrame:
    """Return the pages of Parquet files, and in the column ``asked`` what they are ordered by."""
    try:
        frame = spark.read.parquet(*paths)
    except AnalysisException as error:
        raise InputUnusable(f"cannot read {', '.join(paths)}: {error}") from None
    names = {"url": columns.url, "html": columns.html, "text": columns.text}
    needed = [name for name in (columns.url, columns.order) if name is not None]
    missing = [name for name in needed if name not in frame.columns]
    if missing or not {columns.html, columns.text} & set(frame.columns):
        asked = ", ".join(missing) or f"{columns.html} or {columns.text}"
        raise InputUnusable(
            f"{', '.join(paths)} has no column {asked}; it has {', '.join(frame.columns)}"
        )
    # Spark reads files in an order of its own.
    given = [F.col(columns.order)] if columns.order else []
    place = F.struct(*given, "_metadata.file_path", "_metadata.row_index")
    there = [F.col(name).alias(to) for to, name in names.items() if name in frame.columns]
    return frame.select(place.alias("asked"), *there)


def _files(path: str, form: str | None) -> Iterator[tuple[str, str | None]]:
    """Return the files of a path, with the URLs of those that are the page of a folder."""
    place = Path(path).absolute()
    if not place.exists():
        raise InputUnusable(f"there is no {path}")
    if not place.is_dir():
        yield str(place), None
        return
    names = (found.relative_to(place) for found in place.rglob("*") if found.is_file())
    for name in sorted(name.as_posix() for name in names):
        if form is None:
            yield str(place / name), name
        elif name.lower().endswith(MANY[form]):
            yield str(place / name), None


def _records(rows: Iterable[Row]) -> Iterator[Record]:
    for path, name in rows:
        if name and name.lower().endswith(tuple(end for ends in MANY.values() for end in ends)):
            # In a folder of pages it is none.
            yield Record(name, path, reason="not-html")
            continue
        try:
            for record in read(Path(path)):
                yield replace(record, url=name) if name else record
        except (OSError, SimDedupError):
            yield Record(name or path, path, reason="unreadable")
