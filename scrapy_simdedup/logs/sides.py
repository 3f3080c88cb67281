"""The two pages of an explanation: analysed from disk, or as an index stores them."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from scrapy_simdedup.analysis import Analysis, Recipe, Source, analyse, extract_with
from scrapy_simdedup.batch.record import Record
from scrapy_simdedup.config import Config
from scrapy_simdedup.exceptions import SimDedupError
from scrapy_simdedup.index.records import Signature, unpack
from scrapy_simdedup.methods import METHODS
from scrapy_simdedup.text.document import Document
from scrapy_simdedup.text.extract import decode, describe
from scrapy_simdedup.text.tfidf import heaviest

_MOST_KEYWORDS = 10


class NotFound(SimDedupError):
    """A page is neither a readable file nor in the index."""


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


@dataclass(frozen=True)
class Told:
    """What is told of one page by itself; None where there is none, or it is not stored."""

    name: str
    source: str
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


def stored_side(connection: sqlite3.Connection, url: str) -> Side:
    """Return what an index stores of a URL: of several rows the newest settled page.

    Raises NotFound, with what the log says of the URL.
    """
    row = connection.execute(
        # Pages lie in space 0 (unless the scope is the site), items elsewhere.
        "SELECT url, digest, terms, signature FROM pages WHERE url = ?"
        " ORDER BY space = 0 DESC, confirmed DESC, id DESC",
        (url,),
    ).fetchone()
    if row:
        return Side(row[0], row[1], row[2], unpack(row[3]))
    seen = connection.execute(
        "SELECT status, coalesce(original, reason, '') FROM decisions WHERE url = ?"
        " ORDER BY id DESC",
        (url,),
    ).fetchone()
    if seen is None:
        raise NotFound(f"{url} is neither a file nor in the index")
    raise NotFound(f"the index stores kept pages only, and {url} was judged: {' '.join(seen)}")


def told(side: Side) -> Told:
    """Return what is told of a page by itself."""
    if side.analysis is None or side.document is None:
        return Told(side.name, "index", None, None, side.terms, None, None, None)
    count = min(side.document.shape.keywords, _MOST_KEYWORDS)
    return Told(
        side.name,
        "file",
        len(side.document.raw),
        len(side.document.terms),
        side.terms,
        side.analysis.doubt,
        side.analysis.reason,
        [term for term, _ in heaviest(side.document, count)],
    )
