"""Disposing: a new page held against kept ones, and which of the methods call it a copy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from scrapy_simdedup.analysis import Analysis
from scrapy_simdedup.digests import name_hash
from scrapy_simdedup.guards import facts, rest
from scrapy_simdedup.index.records import Kept
from scrapy_simdedup.methods import METHODS
from scrapy_simdedup.methods.base import Evidence, Limits, Pair
from scrapy_simdedup.methods.simhash import Simhash, distance
from scrapy_simdedup.methods.sketch import Overlap, overlap, resembles

if TYPE_CHECKING:
    from scrapy_simdedup.config import Config


@dataclass(frozen=True)
class Rules:
    """What a judgement depends on besides the page.

    Methods, limits, whether only pages of this run are originals, and the fewest distinct
    terms of a text that is judged at all.
    """

    methods: tuple[str, ...]
    limits: Limits
    this_run_only: bool = False
    min_terms: int = 0

    @classmethod
    def of(cls, config: Config) -> Rules:
        """Return the rules that a config asks for."""
        return cls(config.methods, config.limits, config.since == "run", config.min_terms)

    @cached_property
    def number(self) -> int:
        """A 63-bit number for these rules: equal rules, equal numbers, in every process."""
        return name_hash(repr(self)) >> 1

    @property
    def fingerprint(self) -> Simhash:
        """The method whose distance is told: the first chosen one that has a fingerprint."""
        chosen = (METHODS[name] for name in (*self.methods, "simhash"))
        return next(method for method in chosen if isinstance(method, Simhash))


@dataclass(frozen=True)
class Compared:
    """A kept page, the evidence against it, and the method that accepts it, or None."""

    kept: Kept
    evidence: Evidence
    method: str | None


def evidence_of(analysis: Analysis, kept: Kept, rules: Rules, *, shares: bool = False) -> Evidence:
    """Compare a new page with a kept one; of equal texts nothing needs to be estimated.

    The shares of numbers and names are looked at where the limits ask for them, or ``shares``.
    """
    part = rules.fingerprint.part_name
    if analysis.digest == kept.digest:
        shared = Overlap(1.0, 1.0, 0)
    else:
        shared = overlap(analysis.shingles, kept.signature["sketch"])
    numbers = names = 1.0
    if rules.limits.guarded or shares:
        numbers, names = facts.shares(analysis.signature["facts"], kept.signature["facts"])
    return Evidence(
        distance(analysis.signature[part], kept.signature[part]),
        shared.resemblance,
        shared.containment,
        shared.new_parts,
        resembles(shared, rules.limits),
        numbers,
        names,
        rest.differs(analysis.signature["rest"], kept.signature["rest"]),
    )


def compare_all(analysis: Analysis, candidates: Sequence[Kept], rules: Rules) -> list[Compared]:
    """Compare a new page with candidates: the accepted ones come first, then the nearest."""
    return nearest_first([compare(analysis, kept, rules) for kept in candidates], rules)


def compare(analysis: Analysis, kept: Kept, rules: Rules) -> Compared:
    """Compare a new page with a kept one."""
    evidence = evidence_of(analysis, kept, rules)
    pair = Pair(analysis.signature, kept.signature, analysis.terms, kept.terms, evidence)
    return Compared(kept, evidence, _accepting(pair, rules))


def nearest_first(compared: Sequence[Compared], rules: Rules) -> list[Compared]:
    """Return the accepted ones first, then the nearest; of equally near ones the oldest."""

    def nearness(each: Compared) -> tuple[bool, float, int, int]:
        alike = -each.evidence.resemblance if rules.limits.verified else 0.0
        return each.method is None, alike, each.evidence.distance, each.kept.id

    return sorted(compared, key=nearness)


def _accepting(pair: Pair, rules: Rules) -> str | None:
    if not pair.evidence.agrees(rules.limits):
        return None
    accepting = (name for name in rules.methods if METHODS[name].accepts(pair, rules.limits))
    return next(accepting, None)
