"""What judging comes to: a verdict, and the claim that goes with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from scrapy_simdedup.analysis import Analysis
from scrapy_simdedup.case import Case, Copy, Visit
from scrapy_simdedup.compare import Compared, Rules
from scrapy_simdedup.index.records import Claim, NewPage
from scrapy_simdedup.index.store import Store
from scrapy_simdedup.verdict import Status, Verdict


@dataclass(frozen=True)
class Judgement:
    """A verdict, the claim that a unique or revisited page now holds, and whose copy it is.

    ``original_open`` tells that the verdict (on a copy, or on a page that is seen again) rests on
    a claim that may still be released; ``tentative`` that it was not logged for that reason.
    """

    verdict: Verdict
    claim: Claim | None = None
    original_page: int | None = None
    original_open: bool = False
    tentative: bool = False


class Decided(NamedTuple):
    """A judgement, and what the log says besides: the text's distinct terms, and its digest."""

    judgement: Judgement
    terms: int | None
    text: bytes | None


def carry_out(index: Store, case: Case, outcome: Copy | Visit) -> Judgement:
    """Return the judgement on a copy, or on a page that is seen again and now claimed."""
    if isinstance(outcome, Visit):
        alone = case.rules.this_run_only
        claim = index.pages.visit(outcome.kept, case.subject, case.analysis.signature, alone=alone)
        return Judgement(Verdict("revisit"), claim, original_open=not outcome.kept.confirmed)
    near = outcome.near
    verdict = verdict_on("duplicate", near, case.rules, case.analysis)
    return Judgement(verdict, None, near.kept.id, original_open=not near.kept.settled)


def keep(index: Store, case: Case) -> Judgement:
    """Claim a row for what is no copy, and return the judgement."""
    before, analysis = case.before, case.analysis
    claim = index.pages.insert(
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
