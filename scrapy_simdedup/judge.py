"""``judge``: one atomic step in the index: propose, dispose, claim, log. Knows nothing of HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from scrapy_simdedup.analysis import Analysis
from scrapy_simdedup.compare import Compared, Rules, compare_all, evidence_of
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

    def skip(self, subject: Subject, verdict: Verdict, terms: int | None = None) -> None:
        """Log a verdict that needs no look-up: skipped pages and errors are not indexed."""
        with self._index.write():
            self._log(subject, verdict, None, terms)

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
        whose original is not settled yet.
        """
        index = self._index
        with index.write():
            own = [kept for kept in index.pages.same(subject) if self._stands(kept)]
            if subject.kind == "page":
                judgement = self._page(subject, analysis, rules, own)
            else:
                judgement = self._item(subject, analysis, rules, own)
            if tentative and judgement.original_open:
                return replace(judgement, tentative=True)
            verdict = judgement.verdict
            if verdict.status != "revisit" or verdict.changed:
                # An unchanged revisit is counted in its row; the log has it already.
                self._log(subject, verdict, judgement.original_page, analysis.terms)
            if confirm and judgement.claim:
                index.claims.confirm([judgement.claim])
        return judgement

    def _page(
        self, subject: Subject, analysis: Analysis, rules: Rules, own: list[Kept]
    ) -> Judgement:
        asked = subject.identities[0]
        if own and all(kept.identities[0] != asked for kept in own):
            # Another request of this run led here already: a login page behind many links.
            here = [kept for kept in own if kept.seen == self._index.run]
            if here:
                return self._copy(
                    Compared(here[0], evidence_of(analysis, here[0], rules), "same-page"),
                    rules,
                    analysis,
                )
        unchanged = next((kept for kept in own if kept.digest == analysis.digest), None)
        if unchanged is not None and not rules.this_run_only:
            return self._visit(unchanged, subject, rules)
        compared = self._compare(subject, analysis, rules, own)
        if compared and compared[0].method:
            return self._copy(compared[0], rules, analysis)
        if unchanged is not None:
            return self._visit(unchanged, subject, rules)
        return self._keep(subject, analysis, rules, own[-1] if own else None, compared)

    def _item(
        self, subject: Subject, analysis: Analysis, rules: Rules, own: list[Kept]
    ) -> Judgement:
        near = [each for each in compare_all(analysis, own, rules) if each.method]
        current = [each for each in near if self._current(each.kept)]
        earlier = [each for each in near if not self._current(each.kept)]
        if current:
            return self._copy(current[0], rules, analysis)
        if earlier and earlier[0].kept.digest == analysis.digest and not rules.this_run_only:
            return self._visit(earlier[0].kept, subject, rules)
        compared = self._compare(subject, analysis, rules, own)
        if compared and compared[0].method:
            return self._copy(compared[0], rules, analysis)
        if earlier and earlier[0].kept.digest == analysis.digest:
            return self._visit(earlier[0].kept, subject, rules)
        before = earlier[0].kept if earlier else None
        if before is None and not subject.several:
            before = next((kept for kept in reversed(own) if not self._current(kept)), None)
        return self._keep(subject, analysis, rules, before, compared)

    def _compare(
        self, subject: Subject, analysis: Analysis, rules: Rules, own: Sequence[Kept]
    ) -> list[Compared]:
        """Return the candidates, accepted ones first, then the nearest."""
        index = self._index
        excluded = {kept.id for kept in own}
        proposed: dict[int, None] = {}
        for name in rules.methods:
            method = METHODS[name]
            first, part = FIRST_BAND[method.part_name], analysis.signature[method.part_name]
            plan = method.plan(part, analysis.terms, rules.limits, index.size())
            found = index.find(subject.space, first, plan)
            proposed.update(dict.fromkeys(method.pick(part, analysis.terms, rules.limits, found)))
        wanted = [page for page in proposed if page not in excluded]
        if not wanted:
            return []
        standing = [
            kept
            for kept in index.pages.load(wanted)
            if self._stands(kept) and (not rules.this_run_only or kept.seen in index.job_runs)
        ]
        return compare_all(analysis, standing, rules)

    def _stands(self, kept: Kept) -> bool:
        """Tell whether a row counts: it is confirmed, or its claim belongs to a live run."""
        return kept.confirmed or self._index.is_alive(kept.run)

    def _current(self, kept: Kept) -> bool:
        """Tell whether a row was met in this run, or in another one that is still going."""
        return self._index.is_alive(kept.seen)

    def _copy(self, near: Compared, rules: Rules, analysis: Analysis) -> Judgement:
        verdict = self._verdict("duplicate", near, rules, analysis)
        return Judgement(verdict, None, near.kept.id, original_open=not near.kept.settled)

    def _visit(self, kept: Kept, subject: Subject, rules: Rules) -> Judgement:
        claim = self._index.pages.visit(kept, subject, alone=rules.this_run_only)
        return Judgement(Verdict("revisit"), claim)

    def _keep(
        self,
        subject: Subject,
        analysis: Analysis,
        rules: Rules,
        before: Kept | None,
        compared: Sequence[Compared],
    ) -> Judgement:
        claim = self._index.pages.insert(
            NewPage(
                subject,
                analysis.digest,
                analysis.terms,
                analysis.signature,
                before.id if before else None,
            )
        )
        near = compared[0] if compared else None
        status: Status = "revisit" if before else "unique"
        verdict = self._verdict(status, near, rules, analysis)
        return Judgement(verdict, claim)

    def _verdict(
        self, status: Status, near: Compared | None, rules: Rules, analysis: Analysis
    ) -> Verdict:
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

    def _log(
        self, subject: Subject, verdict: Verdict, original_page: int | None, terms: int | None
    ) -> None:
        self._index.log(
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


def _doubt(near: Compared, analysis: Analysis) -> str | None:
    """Return why a copy may be none: its extraction is doubtful, or the rest of it differs."""
    return analysis.doubt or ("other-text" if near.evidence.other_text else None)
