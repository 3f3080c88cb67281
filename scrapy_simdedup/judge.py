"""``judge``: one atomic step in the index: propose, dispose, claim, log. Knows nothing of HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from scrapy_simdedup.analysis import Analysis
from scrapy_simdedup.case import Case, Copy, Visit
from scrapy_simdedup.compare import Compared, Rules
from scrapy_simdedup.index.records import Claim, Kept, NewPage, Subject
from scrapy_simdedup.index.sqlite import SqliteIndex
from scrapy_simdedup.methods import FIRST_BAND, METHODS
from scrapy_simdedup.verdict import Status, Verdict


@dataclass(frozen=True)
class Judgement:
    """A verdict, the claim that a unique or revisited page now holds, and whose copy it is.

    ``original_open`` tells that the verdict rests on a claim that may still be released;
    ``tentative`` that it was not logged for that reason.
    """

    verdict: Verdict
    claim: Claim | None = None
    original_page: int | None = None
    original_open: bool = False
    tentative: bool = False


class Judge:
    """Judges against one index by one set of rules."""

    def __init__(self, index: SqliteIndex) -> None:
        self._index = index

    def skip(self, subject: Subject, verdict: Verdict) -> None:
        """Log a verdict that needed no analysis: skipped pages and errors are not indexed."""
        with self._index.write():
            self._log(subject, verdict, None, None)

    def judge(
        self,
        subject: Subject,
        analysis: Analysis,
        rules: Rules,
        *,
        confirm: bool = False,
        tentative: bool = False,
    ) -> Judgement:
        """Look a page or item up and claim it if it is no copy, in one transaction.

        ``confirm`` settles the claim in the same step; ``tentative`` leaves no trace of a copy
        whose original is not settled yet. An analysis with a reason is skipped.
        """
        with self._index.write():
            if analysis.reason:
                judgement = Judgement(Verdict("skipped", analysis.reason))
            else:
                own = self._standing(self._index.pages.same(subject))
                excluded = {kept.id for kept in own}

                def candidates() -> Sequence[Kept]:
                    proposed = self._propose(subject, analysis, rules)
                    return self._eligible(
                        [page for page in proposed if page not in excluded], rules
                    )

                case = Case(self._index, subject, analysis, rules, own, candidates)
                judgement = self._decided(case) or self._keep(case)
            return self._finish(
                subject, judgement, rules, analysis.terms, confirm=confirm, tentative=tentative
            )

    def knows(self, subject: Subject, rules: Rules) -> bool:
        """Tell whether the index has met the subject's body, so that ``recall`` may judge it."""
        index = self._index
        return bool(index.pages.with_body(subject) or index.bodies.decision(subject, rules.number))

    def recall(
        self, subject: Subject, rules: Rules, *, confirm: bool = False, tentative: bool = False
    ) -> Judgement | None:
        """Judge a subject by its body alone, where the index has met that body before.

        It is then a page that is kept, seen again or copied, or what it was judged to be the
        last time. None where an analysis is needed after all. The verdict is the one that
        ``judge`` would come to, but for this: a copy stays a copy of the original that it had,
        even when a nearer one has come since.
        """
        index = self._index
        if not self.knows(subject, rules):
            # The usual case in a first crawl; it costs no transaction.
            return None
        with index.write():
            found = self._recognised(subject, rules) or self._remembered(subject, rules)
            if found is None:
                return None
            judgement, terms = found
            return self._finish(
                subject, judgement, rules, terms, confirm=confirm, tentative=tentative
            )

    def _recognised(self, subject: Subject, rules: Rules) -> tuple[Judgement, int] | None:
        """Judge by the kept rows with the subject's body, as far as that goes."""
        index = self._index
        equal = self._standing(index.pages.with_body(subject))
        own = self._standing(index.pages.same(subject))
        if not equal or equal[0].terms < rules.min_terms:
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
            lambda: self._eligible(others, rules),
        )
        outcome = case.decide()
        if outcome is None or (rules.this_run_only and isinstance(outcome, Visit)):
            # Unequal pages of this run may be near.
            return None
        return self._carry_out(case, outcome), first.terms

    def _remembered(self, subject: Subject, rules: Rules) -> tuple[Judgement, int | None] | None:
        """Judge as the log says a body was judged, if its original still stands."""
        index = self._index
        before = index.bodies.decision(subject, rules.number)
        if before is None:
            return None
        if before.status == "skipped":
            return Judgement(Verdict("skipped", before.reason)), before.terms
        if before.status != "duplicate" or before.original_page is None:
            return None
        originals = self._eligible([before.original_page], rules)
        if not originals:
            return None
        original = originals[0]
        own = self._standing(index.pages.same(subject))
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
        return judgement, before.terms

    def _finish(
        self,
        subject: Subject,
        judgement: Judgement,
        rules: Rules,
        terms: int | None,
        *,
        confirm: bool,
        tentative: bool,
    ) -> Judgement:
        """Log a judgement, remember what it rests on, and settle its claim if asked to."""
        if tentative and judgement.original_open:
            return replace(judgement, tentative=True)
        verdict = judgement.verdict
        if verdict.status != "revisit" or verdict.changed:
            # An unchanged revisit is counted in its row; the log has it already.
            decision = self._log(subject, verdict, judgement.original_page, terms)
            # "same-page" is about URLs: the body says nothing of it.
            if subject.body and not judgement.claim and verdict.method != "same-page":
                self._index.bodies.remember(subject, rules.number, decision)
        if confirm and judgement.claim:
            self._index.claims.confirm([judgement.claim])
        return judgement

    def _propose(self, subject: Subject, analysis: Analysis, rules: Rules) -> Iterable[int]:
        """Return the numbers of pages that the methods propose, each once."""
        index = self._index
        size = index.size()
        proposed: dict[int, None] = {}
        for name in rules.methods:
            method = METHODS[name]
            first, part = FIRST_BAND[method.part_name], analysis.signature[method.part_name]
            plan = method.plan(part, analysis.terms, rules.limits, size)
            found = index.find(subject.space, first, plan)
            proposed.update(dict.fromkeys(method.pick(part, analysis.terms, rules.limits, found)))
        return proposed

    def _eligible(self, pages: Sequence[int], rules: Rules) -> list[Kept]:
        """Return those pages that stand, and are recent enough for the rules."""
        if not pages:
            return []
        standing = self._standing(self._index.pages.load(pages))
        if rules.this_run_only:
            return [kept for kept in standing if kept.seen in self._index.job_runs]
        return standing

    def _standing(self, rows: Iterable[Kept]) -> list[Kept]:
        """Return the rows that count: confirmed ones, and claims of live runs."""
        return [kept for kept in rows if kept.confirmed or self._index.is_alive(kept.run)]

    def _decided(self, case: Case) -> Judgement | None:
        outcome = case.decide()
        return None if outcome is None else self._carry_out(case, outcome)

    def _carry_out(self, case: Case, outcome: Copy | Visit) -> Judgement:
        if isinstance(outcome, Visit):
            alone = case.rules.this_run_only
            claim = self._index.pages.visit(
                outcome.kept, case.subject, case.analysis.signature, alone=alone
            )
            return Judgement(Verdict("revisit"), claim)
        near = outcome.near
        verdict = verdict_on("duplicate", near, case.rules, case.analysis)
        return Judgement(verdict, None, near.kept.id, original_open=not near.kept.settled)

    def _keep(self, case: Case) -> Judgement:
        before, analysis = case.before, case.analysis
        claim = self._index.pages.insert(
            NewPage(
                case.subject,
                analysis.digest,
                analysis.terms,
                analysis.signature,
                before.id if before else None,
            )
        )
        near = case.compared[0] if case.compared else None
        return Judgement(
            verdict_on("revisit" if before else "unique", near, case.rules, analysis), claim
        )

    def _log(
        self, subject: Subject, verdict: Verdict, original_page: int | None, terms: int | None
    ) -> int:
        return self._index.log(
            [
                subject.kind,
                subject.url,
                verdict.status,
                verdict.reason,
                verdict.original,
                original_page,
                verdict.distance,
                verdict.max_distance,
                verdict.resemblance,
                verdict.containment,
                verdict.method,
                verdict.nearest,
                terms,
            ]
        )


def verdict_on(status: Status, near: Compared | None, rules: Rules, analysis: Analysis) -> Verdict:
    """Return the verdict on a page, and how near the nearest kept one is, if there is any."""
    # The limit that holds is the smaller one of the two texts'.
    lengths = [analysis.terms, near.kept.terms] if near else [analysis.terms]
    allowed = min(rules.fingerprint.limit(rules.limits, terms) for terms in lengths)
    changed = status == "revisit"
    if near is None:
        return Verdict(status, max_distance=allowed, changed=changed)
    return Verdict(
        status,
        reason=_doubt(near, analysis) if status == "duplicate" else None,
        original=near.kept.url if status == "duplicate" else None,
        distance=near.evidence.distance,
        resemblance=round(near.evidence.resemblance, 4),
        containment=round(near.evidence.containment, 4),
        method=near.method if status == "duplicate" else None,
        nearest=near.kept.url,
        max_distance=allowed,
        changed=changed,
    )


def _doubt(near: Compared, analysis: Analysis) -> str | None:
    """Return why a copy may be none: its extraction is doubtful, or the rest of it differs."""
    return analysis.doubt or ("other-text" if near.evidence.other_text else None)
