"""Which pages a subject may be a copy of: those that its methods propose, and that stand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scrapy_simdedup.analysis import Analysis
from scrapy_simdedup.compare import Rules
from scrapy_simdedup.index.bands import Row
from scrapy_simdedup.index.records import Kept
from scrapy_simdedup.index.store import Plans, Store
from scrapy_simdedup.methods import FIRST_BAND, METHODS


def plans(index: Store, analysis: Analysis, rules: Rules) -> Plans:
    """Return what each method looks up."""
    size = index.size()
    planned = []
    for name in rules.methods:
        method = METHODS[name]
        part = analysis.signature[method.part_name]
        plan = method.plan(part, analysis.terms, rules.limits, size)
        planned.append((FIRST_BAND[method.part_name], plan))
    return planned


def propose(analysis: Analysis, rules: Rules, found: Iterable[Sequence[Row]]) -> Iterable[int]:
    """Return the numbers of pages that the methods propose by the rows found, each once."""
    proposed: dict[int, None] = {}
    for name, rows in zip(rules.methods, found, strict=True):
        method = METHODS[name]
        part = analysis.signature[method.part_name]
        proposed.update(dict.fromkeys(method.pick(part, analysis.terms, rules.limits, rows)))
    return proposed


def eligible(index: Store, pages: Sequence[int], rules: Rules) -> list[Kept]:
    """Return those pages that stand, and are recent enough for the rules."""
    if not pages:
        return []
    kept = standing(index, index.pages.load(pages))
    if rules.this_run_only:
        return [each for each in kept if each.seen in index.job_runs]
    return kept


def standing(index: Store, rows: Iterable[Kept]) -> list[Kept]:
    """Return the rows that count: confirmed ones, and claims of live runs; none too old."""
    return [
        kept
        for kept in rows
        if (kept.confirmed or index.is_alive(kept.run)) and not index.is_old(kept.seen)
    ]
