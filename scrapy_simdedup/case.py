"""One page or item before the judge: what the index knows of it, and what follows from that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from scrapy_simdedup.analysis import Analysis
from scrapy_simdedup.compare import Compared, Rules, compare_all, evidence_of
from scrapy_simdedup.index.records import Kept, Subject
from scrapy_simdedup.index.store import Store


@dataclass(frozen=True)
class Copy:
    """The subject is a near-duplicate of a kept page."""

    near: Compared


@dataclass(frozen=True)
class Visit:
    """The subject is a kept page, unchanged."""

    kept: Kept


class Case:
    """A subject with its analysis, its own rows in the index, and candidates for an original.

    ``candidates`` returns standing rows other than the subject's own; it is called when the
    decision needs them, once.
    """

    def __init__(
        self,
        index: Store,
        subject: Subject,
        analysis: Analysis,
        rules: Rules,
        own: Sequence[Kept],
        candidates: Callable[[], Sequence[Kept]],
    ) -> None:
        self.subject = subject
        self.analysis = analysis
        self.rules = rules
        self._index = index
        self._own = own
        self._candidates = candidates

    @cached_property
    def compared(self) -> list[Compared]:
        """The candidates, accepted ones first, then the nearest."""
        return compare_all(self.analysis, self._candidates(), self.rules)

    @property
    def before(self) -> Kept | None:
        """The row whose place the subject takes if it is kept: itself at an earlier time."""
        if self.subject.kind == "page":
            return self._own[-1] if self._own else None
        near = next((each.kept for each in self._own_near if not self._current(each.kept)), None)
        if near is None and not self.subject.several:
            near = next((kept for kept in reversed(self._own) if not self._current(kept)), None)
        return near

    def decide(self) -> Copy | Visit | None:
        """Return what the subject is; None for what is to be kept."""
        return self._page() if self.subject.kind == "page" else self._item()

    def _page(self) -> Copy | Visit | None:
        asked = self.subject.identities[0]
        if self._own and all(kept.identities[0] != asked for kept in self._own):
            # Another request of this run led here already: a login page behind many links.
            here = [kept for kept in self._own if kept.seen == self._index.run]
            if here:
                evidence = evidence_of(self.analysis, here[0], self.rules)
                return Copy(Compared(here[0], evidence, "same-page"))
        return self._again([kept for kept in self._own if self._unchanged(kept)])

    def _item(self) -> Copy | Visit | None:
        current = [each for each in self._own_near if self._current(each.kept)]
        if current:
            return Copy(current[0])
        earlier = [each.kept for each in self._own_near]
        return self._again([kept for kept in earlier[:1] if self._unchanged(kept)])

    def _again(self, unchanged: Sequence[Kept]) -> Copy | Visit | None:
        if unchanged and not self.rules.this_run_only:
            return Visit(unchanged[0])
        if self.compared and self.compared[0].method:
            return Copy(self.compared[0])
        return Visit(unchanged[0]) if unchanged else None

    @cached_property
    def _own_near(self) -> list[Compared]:
        return [each for each in compare_all(self.analysis, self._own, self.rules) if each.method]

    def _unchanged(self, kept: Kept) -> bool:
        return kept.digest == self.analysis.digest

    def _current(self, kept: Kept) -> bool:
        """Tell whether a row was met in this run, or in another one that is still going."""
        return self._index.is_alive(kept.seen)
