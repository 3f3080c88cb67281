"""``judge``: one atomic step in the index: propose, dispose, claim, log. Knows nothing of HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scrapy_simdedup.analysis import Analysis
from scrapy_simdedup.candidates import eligible, plans, propose, standing
from scrapy_simdedup.case import Case
from scrapy_simdedup.compare import Rules
from scrapy_simdedup.index.records import Kept, Subject
from scrapy_simdedup.index.store import Store
from scrapy_simdedup.judgement import Decided, Judgement, carry_out, keep
from scrapy_simdedup.recall import Recall
from scrapy_simdedup.verdict import Verdict

__all__ = ["Judge", "Judgement"]


class Judge:
    """Judges against one index by one set of rules; ``store_text`` tells that texts are stored."""

    def __init__(self, index: Store, *, store_text: bool = False) -> None:
        self._index = index
        self._recall = Recall(index, store_text=store_text)
        #: Tell whether the index has met a subject's body, so that ``recall`` may judge it.
        self.knows = self._recall.knows

    def skip(self, subject: Subject, verdict: Verdict) -> None:
        """Log a verdict that needed no analysis: skipped pages and errors are not indexed."""
        with self._index.write():
            self._log(subject, Decided(Judgement(verdict), None, None))

    def judge(
        self,
        subject: Subject,
        analysis: Analysis,
        rules: Rules,
        *,
        confirm: bool = False,
        tentative: bool = False,
    ) -> Judgement:
        """Look a page or item up and claim it if it is no copy, in one step of the index.

        ``confirm`` settles the claim in the same step; ``tentative`` leaves no trace of a copy
        whose original is not settled yet. An analysis with a reason is skipped. A text that came
        with the analysis is stored.
        """

        def step() -> Judgement:
            judgement = self._judge(subject, analysis, rules)
            if tentative and judgement.original_open:
                return replace(judgement, tentative=True)
            if analysis.text is not None:
                self._index.texts.store(analysis.digest, analysis.text)
            found = Decided(judgement, analysis.terms, analysis.digest)
            return self._finish(subject, found, rules, confirm=confirm)

        return self._index.attempt(step)

    def recall(
        self, subject: Subject, rules: Rules, *, confirm: bool = False, tentative: bool = False
    ) -> Judgement | None:
        """Judge a subject by its body alone, where the index has met that body before.

        It is then a page that is kept, seen again or copied, or what it was judged to be the
        last time. None where an analysis is needed after all. The verdict is the one that
        ``judge`` would come to, but for this: a copy stays a copy of the original that it had,
        even when a nearer one has come since.
        """
        if not self.knows(subject, rules):
            # The usual case in a first crawl; it costs no transaction.
            return None

        def step() -> Judgement | None:
            found = self._recall.judge(subject, rules)
            if found is None:
                return None
            if tentative and found.judgement.original_open:
                return replace(found.judgement, tentative=True)
            return self._finish(subject, found, rules, confirm=confirm)

        return self._index.attempt(step)

    def _judge(self, subject: Subject, analysis: Analysis, rules: Rules) -> Judgement:
        if analysis.reason:
            return Judgement(Verdict("skipped", analysis.reason))
        index = self._index
        sight = index.look(subject, lambda: plans(index, analysis, rules))
        own = standing(index, sight.own())
        excluded = {kept.id for kept in own}

        def candidates() -> Sequence[Kept]:
            proposed = propose(analysis, rules, sight.rows())
            return eligible(index, [page for page in proposed if page not in excluded], rules)

        case = Case(index, subject, analysis, rules, own, candidates)
        outcome = case.decide()
        return keep(index, case) if outcome is None else carry_out(index, case, outcome)

    def _finish(
        self, subject: Subject, found: Decided, rules: Rules, *, confirm: bool
    ) -> Judgement:
        """Log a judgement, remember what it rests on, and settle its claim if asked to."""
        judgement = found.judgement
        verdict = judgement.verdict
        if verdict.status != "revisit" or verdict.changed:
            # An unchanged revisit is counted in its row; the log has it already.
            decision = self._log(subject, found)
            # "same-page" is about URLs: the body says nothing of it.
            if subject.body and not judgement.claim and verdict.method != "same-page":
                self._index.bodies.remember(subject, rules.number, decision)
        if confirm and judgement.claim:
            self._index.claims.confirm([judgement.claim])
        return judgement

    def _log(self, subject: Subject, found: Decided) -> int:
        verdict = found.judgement.verdict
        return self._index.log(
            [
                subject.kind,
                subject.url,
                verdict.status,
                verdict.reason,
                verdict.original,
                found.judgement.original_page,
                verdict.distance,
                verdict.max_distance,
                verdict.resemblance,
                verdict.containment,
                verdict.method,
                verdict.nearest,
                found.terms,
                found.text,
            ]
        )
