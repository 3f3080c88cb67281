"""Judging a subject by its body alone, where the index has met that body before."""

from __future__ import annotations

from scrapy_simdedup.analysis import Analysis
from scrapy_simdedup.candidates import eligible, standing
from scrapy_simdedup.case import Case, Visit
from scrapy_simdedup.compare import Rules
from scrapy_simdedup.index.records import Subject
from scrapy_simdedup.index.store import Memory, Store
from scrapy_simdedup.judgement import Decided, Judgement, carry_out
from scrapy_simdedup.verdict import Verdict


class Recall:
    """Recalls what the index knows of bodies, inside its transactions.

    With ``store_text`` a body counts as known only where its text is stored: else it is
    analysed once more, and the text is stored then.
    """

    def __init__(self, index: Store, *, store_text: bool) -> None:
        self._index = index
        self._store_text = store_text

    def knows(self, subject: Subject, rules: Rules) -> bool:
        """Tell whether the index has met the subject's body, so that ``judge`` may judge it."""
        memory = self._index.recollect(subject, rules.number)
        if any(self._has_text(kept.digest) for kept in memory.equal()):
            return True
        before = memory.before()
        return before is not None and self._has_text(before.text)

    def judge(self, subject: Subject, rules: Rules) -> Decided | None:
        """Judge by the body, as ``Judge.recall`` says; None where an analysis is needed."""
        memory = self._index.recollect(subject, rules.number)
        return self._recognised(subject, rules, memory) or self._remembered(subject, rules, memory)

    def _has_text(self, digest: bytes | None) -> bool:
        return not self._store_text or self._index.texts.has(digest)

    def _recognised(self, subject: Subject, rules: Rules, memory: Memory) -> Decided | None:
        """Judge by the kept rows with the subject's body, as far as that goes."""
        index = self._index
        equal = standing(index, memory.equal())
        own = standing(index, memory.own())
        if not equal or equal[0].terms < rules.min_terms or not self._has_text(equal[0].digest):
            return None
        first = equal[0]
        if any(kept.digest != first.digest and index.is_alive(kept.seen) for kept in own):
            # To compare with what the page was a moment ago, its shingles are needed.
            return None
        mine = {kept.id for kept in own}
        others = [kept.id for kept in equal if kept.id not in mine]
        case = Case(
            index,
            subject,
            Analysis.of_kept(first.digest, first.terms, first.signature),
            rules,
            own,
            lambda: eligible(index, others, rules),
        )
        outcome = case.decide()
        if outcome is None or (rules.this_run_only and isinstance(outcome, Visit)):
            # Unequal pages of this run may be near.
            return None
        return Decided(carry_out(index, case, outcome), first.terms, first.digest)

    def _remembered(self, subject: Subject, rules: Rules, memory: Memory) -> Decided | None:
        """Judge as the log says a body was judged, if its original still stands."""
        index = self._index
        before = memory.before()
        if before is None or not self._has_text(before.text):
            return None
        if before.status == "skipped":
            return Decided(Judgement(Verdict("skipped", before.reason)), before.terms, before.text)
        if before.status != "duplicate" or before.original_page is None:
            return None
        originals = eligible(index, [before.original_page], rules)
        if not originals:
            return None
        original = originals[0]
        own = standing(index, memory.own())
        if any(kept.id == original.id or index.is_alive(kept.seen) for kept in own):
            # A page is no copy of its former self; and what it was a moment ago comes first.
            return None
        verdict = Verdict(
            "duplicate",
            before.reason,
            original.url,
            before.distance,
            before.resemblance,
            before.containment,
            before.method,
            original.url,
            before.max_distance,
        )
        judgement = Judgement(verdict, None, original.id, original_open=not original.settled)
        return Decided(judgement, before.terms, before.text)
