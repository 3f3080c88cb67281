"""The job from end to end: a table of pages in, tables of decisions and originals out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from scrapy_simdedup.batch.spark import clusters, outcome
from scrapy_simdedup.batch.spark.frames import settled
from scrapy_simdedup.batch.spark.keys import keys
from scrapy_simdedup.batch.spark.pages import of_table
from scrapy_simdedup.batch.spark.pairs import propose
from scrapy_simdedup.batch.spark.rounds import Found, Rounds
from scrapy_simdedup.batch.spark.texts import Collapsed, collapse
from scrapy_simdedup.batch.spark.timeline import meetings
from scrapy_simdedup.batch.spark.verdicts import verdicts
from scrapy_simdedup.compare import Rules
from scrapy_simdedup.config import Config

# Beyond so many rounds it is told which pages wait for each other.
ROUNDS = 100


@dataclass(frozen=True)
class Deduplicated:
    """What became of a table of pages.

    ``decisions`` has a row for each page, in order, with the fields of ``scan`` and some more;
    ``originals`` the pages that an index would hold now, with their signatures; ``clusters``
    the originals that have copies; ``texts`` the main texts by their digests, if the settings
    say that texts are stored, else None. ``rounds`` is how many it took. ``full_keys`` counts the
    buckets of which not all kept texts were looked at: while it is 0, the decisions are those of
    ``scan``.
    """

    decisions: DataFrame
    originals: DataFrame
    clusters: DataFrame
    texts: DataFrame | None
    config: Config
    rounds: int
    full_keys: int
    _collapsed: Collapsed
    _found: Found

    @property
    def evidence(self) -> DataFrame:
        """Which texts were compared, ``new`` with ``old``, and what that found."""
        return self._found.evidence

    def components(self) -> DataFrame:
        """Return the judged pages with the connected component that each is in."""
        return clusters.components(self._collapsed.judged, self._found.evidence, ROUNDS)


def deduplicate(
    frame: DataFrame,
    settings: Mapping[str, Any] | Config | None = None,
    *,
    order: str | None = None,
    rounds: int = ROUNDS,
) -> Deduplicated:
    """Judge a table of pages as ``scan`` would judge them one after the other.

    ``frame`` has the columns ``url`` and ``html`` (string or binary) or ``text``; a page that
    has html is judged by that. ``order`` names the column that they are in the order of, else
    that is the order of the table. ``settings`` are ``SIMDEDUP_`` settings by name, or a checked
    config. Raises ValueError where a column is missing, ConfigError, and TooManyRounds where more
    than ``rounds`` pages in a row each depend on the one before.
    """
    config = settings if isinstance(settings, Config) else Config.from_settings(settings or {})
    return of_analysed(of_table(frame, config, order), config, rounds)


def of_analysed(analysed: DataFrame, config: Config, rounds: int = ROUNDS) -> Deduplicated:
    """Judge analysed pages."""
    rules = Rules.of(config)
    collapsed = collapse(analysed)
    proposed = propose(keys(collapsed.texts, rules, config.hash_bits))
    found = Rounds(collapsed.texts, proposed, rules, rounds).run(collapsed.judged)
    met = settled(meetings(collapsed.judged, found, rules))
    numbers = outcome.numbered(found.kept)
    decided = settled(outcome.decisions(collapsed.all, met, verdicts(met, rules), numbers, config))
    return Deduplicated(
        decided,
        outcome.originals(met, collapsed.texts, numbers),
        clusters.clusters(decided),
        collapsed.stored if config.store_text else None,
        config,
        found.rounds,
        proposed.crowds.full(found.kept) if proposed.crowds else 0,
        collapsed,
        found,
    )
