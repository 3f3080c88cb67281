"""The index against a brute-force model: any order of steps, two runs at once, and deaths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from model import Held, Logged, Page, Run
from scrapy_simdedup.deduplicator import Deduplicator
from stores import KINDS, Store
from test_index import BITS_ONLY, fingerprinted

URLS = [f"https://example.com/{letter}" for letter in "abc"]
# Families of fingerprints: around each centre some few bits apart, across the bands' borders.
CENTRES = (0x8C3A55F00D1E7B42, 0x0123456789ABCDEF, 0)
FLIPS = (0, 1, 1 << 63, 0b11, 0x0001000100010000, 0x8000000180000001, 0x00FF, 0x0F0F0F0F00000000)
VALUES = [centre ^ flips for centre in CENTRES for flips in FLIPS]
LIMITS = [0, 2, 3, 8]

urls, values, limits = st.sampled_from(URLS), st.sampled_from(VALUES), st.sampled_from(LIMITS)


class IndexAgainstModel(RuleBasedStateMachine):
    """All originals in a plain list, every one of which is compared with every new page."""

    claims = Bundle("claims")

    #: Makes the store that is tested.
    new: Callable[[], Store]

    @initialize()
    def begin(self) -> None:
        self.store = self.new()
        self.pages: list[Page] = []
        self.log: list[Logged] = []
        self.runs: list[Run] = []
        self.open()

    # What the rules do to the model.

    def drop(self, page: Page, *, orphans: bool) -> None:
        page.gone = True
        self.pages.remove(page)
        for later in self.pages:
            if later.replaces is page:
                later.replaces = page.replaces
        for entry in self.log:
            if entry.original is page:
                entry.status = "orphaned" if orphans else entry.status
                entry.original = None

    def reap(self) -> None:
        """What an opening does: claims of dead runs are released."""
        for page in [page for page in self.pages if not page.confirmed and not page.run.alive]:
            self.drop(page, orphans=True)

    def live(self) -> list[Run]:
        return [run for run in self.runs if run.alive]

    def chosen(self, number: int) -> Run:
        live = self.live()
        return live[number % len(live)]

    # Runs: at most two at once.

    @precondition(lambda self: len(self.live()) < 2)
    @rule()
    def open(self) -> None:
        run = Run(self.store.open(BITS_ONLY))
        self.reap()
        self.runs.append(run)

    @precondition(lambda self: self.live())
    @rule(how=st.sampled_from(["close", "die", "stop"]), number=st.integers(0, 1))
    def end(self, how: str, number: int) -> None:
        # One rule: claims must live for a while to become a case.
        {"close": self.close, "die": self.die, "stop": self.machine_stops}[how](number)

    def close(self, number: int) -> None:
        run = self.chosen(number)
        assert run.dedup is not None
        run.dedup.close()
        for page in [page for page in self.pages if page.run is run and not page.confirmed]:
            self.drop(page, orphans=True)
        run.dedup = None

    def die(self, number: int) -> None:
        """A process that is killed."""
        run = self.chosen(number)
        assert run.dedup is not None
        self.store.die(run.dedup)
        run.dedup = None

    def machine_stops(self, number: int) -> None:
        """All processes die at once."""
        self.store.stop([run.dedup for run in self.live() if run.dedup])
        for run in self.live():
            run.dedup = None

    # Judging.

    @precondition(lambda self: self.live())
    @rule(target=claims, number=st.integers(0, 1), url=urls, value=values, limit=limits)
    def judge(self, number: int, url: str, value: int, limit: int) -> Any:
        return self.judged(number, url, value, limit, confirm=False)

    @precondition(lambda self: self.live())
    @rule(number=st.integers(0, 1), url=urls, value=values, limit=limits)
    def judge_and_confirm(self, number: int, url: str, value: int, limit: int) -> None:
        self.judged(number, url, value, limit, confirm=True)

    @precondition(lambda self: self.live() and self.pages)
    @rule(target=claims, number=st.integers(0, 1), page=st.integers(0, 50))
    def revisit(self, number: int, page: int) -> Any:
        known = self.pages[page % len(self.pages)]
        return self.judged(number, known.url, known.value, 3, confirm=False)

    @precondition(lambda self: self.live() and self.pages)
    @rule(target=claims, number=st.integers(0, 1), page=st.integers(0, 50), value=values)
    def change(self, number: int, page: int, value: int) -> Any:
        return self.judged(number, self.pages[page % len(self.pages)].url, value, 0, confirm=False)

    def judged(self, number: int, url: str, value: int, limit: int, *, confirm: bool) -> Any:
        run = self.chosen(number)
        assert run.dedup is not None
        own = [page for page in self.pages if page.standing and page.url == url]
        same = [page for page in own if page.value == value]
        near = [
            ((page.value ^ value).bit_count(), at, page)
            for at, page in enumerate(self.pages)
            if page.standing and page.url != url
        ]
        nearest = min(near, default=(99, 0, None))
        config = run.dedup.config.override({"max_distance": limit})
        judgement = run.dedup.judge(
            run.dedup.page(url), fingerprinted(value), config, confirm=confirm
        )
        verdict, claim = judgement.verdict, judgement.claim
        if same:
            assert (verdict.status, verdict.changed) == ("revisit", False)
            page = same[0]
        elif nearest[0] <= limit:
            assert verdict.status == "duplicate"
            assert (verdict.distance, verdict.original) == (nearest[0], nearest[2].url)
            self.log.append(Logged(url, "duplicate", nearest[2]))
            assert claim is None
            return None
        else:
            assert verdict.status == ("revisit" if own else "unique")
            assert verdict.changed == bool(own)
            page = Page(url, value, run, own[-1] if own else None)
            self.pages.append(page)
            self.log.append(Logged(url, verdict.status, None))
        assert claim is not None
        assert claim.new == (not same)
        if confirm:
            self.confirmed(page, run) if claim.new else None
            return None
        return Held(claim, run, page)

    def confirmed(self, page: Page, run: Run) -> None:
        page.confirmed = True
        while page.replaces is not None:
            self.drop(page.replaces, orphans=False)

    # Settling; a claim may be settled twice, too late, or never.

    @rule(held=claims)
    def confirm(self, held: Held | None) -> None:
        self.settle(held, lambda dedup, claim: dedup.confirm([claim]).count, keep=True)

    @rule(held=claims)
    def release(self, held: Held | None) -> None:
        self.settle(held, lambda dedup, claim: dedup.release([claim]).count, keep=False)

    def settle(
        self, held: Held | None, act: Callable[[Deduplicator, Any], int], *, keep: bool
    ) -> None:
        if held is None or held.run.dedup is None:
            return
        count = act(held.run.dedup, held.claim)
        page = held.page
        if not held.claim.new:
            return
        assert count == int(not page.gone and not page.confirmed)
        if not count:
            return
        if keep:
            self.confirmed(page, held.run)
        else:
            self.drop(page, orphans=True)

    # What must be so after every step.

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        if not self.live():
            return
        rows = [(row.url, row.digest, row.confirmed) for row in self.store.held()]
        assert rows == [
            (page.url, page.value.to_bytes(16, "little"), page.confirmed) for page in self.pages
        ]
        log = self.store.asked("SELECT url, status FROM decisions ORDER BY id")
        assert log == [(entry.url, entry.status) for entry in self.log]
        assert self.store.wrong(["simhash"], settled=False) == []

    def teardown(self) -> None:
        for run in self.live():
            assert run.dedup is not None
            run.dedup.close()
        if self.runs:
            self.store.open(BITS_ONLY).close()
            assert self.store.wrong(["simhash"]) == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("examples", "steps"), [(20, 40), pytest.param(100, 80, marks=pytest.mark.slow)]
)
def test_index_against_model(new_store: Any, kind: str, examples: int, steps: int) -> None:
    machine = type("Machine", (IndexAgainstModel,), {"new": lambda _: new_store(kind)})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.parametrize("first", ["confirm", "release", "neither"])
def test_a_page_that_changes_twice_before_it_is_settled(store, first):
    """Only the text that is confirmed last stands for it, however the others end."""
    texts = [1, 1 << 20, 1 << 40]
    with store.open(BITS_ONLY) as dedup:

        def judge(name: str, value: int) -> Any:
            config = dedup.config.override({"max_distance": 0})
            return dedup.judge(dedup.page(name), fingerprinted(value), config)

        claims = [judge("page", texts[0]).claim]
        dedup.confirm(claims)
        claims += [judge("page", text).claim for text in texts[1:]]
        if first != "neither":
            getattr(dedup, first)([claims[1]])
        dedup.confirm([claims[2]])
        dedup.confirm([claims[1]])
        assert dedup.originals() == 1
        assert judge("another", texts[0]).verdict.status == "unique"
        assert judge("a copy", texts[2]).verdict.original == "page"
