"""Peers judge sets online, at their own limits and at the best one in hindsight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from labelled import JudgedPair, LabelledSet
from peers import PEERS, Peer
from scoring import Decision, Score, mean, score


@dataclass
class PeerRun:
    """What came of a peer: at each limit a score for each set, and which pages broke it."""

    peer: Peer
    scores: dict[Any, dict[str, Score]] = field(default_factory=dict)
    failed: int = 0

    @property
    def limits(self) -> list[Any]:
        """All limits: its own ones and the grid."""
        return list(dict.fromkeys([*(limit for _, limit in self.peer.defaults), *self.peer.grid]))

    def best_limit(self, labelled: Sequence[str]) -> Any:
        """Return the one limit with the highest mean F1 over the sets that have duplicates."""
        return max(
            self.limits, key=lambda limit: mean([self.scores[limit][name].f1 for name in labelled])
        )


def installed() -> tuple[list[Peer], list[str]]:
    """Return the peers that can be imported, and which ones cannot."""
    usable = [peer for peer in PEERS if find_spec(peer.needs)]
    return usable, [
        f"no row for {peer.name}: not installed" for peer in PEERS if peer not in usable
    ]


def run(peer: Peer, sets: Sequence[LabelledSet]) -> PeerRun:
    """Judge all sets at all limits.

    A Chinese set is judged by the peer's own features and by the words of scrapy-simdedup; at
    each limit the better of the two is taken.
    """
    made = PeerRun(peer)
    for pages in sets:
        choices = [None, pages.words] if pages.chinese else [None]
        for words in choices:
            signs, failed = signs_of(peer, pages.texts, words)
            made.failed += failed if words is None else 0
            for limit in made.limits:
                found = _score(peer, limit, signs, pages)
                at = made.scores.setdefault(limit, {})
                if pages.name not in at or _rank(found) > _rank(at[pages.name]):
                    at[pages.name] = found
    return made


def _rank(found: Score) -> tuple[float, int]:
    return found.f1, -found.false


def _score(peer: Peer, limit: Any, signs: Sequence[Any], pages: LabelledSet) -> Score:
    names = list(pages.pages)
    return score(
        (
            Decision(name, "unique")
            if original is None
            else Decision(name, "duplicate", names[original])
            for name, original in zip(names, judge(peer, limit, signs), strict=True)
        ),
        pages.pairs,
    )


def match_pairs(peer: Peer, pairs: Sequence[JudgedPair]) -> dict[Any, list[bool]]:
    """Tell, limit by limit, of each pair whether the peer calls it near in either order."""
    firsts, _ = signs_of(peer, [pair.texts[0] for pair in pairs], None)
    seconds, _ = signs_of(peer, [pair.texts[1] for pair in pairs], None)
    return {
        limit: [
            any(judge(peer, limit, order)[1] is not None for order in (both, both[::-1]))
            for both in zip(firsts, seconds, strict=True)
        ]
        for limit in PeerRun(peer).limits
    }


def judge(peer: Peer, limit: Any, signs: Sequence[Any]) -> list[int | None]:
    """Return, page by page, the number of the kept page it copies: the closest, then the first.

    A page without a sign (it has no text, or the peer failed on it) is neither judged nor kept.
    """
    index = peer.open(limit)
    originals: list[int | None] = []
    for number, sign in enumerate(signs):
        near = index.near(sign) if sign is not None else []
        originals.append(min(near, key=lambda each: (-each[0], each[1]))[1] if near else None)
        if sign is not None and not near:
            index.add(number, sign)
    return originals


def signs_of(
    peer: Peer, texts: Sequence[str], words: Sequence[list[str]] | None
) -> tuple[list[Any], int]:
    """Sign texts, by the peer's own features or by given words; also count its failures.

    The sign is None where there is no text or the peer fails.
    """
    signs, failed = [], 0
    for number, text in enumerate(texts):
        given = words[number] if words is not None else None
        sign = None
        if text.strip() and (given is None or given):
            try:
                sign = peer.sign(text, given)
            except OverflowError:
                # 1e0ng/simhash#74: a feature that occurs more than 255 times.
                failed += 1
        signs.append(sign)
    return signs, failed
