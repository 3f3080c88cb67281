"""The scorer: how well decisions, made page by page, agree with labelled pairs.

A page should be called a duplicate when a page that was kept before it is labelled its
duplicate, and should not when none is labelled duplicate or ambiguous. A page that is not
called a duplicate is kept, whatever else it is called. Naming a distinct page as the original
counts as false. So a contestant answers for its own originals, and copies of copies do not
count twice.
"""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Decision:
    """What a contestant said of a page; ``original`` is the name of the page it copies."""

    name: str
    status: str
    original: str | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Pairs:
    """Labels (``duplicate`` or ``ambiguous``) of pairs of page names, found from either page."""

    near: dict[str, dict[str, str]]

    @classmethod
    def read(cls, path: Path) -> Pairs:
        """Read a tab-separated file with the columns ``a``, ``b`` and ``label``."""
        near: defaultdict[str, dict[str, str]] = defaultdict(dict)
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                near[row["a"]][row["b"]] = row["label"]
                near[row["b"]][row["a"]] = row["label"]
        return cls(dict(near))

    @property
    def has_duplicates(self) -> bool:
        """Whether any pair is labelled duplicate."""
        return any("duplicate" in labels.values() for labels in self.near.values())


@dataclass(frozen=True)
class Score:
    """Counts of pages: rightly called duplicates, missed, falsely called, and skipped (why)."""

    pages: int
    hit: int
    missed: int
    false: int
    skipped: Counter[str] = field(default_factory=Counter)

    @property
    def recall(self) -> float:
        """The share of the pages to be called duplicates that were; 1 where there are none."""
        return self.hit / (self.hit + self.missed) if self.hit + self.missed else 1.0

    @property
    def precision(self) -> float:
        """The share of the pages called duplicates that rightly were; 1 where none was."""
        return self.hit / (self.hit + self.false) if self.hit + self.false else 1.0

    @property
    def f1(self) -> float:
        """The harmonic mean of recall and precision."""
        both = self.recall + self.precision
        return 2 * self.recall * self.precision / both if both else 0.0


def score(decisions: Iterable[Decision], pairs: Pairs) -> Score:
    """Score decisions in the order in which they were made."""
    kept: set[str] = set()
    skipped: Counter[str] = Counter()
    pages = hit = missed = false = 0
    for made in decisions:
        pages += 1
        labels = pairs.near.get(made.name, {})
        near = {other: label for other, label in labels.items() if other in kept}
        wanted = "duplicate" in near.values()
        found = False
        if made.status == "duplicate":
            found = made.original in near
            false += not found
            hit += found and wanted
        else:
            kept.add(made.name)
            if made.status not in ("unique", "revisit"):
                skipped[f"{made.status}: {made.reason}"] += 1
        missed += wanted and not found
    return Score(pages, hit, missed, false, skipped)


def mean(values: Sequence[float]) -> float:
    """Return the mean, 0 of nothing."""
    return sum(values) / len(values) if values else 0.0
