"""Whatever comes in whatever order: recalling bodies decides as analysing all of them does.

And a Redis server decides as a file does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_simdedup.analysis import Analysis, Recipe, Source, analyse
from scrapy_simdedup.deduplicator import Deduplicator
from scrapy_simdedup.judge import Judgement
from stores import KINDS, Store, log_of
from texts import reworded, story

TEXTS = {
    "story": story(1),
    "story reworded": reworded(story(1), 0.04),
    "other": story(2),
    "other, longer": story(2) + "\n\nThe gazette thanks the ferry crew for this report.",
    "short": "The ferry is late again today.",
    "empty": "",
}
# Two markups around each text.
BODIES = [f"{markup}|{text}" for text in TEXTS.values() for markup in "mn"]

URLS = ["/a", "/b", "/c"]
SETTINGS = {"SIMDEDUP_EXTRACTOR": "test_recall_property.after_the_bar"}
OVERRIDES: list[dict[str, Any]] = [{}, {"min_terms": 2}, {"min_resemblance": 0.98}]


def after_the_bar(html: str) -> str:
    """An extractor for the bodies above."""
    return html.partition("|")[2]


@lru_cache(maxsize=256)
def analysed(source: Source, recipe: Recipe) -> Analysis:
    return analyse(source, recipe)


class Forgetful(Deduplicator):
    """Recalls nothing."""

    def recall(self, *arguments: Any, **options: Any) -> None:
        return None


Kinds = list[tuple[type[Deduplicator], Store]]


class Twins:
    """Two indexes that must say the same of everything."""

    def __init__(self, kinds: Kinds, since: str) -> None:
        self.kinds = kinds
        self.since = since
        self.opened: list[Deduplicator] = []
        self.open_claims: list[Any] = []
        self.recalled = 0
        self.begin()

    def begin(self) -> None:
        self.end()
        config = {**SETTINGS, "SIMDEDUP_SINCE": self.since}
        for kind, store in self.kinds:
            self.opened.append(kind(store.index, config, log=store.log))

    def end(self) -> None:
        while self.opened:
            self.opened.pop().close()
        self.open_claims.clear()

    def visit(self, names: tuple[str, ...], body: str, override: dict, *, confirm: bool) -> None:
        digest = Source((body,)).digest
        self.judge(lambda d: d.page(names[-1], names, digest), body, override, confirm=confirm)

    def item(self, page: str, body: str, *, several: bool, confirm: bool) -> None:
        digest = Source((body,)).digest
        self.judge(
            lambda d: d.item(page, "dict", page, digest, several=several), body, {}, confirm=confirm
        )

    def judge(
        self, naming: Callable[[Deduplicator], Any], body: str, override: dict, *, confirm: bool
    ) -> None:
        found = [
            self.judged(dedup, naming(dedup), Source((body,)), override, confirm=confirm)
            for dedup in self.opened
        ]
        with_recall, without = map(self.told, found)
        assert with_recall == without
        if found[0].claim and not confirm:
            self.open_claims.append([each.claim for each in found])

    def judged(
        self, dedup: Deduplicator, subject: Any, source: Source, override: dict, *, confirm: bool
    ) -> Judgement:
        config = dedup.config.override(override)
        known = dedup.recall(subject, config, confirm=confirm)
        if known is not None:
            self.recalled += 1
            return known
        analysis = analysed(source, dedup.recipe(config))
        return dedup.judge(subject, analysis, config, confirm=confirm)

    def told(self, judgement: Judgement) -> tuple[Any, ...]:
        verdict = judgement.verdict
        original = verdict.original if verdict.is_duplicate else None
        claim = replace(judgement.claim, run=0) if judgement.claim else None
        return (verdict.status, verdict.reason, verdict.changed, original, claim)

    def go_on(self, step: tuple[Any, ...]) -> None:
        """Begin the next run, or settle one of the claims that are open."""
        if step[0] == "run":
            self.begin()
        elif self.open_claims:
            claims = self.open_claims.pop(step[1] % len(self.open_claims))
            for dedup, claim in zip(self.opened, claims, strict=True):
                (dedup.confirm if step[0] == "confirm" else dedup.release)([claim])

    def logs_agree(self) -> None:
        """The logs are the same but for measures of copies, which may come from the first time."""
        logs = [
            log_of(dedup)
            .connection.execute(
                "SELECT run, kind, url, status, reason, original, terms FROM decisions ORDER BY id"
            )
            .fetchall()
            for dedup in self.opened
        ]
        assert logs[0] == logs[1]


visits = st.tuples(
    st.just("visit"),
    st.sampled_from([None, None, "/old", "/older"]),
    st.sampled_from(URLS),
    st.sampled_from(BODIES),
    st.sampled_from([*[OVERRIDES[0]] * 3, *OVERRIDES[1:]]),
    st.booleans(),
)
settling = st.tuples(st.sampled_from(["confirm", "release"]), st.integers(0, 7))
page_steps = st.lists(
    st.one_of(visits, visits, visits, settling, st.just(("run",))), min_size=4, max_size=24
)


def twins_of(new_store: Callable[[str], Store], kind: str) -> Kinds:
    """Return one that recalls and one that does not; or ``both`` kinds of store, which recall."""
    if kind == "both":
        return [(Deduplicator, new_store(each)) for each in KINDS]
    return [(Deduplicator, new_store(kind)), (Forgetful, new_store(kind))]


@pytest.mark.parametrize("kind", [*KINDS, "both"])
@settings(max_examples=60, deadline=None)
@given(page_steps, st.sampled_from(["ever", "ever", "run"]))
def test_pages(new_store, kind, steps, since):
    twins = Twins(twins_of(new_store, kind), since)
    try:
        for step in steps:
            if step[0] == "visit":
                _, asked, url, body, override, confirm = step
                twins.visit((asked, url) if asked else (url,), body, override, confirm=confirm)
            else:
                twins.go_on(step)
        twins.logs_agree()
    finally:
        twins.end()


item_visits = st.tuples(
    st.just("visit"), st.sampled_from(URLS), st.sampled_from(BODIES), st.booleans()
)
item_steps = st.lists(
    st.one_of(item_visits, item_visits, item_visits, settling, st.just(("run",))),
    min_size=4,
    max_size=24,
)


@pytest.mark.parametrize("kind", [*KINDS, "both"])
@settings(max_examples=40, deadline=None)
@given(item_steps, st.booleans(), st.sampled_from(["ever", "ever", "run"]))
def test_items(new_store, kind, steps, several, since):
    twins = Twins(twins_of(new_store, kind), since)
    try:
        for step in steps:
            if step[0] == "visit":
                twins.item(step[1], step[2], several=several, confirm=step[3])
            else:
                twins.go_on(step)
        twins.logs_agree()
    finally:
        twins.end()


@pytest.mark.parametrize("kind", KINDS)
def test_the_twins_recall_at_all(new_store, kind):
    """Else the tests above would compare a thing with itself."""
    twins = Twins(twins_of(new_store, kind), "ever")
    try:
        for _ in range(2):
            for url, body in zip(URLS, (BODIES[0], BODIES[2], BODIES[8]), strict=True):
                twins.visit((url,), body, {}, confirm=True)
            twins.begin()
        assert twins.recalled == 3
    finally:
        twins.end()
