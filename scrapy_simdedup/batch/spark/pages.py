"""Pages of a table, analysed as ``scan`` does it: each in a worker that it may take down."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import numpy as np
import xxhash
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from scrapy_simdedup import workers
from scrapy_simdedup.analysis import Analysis, Recipe, Source
from scrapy_simdedup.batch.record import Record
from scrapy_simdedup.batch.spark.frames import signed, through
from scrapy_simdedup.config import Config
from scrapy_simdedup.digests import name_hash
from scrapy_simdedup.index.records import ABOUT, OF_MARKUP, Signature, pack
from scrapy_simdedup.sites import space_of, stored_url
from scrapy_simdedup.verdict import Verdict

# Beside ``place``, which is what the given order is by. A page without ``sameness`` was not
# analysed, or has too little text: ``status`` and ``reason`` say which. Pages of one sameness
# have all in common that methods compare. ``about`` and ``packed``, the main text, are there
# where texts are stored.
SCHEMA = (
    "url string, identity long, space long, body binary, status string, reason string, terms int,"
    " digest binary, packed binary, sameness binary, signature binary, shingles binary,"
    " rest binary, doubt string, about binary"
)

# Pages that are analysed ahead of the one that is handed on, and bodies that are remembered.
_AHEAD = 2
_REMEMBERED = 16

_TYPES = {"url": (StringType,), "html": (StringType, BinaryType), "text": (StringType,)}


def check_columns(frame: DataFrame) -> None:
    """Raise ValueError where a table cannot be one of pages."""
    found = {field.name: field.dataType for field in frame.schema.fields}
    if "url" not in found or not ("html" in found or "text" in found):
        raise ValueError(f"a table of pages has url and html or text, not {', '.join(found)}")
    for name, types in _TYPES.items():
        if name in found and not isinstance(found[name], types):
            raise ValueError(f"the column {name} is {found[name].simpleString()}")


def of_table(frame: DataFrame, config: Config, order: str | None) -> DataFrame:
    """Return the analysed pages of a table with ``url`` and ``html`` or ``text``.

    ``place`` is the column ``order``, and the place of a row in the table.
    """
    check_columns(frame)
    place = F.monotonically_increasing_id()
    if order is not None:
        place = F.struct(F.col(order).alias("asked"), place.alias("row"))
    given = [name for name in _TYPES if name in frame.columns]
    frame = frame.select(place.alias("place"), *given)
    wanted = frame.sparkSession.sparkContext.defaultParallelism
    if frame.rdd.getNumPartitions() < wanted:
        # A single file is one partition, but analysing takes all cores.
        frame = frame.repartition(4 * wanted)
    fields = StructType.fromDDL(SCHEMA).fields
    schema = StructType([StructField("place", frame.schema["place"].dataType), *fields])
    begun = _Analyser(config).begun
    return through(frame, lambda rows: begun((row["place"], _record(row)) for row in rows), schema)


def of_records(
    frame: DataFrame, config: Config, read: Callable[[Iterable[Row]], Iterable[Record]]
) -> DataFrame:
    """Return the analysed pages of what ``read`` makes of a table, in its order."""
    begun = _Analyser(config).begun

    def analysed(rows: Iterator[Row]) -> Iterator[tuple[Any, ...]]:
        for _, *columns in begun((0, record) for record in read(rows)):
            yield tuple(columns)

    made = through(frame, analysed, SCHEMA)
    return made.select(F.monotonically_increasing_id().alias("place"), "*")


def _record(row: Row) -> Record:
    values = row.asDict()
    url, html, text = (values.get(name) for name in ("url", "html", "text"))
    if url is None:
        return Record("", "", reason="no-url")
    if html is None and text is None:
        return Record(url, url, reason="no-field")
    content = bytes(html) if isinstance(html, bytearray) else html
    return Record(url, url, content, text)


@dataclass(frozen=True)
class _Page:
    """A page on its way: its digest where it has a content, and the analysis of that."""

    place: Any
    record: Record
    body: bytes = b""
    analysis: Future[Analysis] | None = None


class _Analyser:
    """Analyses the pages of a partition, a few ahead; knows again what came a moment ago."""

    def __init__(self, config: Config) -> None:
        self._recipe = Recipe.of(config)
        self._scope = config.scope
        self._timeout = config.timeout
        # Spark's own tasks use all cores; each has one worker.
        self._workers = min(1, config.workers)

    def begun(self, records: Iterable[tuple[Any, Record]]) -> Iterator[tuple[Any, ...]]:
        waiting: deque[_Page] = deque()
        recent: OrderedDict[bytes, Future[Analysis]] = OrderedDict()
        for place, record in records:
            waiting.append(self._begin(place, record, recent))
            if len(waiting) > _AHEAD:
                yield self._row(waiting.popleft())
        for page in waiting:
            yield self._row(page)

    def _begin(
        self, place: Any, record: Record, recent: OrderedDict[bytes, Future[Analysis]]
    ) -> _Page:
        if record.reason:
            return _Page(place, record)
        source = Source.of(record.html, record.text)
        body = source.digest
        analysis = recent.get(body)
        if analysis is None:
            analysis = workers.submit(
                lambda: source, self._recipe, workers=self._workers, timeout=self._timeout
            )
            recent[body] = analysis
            if len(recent) > _REMEMBERED:
                recent.popitem(last=False)
        else:
            recent.move_to_end(body)
        return _Page(place, record, body, analysis)

    def _row(self, page: _Page) -> tuple[Any, ...]:
        record = page.record
        named = (
            page.place,
            stored_url(record.url),
            signed(name_hash(record.key)),
            space_of("", record.url, self._scope),
        )
        verdict, analysis = Verdict("skipped", record.reason), None
        if page.analysis is not None:
            try:
                analysis = page.analysis.result()
                verdict = Verdict("skipped", analysis.reason)
            except Exception as error:
                verdict = workers.verdict_on_failure(error)
        if analysis is None:
            # Nothing was found out about the body: were it to come again, it would be tried again.
            return (*named, b"", verdict.status, verdict.reason, *[None] * 9)
        text = (analysis.terms, analysis.digest, analysis.text)
        if analysis.reason:
            return (*named, page.body, "skipped", analysis.reason, *text, *[None] * 6)
        around = (*OF_MARKUP, ABOUT)
        core = {k: part for k, part in analysis.signature.items() if k not in around}
        return (
            *(*named, page.body, None, None, *text),
            *(_sameness(named[-1], analysis.digest, core), pack(core)),
            analysis.shingles.astype("<u8").tobytes(),
            *(analysis.signature["rest"], analysis.doubt, analysis.signature.get(ABOUT)),
        )


def _sameness(space: int, digest: bytes, core: Signature) -> bytes:
    return xxhash.xxh3_128_digest(space.to_bytes(8, "little") + digest + pack(core))


def shingles_of(data: bytes) -> Any:
    """Return the shingles of a text, from their column."""
    return np.frombuffer(data, dtype="<u8")
