"""The two pages of an explanation: analysed from disk, or as an index stores them."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scrapy_simdedup.analysis import Analysis, Recipe, Source, analyse, extract_with
from scrapy_simdedup.batch.record import Record
from scrapy_simdedup.config import Config
from scrapy_simdedup.exceptions import SimDedupError
from scrapy_simdedup.index.records import Signature, unpack
from scrapy_simdedup.logs.export import newest_decision
from scrapy_simdedup.methods import METHODS
from scrapy_simdedup.sites import stored_url
from scrapy_simdedup.text.document import Document
from scrapy_simdedup.text.extract import decode, describe
from scrapy_simdedup.text.tfidf import heaviest

_MOST_KEYWORDS = 10

# How a row of the table ``pages`` is named where its URL does not tell it from others.
_ROW = re.compile(r"row:(\d{1,18})")


class NotFound(SimDedupError):
    """A page is neither a readable file nor in the index."""


class NotKept(NotFound):
    """A page is in the log of decisions alone; ``decision`` is the row that is asked for."""

    def __init__(self, decision: dict[str, Any]) -> None:
        self.decision = decision
        super().__init__(
            f"the index stores kept pages only, and the log says of {decision['url']}:"
            f" {says(decision)}"
        )


def says(decision: Mapping[str, Any]) -> str:
    """Return what the log says of a page that is not kept (any more), as the end of a sentence."""
    status, original, reason = decision["status"], decision["original"], decision["reason"]
    if status in ("unique", "revisit"):
        return f"{status}; it has been removed since, or was not stored after all"
    what = f" of {original}" if original else f": {reason}" if reason else ""
    removed = decision["original_removed"]
    return f"{status}{what}" + (f", which has been removed since ({removed})" if removed else "")


@dataclass(frozen=True)
class Row:
    """Where an index has a page: the number in its table, and how many more share its URL."""

    number: int
    space: int
    others: int
    confirmed: bool


@dataclass(frozen=True)
class Side:
    """One of two pages. ``analysis`` and ``document`` are None for one from an index.

    ``terms`` counts the distinct ones; the signature is empty where the page is skipped.
    """

    name: str
    digest: bytes
    terms: int
    signature: Signature
    analysis: Analysis | None = None
    document: Document | None = None
    row: Row | None = None

    @property
    def space(self) -> int | None:
        """What of the index it is compared with, None for a page from disk."""
        return None if self.row is None else self.row.space

    @property
    def doubt(self) -> str | None:
        """Why its extraction may be the wrong text."""
        return self.signature.get("doubt", b"").decode("ascii") or None


@dataclass(frozen=True)
class Told:
    """What is told of one page by itself; None where there is none, or it is not stored."""

    name: str
    source: str
    row: Row | None
    characters: int | None
    terms: int | None
    distinct_terms: int
    doubt: str | None
    skipped: str | None
    keywords: list[str] | None


def side_of(record: Record, config: Config) -> Side:
    """Analyse a page from disk, and sign it by every method there is."""
    html = decode(record.html) if isinstance(record.html, bytes) else record.html
    if html is None:
        text, about, source = record.text or "", "", Source(text=(record.text or "",))
    else:
        text, about = extract_with(html, config.extractor).text, describe(html)
        source = Source((html,))
    recipe = Recipe(config.extractor, tuple(METHODS), config.min_terms, config.shape)
    analysis = analyse(source, recipe)
    document = Document.from_text(text, about, config.shape)
    return Side(record.url, analysis.digest, analysis.terms, analysis.signature, analysis, document)


def stored_side(connection: sqlite3.Connection, name: str, other: str) -> Side:
    """Return what an index stores of a URL, or of a row that is named ``row:NUMBER``.

    Of several rows it is the newest settled page. Raises NotFound, and NotKept with what the
    log says of the URL, in view of ``other`` where it says that.
    """
    url = stored_url(name)
    row = _ROW.fullmatch(name)
    test = "id = ?" if row else "url = ?"
    rows = connection.execute(
        # Pages lie in space 0 (unless the scope is the site), items elsewhere.
        f"SELECT id, space, confirmed FROM pages WHERE {test}"  # noqa: S608  (one of two)
        " ORDER BY space = 0 DESC, confirmed DESC, id DESC",
        (int(row[1]) if row else url,),
    ).fetchall()
    if rows:
        number, space, confirmed = rows[0]
        url, digest, terms, signature = connection.execute(
            "SELECT url, digest, terms, signature FROM pages WHERE id = ?", (number,)
        ).fetchone()
        place = Row(number, space, len(rows) - 1, bool(confirmed))
        return Side(url, digest, terms, unpack(signature), row=place)
    decision = newest_decision(connection, url, stored_url(other))
    if decision is None:
        raise NotFound(f"{url} is neither a file nor in the index")
    raise NotKept(decision)


def told(side: Side) -> Told:
    """Return what is told of a page by itself."""
    if side.analysis is None or side.document is None:
        return Told(side.name, "index", side.row, None, None, side.terms, side.doubt, None, None)
    count = min(side.document.shape.keywords, _MOST_KEYWORDS)
    return Told(
        side.name,
        "file",
        None,
        len(side.document.raw),
        len(side.document.terms),
        side.terms,
        side.doubt,
        side.analysis.reason,
        [term for term, _ in heaviest(side.document, count)],
    )
