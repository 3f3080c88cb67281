"""Why two pages are near-duplicates or not: every measure, its limit, and what would change it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scrapy_simdedup.compare import Rules
from scrapy_simdedup.config import Config
from scrapy_simdedup.logs.changes import Change, changes, shorter
from scrapy_simdedup.logs.pair import judge_pair
from scrapy_simdedup.logs.sides import Side, Told, told
from scrapy_simdedup.methods import METHODS, piecewise
from scrapy_simdedup.methods.base import Evidence, Limits
from scrapy_simdedup.methods.sketch import overlap


@dataclass(frozen=True)
class Segments:
    """Shared segments of the smaller page's, and how many are needed: ``least`` of ``most``."""

    shared: int
    smaller: int
    needed: int
    least: int
    most: int


@dataclass(frozen=True)
class Measures:
    """What a comparison found; None where the index does not store what it takes.

    ``estimated`` tells that resemblance and containment come from samples alone.
    """

    distance: int
    max_distance: int
    resemblance: float
    containment: float
    containment_of_kept: float | None
    new_parts: int | None
    estimated: bool
    segments: Segments | None
    numbers: float
    names: float


@dataclass(frozen=True)
class Explanation:
    """All that can be said of a new page held against a kept one.

    ``methods`` says of each chosen method whether it accepts the pair (None: its part of the
    signature is not stored), ``proposed_by`` which of them would look at the pair at all.
    ``verdict`` is ``duplicate`` (by ``method``; with a ``doubt`` it is never dropped),
    ``unique``, ``skipped``, or ``apart`` where the index never compares the two.
    """

    kept: Told
    new: Told
    equal_digest: bool
    limits: Limits
    measures: Measures | None
    methods: dict[str, bool | None]
    proposed_by: list[str]
    verdict: str
    method: str | None
    doubt: str | None
    changes: list[Change]


def explain(kept: Side, new: Side, config: Config) -> Explanation:
    """Hold a new page against a kept one, as a crawl with this config would.

    What a crawl knows besides is left out: keys that so many pages share that they propose
    none, and whether both are the same page at two times.
    """
    sides = (kept, new)
    head = told(kept), told(new), kept.digest == new.digest, config.limits
    if not all(side.signature for side in sides):
        nothing: dict[str, bool | None] = dict.fromkeys(config.methods)
        return Explanation(*head, None, nothing, [], "skipped", None, None, shorter(kept, new))
    stored = [
        name
        for name in config.methods
        if all(METHODS[name].part_name in side.signature for side in sides)
    ]
    usable = replace(config, methods=tuple(stored))
    found = judge_pair(kept, new, usable)
    apart = None not in (kept.space, new.space) and kept.space != new.space
    return Explanation(
        *head,
        _measures(kept, new, usable, found.evidence),
        {name: found.accepting.get(name) for name in config.methods},
        found.proposing,
        "apart" if apart else found.verdict,
        None if apart else found.method,
        new.doubt or ("other-text" if found.evidence.other_text else None),
        [] if apart else list(changes(kept, new, usable, found)),
    )


def _measures(kept: Side, new: Side, config: Config, evidence: Evidence) -> Measures:
    limits = config.limits
    fingerprint = Rules(config.methods, limits).fingerprint
    back = None
    if kept.analysis is not None:
        back = overlap(kept.analysis.shingles, new.signature["sketch"]).containment
    return Measures(
        evidence.distance,
        min(fingerprint.limit(limits, side.terms) for side in (kept, new)),
        evidence.resemblance,
        evidence.containment,
        back,
        None if new.analysis is None else evidence.new_parts,
        new.analysis is None,
        _segments(kept, new, limits),
        evidence.numbers,
        evidence.names,
    )


def _segments(kept: Side, new: Side, limits: Limits) -> Segments | None:
    parts = [side.signature.get("piecewise") for side in (new, kept)]
    if parts[0] is None or parts[1] is None:
        return None
    most, least = limits.segments
    common, smaller = piecewise.shared(parts[0], parts[1], most)
    return Segments(common, smaller, max(2, -(-least * smaller // most)), least, most)
