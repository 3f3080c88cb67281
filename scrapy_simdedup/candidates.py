"""Which pages a subject may be a copy of: those that its methods propose, and that stand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scrapy_simdedup.analysis import Analysis
from scrapy_simdedup.compare import Rules
from scrapy_simdedup.index.records import Kept, Subject
from scrapy_simdedup.index.sqlite import SqliteIndex
from scrapy_simdedup.methods import FIRST_BAND, METHODS


def propose(
    index: SqliteIndex, subject: Subject, analysis: Analysis, rules: Rules
) -> Iterable[int]:
    """Return the numbers of pages that the methods propose, each once."""
    size = index.size()
    proposed: dict[int, None] = {}
    for name in rules.methods:
        method = METHODS[name]
        first, part = FIRST_BAND[method.part_name], analysis.signature[method.part_name]
        plan = method.plan(part, analysis.terms, rules.limits, size)
        found = index.find(subject.space, first, plan)
        proposed.update(dict.fromkeys(method.pick(part, analysis.terms, rules.limits, found)))
    return proposed


def eligible(index: SqliteIndex, pages: Sequence[int], rules: Rules) -> list[Kept]:
    """Return those pages that stand, and are recent enough for the rules."""
    if not pages:
        return []
    kept = standing(index, index.pages.load(pages))
    if rules.this_run_only:
        return [each for each in kept if each.seen in index.job_runs]
    return kept


def standing(index: SqliteIndex, rows: Iterable[Kept]) -> list[Kept]:
    """Return the rows that count: confirmed ones, and claims of live runs; none too old."""
    return [
        kept
        for kept in rows
        if (kept.confirmed or index.is_alive(kept.run)) and not index.is_old(kept.seen)
    ]
