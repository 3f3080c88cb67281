"""The result of a Spark job, a folder that is read without Spark."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scrapy_simdedup.exceptions import SimDedupError

# The folder of a result that says what made it; written last, so that it marks a whole one.
ABOUT = "about"

# Raised whenever a result has other columns.
LAYOUT = 1

# Rows that are read at a time.
_CHUNK = 5_000

_BINARY = ("body", "digest", "signature")


class ResultUnusable(SimDedupError):
    """A folder is no whole result of a Spark job, or of another version."""


class Result:
    """The folder that a Spark job wrote. Raises ResultUnusable."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        lines = [path.read_text(encoding="utf-8") for path in (folder / ABOUT).glob("part-*")]
        text = "".join(lines).strip()
        if not text:
            raise ResultUnusable(
                f"{folder} is no result of scrapy simdedup spark, or the job did not end: it has no"
                f" {ABOUT}"
            )
        self.about: dict[str, Any] = json.loads(text)
        if self.about["layout"] != LAYOUT:
            raise ResultUnusable(
                f"{folder} has layout {self.about['layout']}, this scrapy-simdedup reads {LAYOUT}"
            )

    def __len__(self) -> int:
        return int(self.about["originals"] + sum(self.about["pages"].values()))

    def rows(self, name: str) -> Iterator[dict[str, Any]]:
        """Return the rows of one of the result's tables, in order."""
        read = _parquet if self.about["format"] == "parquet" else _lines
        for path in sorted((self._folder / name).glob("part-*")):
            yield from read(path)


def _parquet(path: Path) -> Iterator[dict[str, Any]]:
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise ResultUnusable(
            f"PyArrow is not installed ({error}): pip install 'scrapy-simdedup[spark]'"
        ) from error
    with ParquetFile(path) as file:
        for batch in file.iter_batches(_CHUNK):
            yield from batch.to_pylist()


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rb") as lines:
        for line in lines:
            row = json.loads(line)
            for name in _BINARY:
                if row.get(name) is not None:
                    row[name] = base64.b64decode(row[name])
            yield row
