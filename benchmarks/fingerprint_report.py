"""The passes of a run, and what they come to: figures by name, a table."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fingerprint_contests import PRODUCT, Contest
from fingerprint_texts import Batch
from tables import table

# What a peer's way is held against.
_OURS = {
    "sign": "sign",
    "sign_xxh3": "sign",
    "distinct": "sign",
    "shingles": "sketch",
    "text": "analyse",
}
_TOLD = {
    "normalise": "normalise",
    "segment": "segment",
    "weigh": "weigh",
    "sign": "sign weighted terms",
    "sketch": "sketch",
    "analyse": "analyse a text: all of the above, and its facts",
    "extract": "extract(fast=True), for comparison",
    "full": "analyse a page, extraction included",
    "sign_xxh3": "sign weighted terms, with XXH3",
    "distinct": "sign distinct terms, without weights",
    "shingles": "sign 3-shingles",
    "text": "sign a text, by its own features",
}


@dataclass
class Run:
    """The seconds of each pass, by contestant, way and language, and what else is told."""

    batches: list[Batch]
    seconds: dict[tuple[str, str, str], list[float]] = field(default_factory=dict)
    meta: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def time(self, contests: Sequence[Contest], repeat: int) -> None:
        """Let all contestants take turns, after a pass to warm up."""
        for turn in range(repeat + 1):
            started = time.monotonic()
            # Back and forth, so that nobody always runs after the same neighbour.
            for each in contests if turn % 2 else reversed(contests):
                took = each.run()
                if turn:
                    key = (each.who, each.what, each.language)
                    self.seconds.setdefault(key, []).append(took)
            told = f"repetition {turn}" if turn else "warm-up"
            print(f"{told}: {time.monotonic() - started:.1f} s", file=sys.stderr)

    def per_second(self, who: str, what: str, language: str) -> float:
        """Return the median of documents a second."""
        counted = {batch.language: len(batch.documents) for batch in self.batches}
        return counted[language] / statistics.median(self.seconds[who, what, language])

    def ratio(self, who: str, what: str, language: str) -> float:
        """Return how fast a peer's way is, ours being 1: the median over the repetitions."""
        ours = self.seconds[PRODUCT, _OURS[what], language]
        pairs = zip(ours, self.seconds[who, what, language], strict=True)
        return statistics.median(one / other for one, other in pairs)

    def over_extract(self, what: str, languages: Sequence[str]) -> float:
        """Return the time of ours over that of bare extraction, of the same pages."""

        def turns(way: str) -> list[float]:
            passes = (self.seconds[PRODUCT, way, language] for language in languages)
            return [sum(turn) for turn in zip(*passes, strict=True)]

        pairs = zip(turns(what), turns("extract"), strict=True)
        return statistics.median(own / bare for own, bare in pairs)


def figures(run: Run) -> dict[str, Any]:
    """Return documents a second by contestant; the plain one is of signing English terms."""
    found: dict[str, Any] = {}
    for who, what, language in run.seconds:
        of = found.setdefault(who, {})
        rate = run.per_second(who, what, language)
        of[f"{what}_{language}_per_second"] = rate
        if (what, language) == ("sign", "en"):
            of["per_second"] = rate
        if who != PRODUCT:
            of[f"{what}_{language}_ratio"] = run.ratio(who, what, language)
    found[PRODUCT] |= _over_extract(run)
    return {**found, "meta": run.meta}


def _over_extract(run: Run) -> dict[str, float]:
    languages = [batch.language for batch in run.batches if batch.pages]
    found = {}
    for what in ("analyse", "full") if languages else ():
        found[f"{what}_over_extract"] = run.over_extract(what, languages)
        for language in languages:
            found[f"{what}_over_extract_{language}"] = run.over_extract(what, [language])
    return found


def report(run: Run) -> str:
    """Return the table and the notes below it."""
    languages = [batch.language for batch in run.batches]
    rows: dict[tuple[str, str], list[str]] = {}
    for who, what, _ in run.seconds:
        shown = "trafilatura" if what == "extract" else _name(who)
        cells = [f"{shown}: {_TOLD[what]}"]
        for language in languages:
            known = (who, what, language) in run.seconds
            cells.append(f"{run.per_second(who, what, language):,.0f}" if known else "")
            held = known and who != PRODUCT
            cells.append(f"{run.ratio(who, what, language):.2f}" if held else "")
        rows[who, what] = cells
    head = ["documents a second"]
    for language in languages:
        head += [language, "ours = 1"]
    told = ", ".join(f"{name} {number}" for name, number in run.meta["versions"].items())
    notes = [
        f"{language}: {of['documents']} documents ({run.meta['source']}), medians"
        f" {of['characters']:.0f} characters, {of['terms']:.0f} terms,"
        f" {of['weighted_terms']:.0f} weighted; {of['left_out']} without text or too short"
        for language, of in run.meta["counts"].items()
    ]
    notes += [
        f"fingerprints equal to those of analyse: {_name(who)} {same} of {total}"
        for who, (same, total) in run.meta["equal_fingerprints"].items()
    ]
    notes += [f"{name}: {value:.3f}" for name, value in _over_extract(run).items()]
    listed = "\n".join(f"- {note}." for note in (*notes, *run.notes))
    return f"{told}\n\n{table(head, list(rows.values()))}\n\n{listed}"


def _name(who: str) -> str:
    return "scrapy-simdedup" if who == PRODUCT else who
