"""Decisions as Parquet, in row groups; needs the extra ``parquet``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from scrapy_simdedup.output import Unwritable, whole

# Rows that are held in memory until they are written.
_GROUP = 1 << 15

Row = Mapping[str, Any]


def write_parquet(rows: Iterable[Row], path: Path, fields: Iterable[str]) -> int:
    """Write rows with these fields to a file, whole or not at all, and return their number.

    ``time`` is a timestamp in UTC, to the millisecond, counts are integers, shares doubles, and
    the rest strings. Raises Unwritable.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise Unwritable(
            f"cannot write {path} without pyarrow: pip install 'scrapy-simdedup[parquet]'"
        ) from None
    kinds: dict[str, Any] = {
        "time": pa.timestamp("ms", tz="UTC"),
        "run": pa.int64(),
        "distance": pa.int16(),
        "max_distance": pa.int16(),
        "resemblance": pa.float64(),
        "containment": pa.float64(),
        "terms": pa.int64(),
    }
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in fields])
    count = 0
    try:
        with whole(path) as file, parquet.ParquetWriter(file, schema, compression="zstd") as out:
            for group in _groups(rows):
                out.write_batch(pa.RecordBatch.from_pylist(group, schema))
                count += len(group)
    except pa.ArrowException as error:
        raise Unwritable(f"cannot write {path}: {error}") from error
    return count


def _groups(rows: Iterable[Row]) -> Iterator[list[Row]]:
    each = iter(rows)
    while group := list(islice(each, _GROUP)):
        yield [{**row, "time": _moment(row["time"])} for row in group]


def _moment(written: str) -> datetime | None:
    try:
        return datetime.fromisoformat(written)
    except ValueError:
        return None
