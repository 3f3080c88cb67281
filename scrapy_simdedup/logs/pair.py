"""A new page held against a kept one, as a crawl would: the evidence, and what methods say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scrapy_simdedup.compare import Rules, evidence_of
from scrapy_simdedup.config import Config
from scrapy_simdedup.guards import facts
from scrapy_simdedup.index.bands import Scan
from scrapy_simdedup.index.records import Kept
from scrapy_simdedup.logs.sides import Side
from scrapy_simdedup.methods import METHODS
from scrapy_simdedup.methods.base import Evidence, Limits, Pair
from scrapy_simdedup.methods.simhash import distance
from scrapy_simdedup.methods.sketch import PARTS, Overlap, overlap, resembles, unpack_sketch


@dataclass(frozen=True)
class Finding:
    """The evidence, which methods accept the pair and propose it, and which one decides."""

    evidence: Evidence
    accepting: dict[str, bool]
    proposing: list[str]
    method: str | None

    @property
    def verdict(self) -> str:
        """``duplicate`` or ``unique``."""
        return "duplicate" if self.method else "unique"


def judge_pair(kept: Side, new: Side, config: Config) -> Finding:
    """Judge two signed pages, of which both have the parts of all methods of the config."""
    limits = config.limits
    evidence = _evidence(kept, new, Rules(config.methods, limits))
    pair = Pair(new.signature, kept.signature, new.terms, kept.terms, evidence)
    accepting = {name: METHODS[name].accepts(pair, limits) for name in config.methods}
    proposing = [name for name in config.methods if _proposes(name, kept, new, limits)]
    method = None
    if proposing and evidence.agrees(limits):
        # Whoever proposed it, every method may accept it.
        method = next((name for name, accepts in accepting.items() if accepts), None)
    return Finding(evidence, accepting, proposing, method)


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
    sizes = [header.size for header, _, _ in samples]
    if not all(sizes):
        return Overlap(0.0, 0.0, PARTS)
    if kept.analysis is not None:
        found = overlap(kept.analysis.shingles, new.signature["sketch"]).resemblance
        common = found / (1 + found) * sum(sizes)
    else:
        # Up to the smaller of both largest hashes both samples are complete, and one ends there.
        (header, _, tags), (_, _, others) = sorted(samples, key=lambda each: each[0].largest)
        common = float(np.isin(tags, others).mean()) * header.size
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
        or any(at == band and low <= key <= high for at, low, high in plan.ranges)
    ]
    return bool(rows and method.pick(part, new.terms, limits, rows))
