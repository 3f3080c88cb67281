"""Why two pages are near-duplicates or not: every measure, its limit, and what would change it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scrapy_simdedup.compare import Rules, evidence_of
from scrapy_simdedup.config import PREFIX, Config
from scrapy_simdedup.guards import facts
from scrapy_simdedup.index.bands import Scan
from scrapy_simdedup.index.records import Kept
from scrapy_simdedup.logs.sides import Side, Told, told
from scrapy_simdedup.methods import METHODS, piecewise
from scrapy_simdedup.methods.base import Evidence, Limits, Pair
from scrapy_simdedup.methods.simhash import distance
from scrapy_simdedup.methods.sketch import PARTS, Overlap, overlap, resembles, unpack_sketch


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
class Change:
    """A single setting that would turn the verdict into another one, and its nearest value."""

    setting: str
    value: float | list[int]
    verdict: str


@dataclass(frozen=True)
class Explanation:
    """All that can be said of a new page held against a kept one.

    ``methods`` says of each chosen method whether it accepts the pair (None: its part of the
    signature is not stored), ``proposed_by`` which of them would look at the pair at all.
    ``verdict`` is ``duplicate`` (by ``method``), ``unique`` or ``skipped``.
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
    changes: list[Change]


@dataclass(frozen=True)
class _Finding:
    evidence: Evidence
    accepting: dict[str, bool]
    proposing: list[str]
    method: str | None

    @property
    def verdict(self) -> str:
        return "duplicate" if self.method else "unique"


def explain(kept: Side, new: Side, config: Config) -> Explanation:
    """Hold a new page against a kept one, as a crawl with this config would.

    What a crawl knows besides is left out: keys that so many pages share that they propose
    none, and whether both are the same page at two times.
    """
    sides = (kept, new)
    head = told(kept), told(new), kept.digest == new.digest, config.limits
    if not all(side.signature for side in sides):
        nothing: dict[str, bool | None] = dict.fromkeys(config.methods)
        return Explanation(*head, None, nothing, [], "skipped", None, _shorter(kept, new))
    stored = [
        name
        for name in config.methods
        if all(METHODS[name].part_name in side.signature for side in sides)
    ]
    usable = replace(config, methods=tuple(stored))
    found = _judge(kept, new, usable)
    return Explanation(
        *head,
        _measures(kept, new, usable, found.evidence),
        {name: found.accepting.get(name) for name in config.methods},
        found.proposing,
        found.verdict,
        found.method,
        list(_changes(kept, new, usable, found)),
    )


def _judge(kept: Side, new: Side, config: Config) -> _Finding:
    limits = config.limits
    evidence = _evidence(kept, new, Rules(config.methods, limits))
    pair = Pair(new.signature, kept.signature, new.terms, kept.terms, evidence)
    accepting = {name: METHODS[name].accepts(pair, limits) for name in config.methods}
    proposing = [name for name in config.methods if _proposes(name, kept, new, limits)]
    method = None
    if proposing and evidence.agrees(limits):
        # Whoever proposed it, every method may accept it.
        method = next((name for name, accepts in accepting.items() if accepts), None)
    return _Finding(evidence, accepting, proposing, method)


def _evidence(kept: Side, new: Side, rules: Rules) -> Evidence:
    if new.analysis is not None:
        row = Kept(
            0, kept.name, 0, 0, True, (), b"", kept.digest, kept.terms, kept.signature, 0, False
        )
        return evidence_of(new.analysis, row, rules, shares=True)
    part = rules.fingerprint.part_name
    shared = _estimate(kept, new)
    return Evidence(
        distance(new.signature[part], kept.signature[part]),
        shared.resemblance,
        shared.containment,
        shared.new_parts,
        resembles(shared, rules.limits),
        *facts.shares(new.signature["facts"], kept.signature["facts"]),
    )


def _estimate(kept: Side, new: Side) -> Overlap:
    """Estimate how two pages overlap where of the new one only a sample is stored."""
    samples = [unpack_sketch(side.signature["sketch"]) for side in (kept, new)]
    sizes = [int(header["size"]) for header, _, _ in samples]
    if not all(sizes):
        return Overlap(0.0, 0.0, PARTS)
    if kept.analysis is not None:
        found = overlap(kept.analysis.shingles, new.signature["sketch"]).resemblance
        common = found / (1 + found) * sum(sizes)
    else:
        # Up to the smaller of both largest hashes both samples are complete, and one ends there.
        (header, _, tags), (_, _, others) = sorted(samples, key=lambda each: each[0]["largest"])
        common = float(np.isin(tags, others).mean()) * int(header["size"])
    common = min(common, *sizes)
    # Which parts are new cannot be told; as many as are not contained, were they whole ones.
    contained = common / sizes[1]
    return Overlap(common / (sum(sizes) - common), contained, int((1 - contained) * PARTS))


def _proposes(name: str, kept: Side, new: Side, limits: Limits) -> bool:
    """Tell whether a method would find the kept page in an index."""
    method = METHODS[name]
    part = new.signature[method.part_name]
    plan = method.plan(part, new.terms, limits, 1)
    rows = [
        (band, key, 0)
        for band, key in method.rows(kept.signature[method.part_name])
        if isinstance(plan, Scan)
        or any(each.band == band and each.low <= key <= each.high for each in plan.ranges)
    ]
    return bool(rows and method.pick(part, new.terms, limits, rows))


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


def _shorter(kept: Side, new: Side) -> list[Change]:
    """Return the limit by which no page of the two would be too short, where there is one."""
    reasons = {side.analysis.reason for side in (kept, new) if side.analysis} - {None}
    least = min(kept.terms, new.terms)
    if reasons != {"too-short"} or not least:
        return []
    return [Change(f"{PREFIX}MIN_TERMS", least, "judged")]


def _changes(kept: Side, new: Side, config: Config, found: _Finding) -> Iterator[Change]:
    """Try each limit by itself, in steps away from its value, until the verdict is another."""
    for name, values in _trials(kept, new, config, stricter=found.method is not None):
        for value in values:
            verdict = _judge(kept, new, config.override({name: value})).verdict
            if verdict != found.verdict:
                written = list(value) if isinstance(value, tuple) else value
                yield Change(PREFIX + name.upper(), written, verdict)
                break


def _trials(
    kept: Side, new: Side, config: Config, *, stricter: bool
) -> Iterator[tuple[str, list[Any]]]:
    """Return each limit with the values to try, the nearest first."""
    for name in ("min_resemblance", "min_containment", "numbers", "names"):
        yield name, _steps(getattr(config, name), up=stricter)
    bits = min(config.limits.distance_for(side.terms) for side in (kept, new))
    yield "max_distance", list(range(bits - 1, -1, -1) if stricter else range(bits + 1, 65))
    most, least = config.segments
    shares = range(least + 1, most + 1) if stricter else range(least - 1, 0, -1)
    yield "segments", [(most, each) for each in shares]
    yield "keyword_distance", _steps(config.keyword_distance, up=not stricter)


def _steps(start: float, *, up: bool) -> list[float]:
    """Return the hundredths above a limit, or below it, from the nearest to 1 or to 0."""
    hundredths = [each / 100 for each in range(101)]
    above = [each for each in hundredths if each > start]
    return above if up else [each for each in reversed(hundredths) if each < start]
