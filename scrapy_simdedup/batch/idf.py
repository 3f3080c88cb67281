"""The main texts of pages on disk, and the IDF table that they make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from scrapy_simdedup.analysis import extract_with
from scrapy_simdedup.batch.record import Record
from scrapy_simdedup.exceptions import SimDedupError
from scrapy_simdedup.output import whole
from scrapy_simdedup.text import idf
from scrapy_simdedup.text.document import Shape
from scrapy_simdedup.text.extract import decode


class TableUnusable(SimDedupError):
    """A table cannot be made, or would weigh nothing."""


@dataclass(frozen=True)
class Made:
    """How many texts were counted, and how many terms the table holds."""

    texts: int
    terms: int


class Texts:
    """The main texts of records, once; ``left_out`` counts by its reason what has none."""

    def __init__(
        self, records: Iterable[Record], extractor: str, left_out: Counter[str] | None = None
    ) -> None:
        self._records = records
        self._extractor = extractor
        self.left_out: Counter[str] = Counter() if left_out is None else left_out

    def __iter__(self) -> Iterator[str]:
        for record in self._records:
            text = self._text(record)
            if text.strip():
                yield text
            else:
                self.left_out[record.reason or "no-text"] += 1

    def _text(self, record: Record) -> str:
        if record.html is None:
            return record.text or ""
        html = decode(record.html) if isinstance(record.html, bytes) else record.html
        try:
            return extract_with(html, self._extractor).text
        except Exception:
            # As in a scan: a page that breaks the extractor does not stop the others.
            return ""


def build_table(texts: Iterable[str], path: Path, shape: Shape | None = None) -> Made:
    """Write the IDF table of some texts, whole or not at all.

    Raises Unwritable, and TableUnusable where the texts are too few or too much alike to tell
    rare terms from common ones.
    """
    with whole(path) as beside:
        number = idf.build(texts, beside, shape)
        try:
            table = idf.load(str(beside))
        except ValueError:
            raise TableUnusable(
                f"no table in {path}: {number} texts are too few, or too much alike, to tell"
                " rare terms from common ones"
            ) from None
    return Made(number, len(table.idf))
