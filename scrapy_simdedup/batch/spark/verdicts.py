"""The verdict on each page, as judging one after the other would have come to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import SimpleNamespace
from typing import Any

from pyspark.sql import DataFrame, Row

from scrapy_simdedup.analysis import Analysis
from scrapy_simdedup.batch.spark.frames import settled, through
from scrapy_simdedup.batch.spark.verify import kept
from scrapy_simdedup.case import Case, Copy, Visit
from scrapy_simdedup.compare import Compared, Rules, nearest_first
from scrapy_simdedup.index.records import Subject
from scrapy_simdedup.judgement import verdict_on
from scrapy_simdedup.methods.base import Evidence
from scrapy_simdedup.verdict import Status, Verdict

# ``near`` is the row that the verdict speaks of, ``since`` the page that it was found for: a
# body that comes again is judged by its digest, and what was found for it the first time stands.
SCHEMA = (
    "order long, status string, changed boolean, near long, since long, distance int,"
    " max_distance int, resemblance double, containment double, method string"
)

# The one run there is, in which everybody lives.
_INDEX: Any = SimpleNamespace(run=1, is_alive=lambda _: True)
_SUBJECT = Subject("page", "", 0, (0,))
_THIS, _OTHER = b"this text", b"another text"


def verdicts(meetings: DataFrame, rules: Rules) -> DataFrame:
    """Return the verdicts on judged pages, as far as they do not need other pages' columns."""
    together = meetings.select(
        *("text", "body", "order", "identity", "terms", "kept"),
        *("near", "own", "unchanged", "row", "renewed"),
    )
    in_order = together.repartition("text", "body").sortWithinPartitions("text", "body", "order")
    return settled(through(in_order, _judged(rules), SCHEMA))


@dataclass(frozen=True)
class _Told:
    """A verdict on a page, the row that it speaks of, and how long that stands."""

    verdict: Verdict
    since: int
    near: int | None = None
    until: int = 0


@dataclass
class _Body:
    """What is known of a body: which rows have it, up to where, and what it was a copy of."""

    key: tuple[int, bytes]
    rows: dict[int, int] = field(default_factory=dict)
    copy: _Told | None = None


class _Meeting(Case):
    """A page and the rows that stand when it comes, with what comparing them found."""

    def __init__(self, page: Row, rules: Rules, rows: Mapping[int, Row]) -> None:
        digest = _THIS if page["unchanged"] else _OTHER
        own = [] if page["own"] is None else [kept(page["own"], page["terms"], digest, {})]
        analysis = Analysis.of_kept(_THIS, page["terms"], {})
        super().__init__(_INDEX, _SUBJECT, analysis, rules, own, tuple)
        self.rows = rows

    @cached_property
    def compared(self) -> list[Compared]:
        """The rows, accepted ones first, then the nearest."""
        return nearest_first([_compared(row) for row in self.rows.values()], self.rules)


def _judged(rules: Rules) -> Callable[[Iterator[Row]], Iterable[tuple[Any, ...]]]:
    def judged(pages: Iterator[Row]) -> Iterable[tuple[Any, ...]]:
        body = _Body((-1, b""))
        for page in pages:
            key = page["text"], bytes(page["body"])
            if key != body.key:
                body = _Body(key)
            yield _columns(page["order"], _told(page, body, rules))

    return judged


def _columns(order: int, told: _Told) -> tuple[Any, ...]:
    verdict = told.verdict
    return (
        *(order, verdict.status, verdict.changed, told.near, told.since, verdict.distance),
        *(verdict.max_distance, verdict.resemblance, verdict.containment, verdict.method),
    )


def _told(page: Row, body: _Body, rules: Rules) -> _Told:
    order = page["order"]
    standing = {
        row["order"]: row
        for row in page["near"] or ()
        if row["order"] < order <= row["until"] and row["identity"] != page["identity"]
    }
    told = (
        _recognised(page, body, standing, rules)
        or _remembered(page, body)
        or _judged_anew(page, standing, rules)
    )
    if told.verdict.is_duplicate:
        body.copy = told
    if page["row"] is not None:
        body.rows[page["row"]] = page["renewed"]
    return told


def _recognised(page: Row, body: _Body, standing: Mapping[int, Row], rules: Rules) -> _Told | None:
    """Judge by the rows with the page's body, as far as ``Judge.recall`` does."""
    if not any(page["order"] <= renewed for renewed in body.rows.values()):
        return None
    if page["own"] is not None and not page["unchanged"]:
        return None
    equal = {
        number: row
        for number, row in standing.items()
        if page["order"] <= body.rows.get(number, -1)
    }
    meeting = _Meeting(page, rules, equal)
    outcome = meeting.decide()
    if outcome is None or (rules.this_run_only and isinstance(outcome, Visit)):
        return None
    return _met(page, meeting, outcome)


def _remembered(page: Row, body: _Body) -> _Told | None:
    """Judge as the body was judged before, if its original still stands."""
    copy = body.copy
    return copy if copy and page["own"] is None and page["order"] <= copy.until else None


def _judged_anew(page: Row, standing: Mapping[int, Row], rules: Rules) -> _Told:
    meeting = _Meeting(page, rules, standing)
    outcome = meeting.decide()
    if outcome is not None:
        return _met(page, meeting, outcome)
    near = meeting.compared[0] if meeting.compared else None
    status: Status = "revisit" if meeting.before else "unique"
    verdict = verdict_on(status, near, rules, meeting.analysis)
    return _Told(verdict, page["order"], near.kept.id if near else None)


def _met(page: Row, meeting: _Meeting, outcome: Copy | Visit) -> _Told:
    if isinstance(outcome, Visit):
        return _Told(Verdict("revisit"), page["order"])
    near = outcome.near
    verdict = verdict_on("duplicate", near, meeting.rules, meeting.analysis)
    return _Told(verdict, page["order"], near.kept.id, meeting.rows[near.kept.id]["until"])


def _compared(row: Row) -> Compared:
    evidence = Evidence(
        row["distance"],
        row["resemblance"],
        row["containment"],
        row["new_parts"],
        row["resembles"],
        row["numbers"],
        row["names"],
    )
    return Compared(kept(row["order"], row["old_terms"], _OTHER, {}), evidence, row["method"])
