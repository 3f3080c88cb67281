"""The result of a Spark job, a folder that is read without Spark."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
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

_BINARY = ("body", "digest", "signature", "text")


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
        try:
            self.about: dict[str, Any] = json.loads(text)
            layout = self.about["layout"]
        except (ValueError, KeyError, TypeError) as error:
            raise ResultUnusable(f"{folder} has an {ABOUT} that cannot be read") from error
        if layout != LAYOUT:
            raise ResultUnusable(
                f"{folder} has layout {layout}, this scrapy-simdedup reads {LAYOUT}"
            )
        #: How many rows each table has.
        self.counts = {
            "texts": int(self.about["texts"]),
            "originals": int(self.about["originals"]),
            "decisions": sum(self.about["pages"].values()),
        }

    def __len__(self) -> int:
        return sum(self.counts.values())

    def rows(self, name: str) -> Iterator[dict[str, Any]]:
        """Return the rows of one of the result's tables, in order.

        Raises ResultUnusable, at the end where there are not as many as there were.
        """
        read = _parquet if self.about["format"] == "parquet" else _lines
        count = 0
        for path in sorted((self._folder / name).glob("part-*")):
            try:
                for row in read(path):
                    count += 1
                    yield row
            # PyArrow's own errors are among them.
            except (OSError, EOFError, ValueError, zlib.error) as error:
                raise ResultUnusable(f"{path} cannot be read: {error}") from error
        if count != self.counts[name]:
            raise ResultUnusable(
                f"{self._folder / name} holds {count} rows, and had {self.counts[name]}: files of"
                " it are missing"
            )


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
