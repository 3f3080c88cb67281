"""The Deduplicator: analyse, judge, settle; all of it without Scrapy."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from scrapy_simdedup.analysis import Analysis, Recipe, Source, analyse
from scrapy_simdedup.compare import Rules
from scrapy_simdedup.config import Config, unknown_settings
from scrapy_simdedup.digests import name_hash
from scrapy_simdedup.identity import identity_of, versions, written
from scrapy_simdedup.index.place import place_of
from scrapy_simdedup.index.records import Claim, Settled, Subject
from scrapy_simdedup.index.redis.address import is_address, masked
from scrapy_simdedup.judge import Judge, Judgement
from scrapy_simdedup.methods import SHORT_BANDS, rows_of
from scrapy_simdedup.methods.simhash import MOST_PAGES_32
from scrapy_simdedup.sites import space_of, stored_url
from scrapy_simdedup.text.normalise import clean
from scrapy_simdedup.upkeep import Keeper
from scrapy_simdedup.verdict import Verdict
from scrapy_simdedup.workers import verdict_on_failure

logger = logging.getLogger(__name__)

#: Where the log of decisions lies by default if the index is in Redis.
LOG_PATH = ".scrapy/simdedup/log.db"


class Deduplicator(Keeper):
    """Judges pages and texts against an index, and keeps a log that explains each decision.

    ``index`` is the path of the index file, which is made when it is missing, or the address of
    a Redis server; then ``log`` is the path of the file for the decisions. ``settings`` are
    ``SIMDEDUP_`` settings by name, or a checked :class:`~scrapy_simdedup.config.Config`. Raises
    ConfigError and IndexUnusable. Use it as a context manager, or close it. Safe to use from
    several threads; they take turns at judging.

    >>> with Deduplicator("index.db", {"SIMDEDUP_MAX_DISTANCE": 6}) as dedup:
    ...     verdict = dedup.check("https://example.com/a", html=body)
    """

    def __init__(
        self,
        index: str | Path,
        settings: Mapping[str, Any] | Config | None = None,
        *,
        spider: str = "",
        job: str = "",
        log: str | Path | None = None,
    ) -> None:
        if isinstance(settings, Config):
            self.config = settings
        else:
            settings = settings or {}
            for name, nearest in unknown_settings(settings).items():
                logger.warning("unknown setting %s%s", name, f": {nearest}?" if nearest else "")
            self.config = Config.from_settings(settings)
        if is_address(index):
            Config.from_settings({"SIMDEDUP_INDEX": str(index)})
            # Its password is not kept, and limits of a request are checked against what it can.
            self.config = replace(self.config, index=masked(str(index)))
        place = place_of(index, Path(log or LOG_PATH))
        self._index = place.open(
            identity_of(self.config),
            rows_of(self.config.methods),
            SHORT_BANDS,
            spider=clean(spider),
            job=job,
            settings=written(self.config),
            versions=json.dumps(versions()),
            cache=self.config.cache_mb << 20,
            max_age=self.config.max_age,
        )
        self._judge = Judge(self._index, store_text=self.config.store_text)
        self._turn = threading.RLock()
        self._open = True
        self._traced = False
        if self.config.hash_bits == 32 and self._index.size() > MOST_PAGES_32:
            logger.warning(
                "%s has more than %d pages: 32-bit fingerprints meet by chance there; start a new"
                " index with SIMDEDUP_HASH_BITS = 64",
                self.place,
                MOST_PAGES_32,
            )
        if self.reaped.orphans:
            logger.warning("%s", self.reaped.warning(self.path))
        if self.config.max_age and not is_address(index):
            # In Redis pages expire by themselves.
            self._prune_at_start(self.config.max_age)

    def __enter__(self) -> Deduplicator:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close("finished" if error is None else "failed")

    @property
    def path(self) -> Path:
        """The absolute path of the file with the log of decisions: the index file, if it is one."""
        return self._index.path

    @property
    def place(self) -> str:
        """Where the index is: its path, or its address without user and password."""
        return self._index.place

    @property
    def run(self) -> int:
        """The number of this run in the log of decisions."""
        return self._index.logged

    @property
    def reaped(self) -> Settled:
        """What earlier runs that died had left open, and was released at the start."""
        return self._index.reaped

    def originals(self) -> int:
        """Return how many pages and items the index holds."""
        with self._turn:
            return self._index.originals()

    @property
    def crowded_keys(self) -> int:
        """How often a look-up of this run left out a key that too many pages share."""
        return self._index.crowded_keys

    def close(self, reason: str = "finished") -> None:
        """Release what is still open, end the run and close the file. Idempotent."""
        with self._turn:
            if self._open:
                self._open = False
                self._index.close(reason)

    def page(self, url: str, names: Iterable[str | bytes] = (), body: bytes = b"") -> Subject:
        """Return the subject for a page.

        ``names`` are its requests' fingerprints, first first; ``body`` is the digest of its
        content as it came (:func:`~scrapy_simdedup.digests.content_digest`), by which it is
        recognised the next time.
        """
        return self._subject("page", url, "", names or (url,), body)

    def item(
        self, url: str, kind: str, key: str | bytes, body: bytes = b"", *, several: bool = False
    ) -> Subject:
        """Return the subject for an item of some kind (its class) that goes by ``key``."""
        return self._subject("item", url, f"item:{kind}", (key,), body, several=several)

    def _subject(
        self,
        kind: Literal["page", "item"],
        url: str,
        label: str,
        names: Iterable[str | bytes],
        body: bytes,
        *,
        several: bool = False,
    ) -> Subject:
        space = space_of(label, url, self.config.scope)
        identities = tuple(dict.fromkeys(map(name_hash, names)))
        return Subject(kind, stored_url(url), space, identities, several, body)

    def recipe(self, config: Config | None = None) -> Recipe:
        """Return what ``analyse`` needs to know of a config (of the deduplicator's own)."""
        return Recipe.of(config or self.config)

    def judge(
        self,
        subject: Subject,
        analysis: Analysis,
        config: Config | None = None,
        *,
        confirm: bool = False,
        tentative: bool = False,
    ) -> Judgement:
        """Judge an analysed page or item, claim it if it is kept, and log the decision.

        ``config`` may set other thresholds for this one; ``confirm`` settles the claim at once;
        ``tentative`` leaves a copy unlogged while its original's claim is open. An analysis
        with a reason is ``skipped``. Raises sqlite3.Error where the file cannot be written to.
        """
        rules = Rules.of(config or self.config)
        with self._turn:
            return self._judge.judge(subject, analysis, rules, confirm=confirm, tentative=tentative)

    def recall(
        self,
        subject: Subject,
        config: Config | None = None,
        *,
        confirm: bool = False,
        tentative: bool = False,
    ) -> Judgement | None:
        """Judge by the subject's body alone, where the index has met it; else return None.

        What it would come to with an analysis, without the cost of one. Arguments and errors
        are those of :meth:`judge`.
        """
        rules = Rules.of(config or self.config)
        with self._turn:
            return self._judge.recall(subject, rules, confirm=confirm, tentative=tentative)

    def knows(self, subject: Subject) -> bool:
        """Tell whether :meth:`recall` will probably judge a subject, without doing it."""
        with self._turn:
            return self._judge.knows(subject, Rules.of(self.config))

    @contextmanager
    def together(self) -> Iterator[None]:
        """Commit all that a block judges and settles at once, at its end, or nothing of it."""
        with self._turn, self._index.together():
            yield

    def note(self, subject: Subject, verdict: Verdict) -> None:
        """Log a verdict that needed no judging: skipped, or an error."""
        with self._turn:
            self._judge.skip(subject, verdict)

    def confirm(self, claims: Iterable[Claim]) -> Settled:
        """Settle claims: their pages are stored, and copies of them are duplicates for good."""
        with self._turn, self._index.write():
            settled = self._index.claims.confirm(claims)
            orphans = (*settled.orphans, *self._index.orphaned())
        return self._told(replace(settled, orphans=orphans))

    def release(self, claims: Iterable[Claim]) -> Settled:
        """Settle claims: their pages came to nothing, and the next copy will be kept.

        Copies that were refused because of them become ``orphaned``; one warning names them.
        """
        with self._turn, self._index.write():
            settled = self._index.claims.release(claims)
            orphans = (*settled.orphans, *self._index.orphaned())
        return self._told(replace(settled, orphans=orphans))

    def _told(self, settled: Settled) -> Settled:
        if settled.orphans:
            logger.warning("%s", settled.warning(self.path))
        return settled

    def release_open(self) -> Settled:
        """Release every claim of this run that is still open."""
        with self._turn:
            claims = self._index.claims.open_claims(self._index.run)
        return self.release(claims)

    def check(
        self,
        url: str,
        html: str | bytes | None = None,
        text: str | None = None,
        *,
        key: str | None = None,
    ) -> Verdict:
        """Judge one page by its HTML or its main text, and keep it at once if it is no copy.

        ``key`` is what makes it the same page another time, the URL by default. Bytes are
        decoded as UTF-8 where valid, else by ``meta``. A page that cannot be analysed gets the
        status ``error``. Raises ValueError unless just one of ``html`` and ``text`` is given.
        """
        if (html is None) == (text is None):
            raise ValueError("give either html or text")
        source = Source.of(html, text)
        subject = self.page(url, (key or url,), source.digest)
        known = self.recall(subject, confirm=True)
        if known is not None:
            return known.verdict
        try:
            analysis = analyse(source, self.recipe())
        except Exception as error:
            return self.failed(subject, error)
        return self.judge(subject, analysis, confirm=True).verdict

    def failed(self, subject: Subject, error: Exception) -> Verdict:
        """Log that a page could not be analysed, and return the verdict on it."""
        verdict = verdict_on_failure(error)
        if verdict.status == "skipped":
            logger.warning("%s %s", subject.url, error)
        else:
            # One traceback tells enough, where all pages may fail alike.
            trace, self._traced = None if self._traced else error, True
            kind = verdict.reason
            logger.error("cannot analyse %s (%s)", subject.url, kind, exc_info=trace)
        self.note(subject, verdict)
        return verdict
