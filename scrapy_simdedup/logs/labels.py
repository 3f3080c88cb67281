"""Labelled pairs of pages, and how well a limit on one measure agrees with them."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scrapy_simdedup.exceptions import SimDedupError
from scrapy_simdedup.sites import stored_url

_PAIRS = (("url", "original"), ("a", "b"))
_LABELS = ("duplicate", "distinct", "ambiguous")


class Untunable(SimDedupError):
    """A log or a file of labels says nothing to tune by."""


@dataclass(frozen=True)
class Labels:
    """Labels of unordered pairs; ``unlisted`` is what pairs count as that are not listed.

    ``ambiguous`` pairs count neither way.
    """

    pairs: Mapping[frozenset[str], str]
    unlisted: str

    def of(self, url: str, other: str | None) -> str:
        """Return the label of a pair."""
        return self.pairs.get(frozenset((url, other or "")), self.unlisted)


@dataclass(frozen=True)
class Case:
    """A judged page against the labels: does it copy a kept page, is its nearest page a copy."""

    row: Mapping[str, Any]
    wanted: bool
    nearest: str


@dataclass(frozen=True)
class Score:
    """How well calls of duplicate agree with the labels, from 0 to 1."""

    recall: float
    precision: float

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        both = self.recall + self.precision
        return 2 * self.recall * self.precision / both if both else 0.0


def read_labels(path: Path) -> Labels:
    """Read a TSV of labels. Raises Untunable where it has other columns or labels.

    With the columns url, original and label it is a sample, whose unlisted pairs do not count;
    with a, b, label (and how) it is complete, and unlisted pairs are distinct.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            table = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            header = table.fieldnames or ()
            names = next((pair for pair in _PAIRS if {*pair, "label"} <= {*header}), None)
            if names is None:
                raise Untunable(
                    f"{path} has neither the columns url, original, label nor a, b, label"
                )
            pairs = {}
            for row in table:
                label = (row["label"] or "").strip()
                if label not in _LABELS:
                    raise Untunable(
                        f"{path}, line {table.line_num}: the label is {label!r}, and not one of"
                        f" {', '.join(_LABELS)}"
                    )
                pairs[frozenset(stored_url(row[name] or "") for name in names)] = label
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise Untunable(f"cannot read {path}: {error}") from error
    return Labels(pairs, "ambiguous" if names == _PAIRS[0] else "distinct")


def cases(rows: Iterable[Mapping[str, Any]], labels: Labels) -> list[Case]:
    """Return the judged pages, in the order of the log, as the labels see them.

    A page is wanted as a copy when a page that was kept before it is labelled its duplicate. It
    cannot count as a wrong call when one of those is ambiguous.
    """
    partners: defaultdict[str, set[str]] = defaultdict(set)
    for pair in labels.pairs:
        for url in pair:
            partners[url] |= pair - {url}
    kept: set[str] = set()
    found = []
    for row in rows:
        url = row["url"]
        wanted = any(labels.of(url, other) == "duplicate" for other in partners[url] & kept)
        found.append(Case(row, wanted, labels.of(url, row["nearest"])))
        if row["status"] in ("unique", "revisit"):
            kept.add(url)
    return found


def score(judged: Iterable[Case], near: Callable[[Mapping[str, Any]], bool]) -> Score:
    """Return how well it agrees with the labels to call those pages copies that are ``near``."""
    hit = missed = false = 0
    for case in judged:
        called = near(case.row)
        right = called and case.nearest != "distinct"
        false += called and not right
        hit += right and case.wanted
        missed += case.wanted and not right
    recall = hit / (hit + missed) if hit + missed else 1.0
    precision = hit / (hit + false) if hit + false else 1.0
    return Score(recall, precision)
