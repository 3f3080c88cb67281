"""The pairs that people judged: each contestant at its own limit and at its best one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import online
import product
from labelled import JudgedPair
from peers import Peer
from product import Variant

Settings = Mapping[str, Any]

_BOTH: Sequence[Settings] = tuple(
    {"SIMDEDUP_MIN_RESEMBLANCE": resemblance, "SIMDEDUP_MIN_CONTAINMENT": containment}
    for resemblance, containment in (
        (0.1, 0.2),
        (0.2, 0.4),
        (0.4, 0.7),
        (0.5, 0.8),
        (0.6, 0.85),
        (0.7, 0.9),
        (0.8, 0.95),
    )
)
_BITS: Sequence[Settings] = tuple(
    {"SIMDEDUP_MAX_DISTANCE": bits} for bits in (0, 1, 2, 4, 6, 8, 10, 12)
)
_SEGMENTS: Sequence[Settings] = tuple(
    {"SIMDEDUP_SEGMENTS": pair} for pair in ((4, 2), (8, 2), (8, 4), (8, 6), (16, 8))
)
_KEYWORDS: Sequence[Settings] = tuple({"SIMDEDUP_KEYWORDS": count} for count in (5, 20, 50))


@dataclass(frozen=True)
class Found:
    """Counts of pairs, duplicates found, missed, and distinct ones that were called duplicates."""

    limit: str
    hit: int
    missed: int
    false: int

    @property
    def f1(self) -> float:
        """The harmonic mean of recall and precision."""
        return 2 * self.hit / (2 * self.hit + self.missed + self.false) if self.hit else 0.0

    @property
    def cells(self) -> list[str]:
        """Recall, precision and F1 for a table."""
        recall = self.hit / (self.hit + self.missed) if self.hit + self.missed else 1.0
        precision = self.hit / (self.hit + self.false) if self.hit + self.false else 1.0
        return [f"{recall:.3f} / {precision:.3f}", f"{self.f1:.3f}"]


@dataclass(frozen=True)
class HumanRow:
    """A contestant at its own limit and at the best limit in hindsight."""

    name: str
    own: Found
    best: Found

    @property
    def cells(self) -> list[str]:
        """The row of the table."""
        return [self.name, *self.own.cells, *self.best.cells, self.best.limit]


HEAD = ["", "own limit", "F1", "best limit in hindsight", "F1", "which"]


def product_row(variant: Variant, pairs: Sequence[JudgedPair]) -> HumanRow:
    """Judge the pairs by settings of scrapy-simdedup, and by other limits on top of them."""
    tried = [("default", variant)]
    for more in _grid(variant):
        other = Variant(variant.name, {**variant.settings, **more})
        if other.usable:
            told = ", ".join(f"{name[9:].lower()} {value}" for name, value in more.items())
            tried.append((told, other))
    found = [_count(told, product.match_pairs(list(pairs), each), pairs) for told, each in tried]
    return HumanRow(variant.name, found[0], max(found, key=lambda each: each.f1))


def peer_rows(peer: Peer, pairs: Sequence[JudgedPair]) -> list[HumanRow]:
    """Judge the pairs by a peer, at each of its own limits and at all of the grid."""
    found = {
        limit: _count(f"{limit}", matched, pairs)
        for limit, matched in online.match_pairs(peer, pairs).items()
    }
    best = max(found.values(), key=lambda each: each.f1)
    return [HumanRow(f"{peer.name}, {told}", found[limit], best) for told, limit in peer.defaults]


def _grid(variant: Variant) -> Sequence[Settings]:
    methods = variant.settings.get("SIMDEDUP_METHODS", ["sketch"])
    if methods in (["simhash"], ["classic"]):
        return _BITS
    if methods == ["piecewise"]:
        return _SEGMENTS
    return _BOTH if methods == ["sketch"] else _KEYWORDS


def _count(limit: str, matched: Sequence[bool], pairs: Sequence[JudgedPair]) -> Found:
    judged = [(found, pair.duplicate) for found, pair in zip(matched, pairs, strict=True)]
    return Found(
        limit,
        judged.count((True, True)),
        judged.count((False, True)),
        judged.count((True, False)),
    )
