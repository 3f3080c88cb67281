"""Signing the pages of an index anew, from their stored texts, in place."""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from scrapy_simdedup import workers
from scrapy_simdedup.analysis import Analysis, Recipe, Source
from scrapy_simdedup.checks.finding import Progress
from scrapy_simdedup.config import Config
from scrapy_simdedup.exceptions import IndexUnusable
from scrapy_simdedup.index.claims import Claims
from scrapy_simdedup.index.pages import implied_rows, unpack_identities
from scrapy_simdedup.index.records import ABOUT, OF_MARKUP, Signature, pack, unpack
from scrapy_simdedup.index.upkeep import Removed, Upkeep
from scrapy_simdedup.methods import METHODS, rows_of
from scrapy_simdedup.methods.keywords import with_about
from scrapy_simdedup.text.packing import unpack as unpack_text

# Pages that are read at a time, and texts that are analysed ahead, for each worker.
_PAGES = 256
_AHEAD = 4

# A text may be worked on for so long at least: it was signed before, so nothing is wrong with it,
# and one that is not signed ends it all.
_SECONDS = 60.0

_KEYWORDS = METHODS["keywords-1"].part_name


@dataclass(frozen=True)
class _Page:
    """A page as it is stored; of its signature what does not come from its text."""

    id: int
    url: str
    space: int
    identities: tuple[int, ...]
    body: bytes
    digest: bytes
    kept: Signature
    text: str


class Resigning:
    """Signs all pages of a connection anew; with ``leave_out`` it removes those that it cannot.

    The ``bands`` table is written anew. The caller commits.
    """

    def __init__(self, connection: sqlite3.Connection, config: Config, *, leave_out: bool) -> None:
        self._connection = connection
        self._execute = connection.execute
        self._config = config
        self._leave_out = leave_out
        # A page that was kept stays so, however few terms its text has by now.
        self._recipe = Recipe(config.extractor, config.methods, 0, config.shape)
        self._rows_of = rows_of(config.methods)
        self._signed = 0
        self._refused: list[int] = []

    def run(self, progress: Progress) -> tuple[int, Removed]:
        """Return how many pages were signed, and what went with others. Raises IndexUnusable."""
        self._execute("CREATE TEMP TABLE fresh (band, key, page)")
        self._execute("CREATE TEMP TABLE renamed (old PRIMARY KEY, new) WITHOUT ROWID")
        total = self._execute("SELECT count(*) FROM pages").fetchone()[0]
        with progress("pages", total) as step:
            for page, analysis in self._analysed():
                self._store(page, analysis)
                step(1)
        self._execute("DELETE FROM bands")
        # In the order of the table, which is many times faster.
        self._execute(
            "INSERT OR IGNORE INTO bands SELECT band, key, page FROM temp.fresh"
            " ORDER BY band, key, page"
        )
        self._rename_texts()
        return self._signed, self._remove()

    def _analysed(self) -> Iterator[tuple[_Page, Future[Analysis]]]:
        waiting: deque[tuple[_Page, Future[Analysis]]] = deque()
        for page in self._pages():
            waiting.append((page, self._analyse(page)))
            if len(waiting) > _AHEAD * max(1, self._config.workers):
                yield waiting.popleft()
        yield from waiting

    def _analyse(self, page: _Page) -> Future[Analysis]:
        config = self._config
        return workers.submit(
            lambda: Source(text=(page.text,)),
            self._recipe,
            workers=config.workers,
            timeout=max(config.timeout, _SECONDS),
        )

    def _pages(self) -> Iterator[_Page]:
        """Return the pages in order, those left out excepted."""
        after = -1
        while True:
            rows = self._execute(
                "SELECT id, CAST(url AS BLOB), space, identities, body, pages.digest, signature,"
                " texts.text FROM pages LEFT JOIN texts USING (digest) WHERE id > ?"
                " ORDER BY id LIMIT ?",
                (after, _PAGES),
            ).fetchall()
            if not rows:
                return
            after = rows[-1][0]
            for row in rows:
                try:
                    yield _read(row)
                except (ValueError, TypeError) as error:
                    self._refuse(row[0], error)

    def _store(self, page: _Page, future: Future[Analysis]) -> None:
        try:
            analysis = future.result()
        except Exception as error:
            self._refuse(page.id, error)
            return
        if analysis.reason:
            self._refuse(page.id, ValueError(analysis.reason))
            return
        signature = {**analysis.signature, **page.kept}
        if _KEYWORDS in signature:
            signature[_KEYWORDS] = with_about(signature[_KEYWORDS], page.kept.get(ABOUT, b""))
        self._execute(
            "UPDATE pages SET digest = ?, terms = ?, signature = ? WHERE id = ?",
            (analysis.digest, analysis.terms, pack(signature), page.id),
        )
        self._connection.executemany(
            "INSERT INTO temp.fresh VALUES (?, ?, ?)",
            implied_rows(page.id, page.space, page.identities, page.body, signature, self._rows_of),
        )
        if analysis.digest != page.digest:
            names = (page.digest, analysis.digest)
            self._execute("INSERT OR IGNORE INTO temp.renamed VALUES (?, ?)", names)
        self._signed += 1

    def _refuse(self, page: int, error: Exception) -> None:
        """Leave a page out; raise IndexUnusable where that was not asked for."""
        if not self._leave_out:
            url = self._execute("SELECT url FROM pages WHERE id = ?", (page,)).fetchone()[0]
            raise IndexUnusable(
                f"page {page} ({url}) cannot be signed: {error}. --leave-out goes on without pages"
                " like it, which are then unknown."
            )
        self._refused.append(page)

    def _remove(self) -> Removed:
        """Remove the pages that are left out, as whoever looks after an index does."""

        def delete(page: int) -> None:
            # It has no rows by now.
            self._execute("DELETE FROM pages WHERE id = ?", (page,))

        claims = Claims(self._connection, 0, _nobody_runs, delete)
        upkeep = Upkeep(self._connection, nullcontext, claims, delete, _nobody_runs)
        return sum(upkeep.remove(self._refused), Removed()) if self._refused else Removed()

    def _rename_texts(self) -> None:
        """Give texts the digests that they have by now: another Unicode folds otherwise."""
        self._execute(
            "INSERT OR IGNORE INTO texts SELECT new, text FROM texts JOIN temp.renamed"
            " ON digest = old"
        )
        self._execute(
            "UPDATE decisions SET text = (SELECT new FROM temp.renamed WHERE old = text)"
            " WHERE text IN (SELECT old FROM temp.renamed)"
        )
        self._execute(
            "DELETE FROM texts WHERE digest IN (SELECT old FROM temp.renamed)"
            " AND digest NOT IN (SELECT digest FROM pages)"
        )


def _nobody_runs(_: int) -> bool:
    return False


def _read(row: tuple[Any, ...]) -> _Page:
    """Read a row. Raises ValueError or TypeError where it is damaged, or has no text."""
    number, url, space, identities, body, digest, signature, text = row
    if text is None:
        raise ValueError("its text is not stored")
    parts = unpack(signature)
    kept = {name: parts[name] for name in (*OF_MARKUP, ABOUT) if name in parts}
    return _Page(
        number,
        url.decode(),
        space,
        unpack_identities(identities),
        body,
        digest,
        kept,
        unpack_text(text),
    )
