"""The index against a brute-force model: any order of steps, two runs at once, and deaths."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
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
from scrapy_simdedup.index import ages
from scrapy_simdedup.index.upkeep import Removed
from scrapy_simdedup.upkeep import looked_after
from stores import KINDS, Store
from test_index import BITS_ONLY, fingerprinted

URLS = [f"https://example.com/{letter}" for letter in "abc"]
# Families of fingerprints: around each centre some few bits apart, across the bands' borders.
CENTRES = (0x8C3A55F00D1E7B42, 0x0123456789ABCDEF, 0)
FLIPS = (0, 1, 1 << 63, 0b11, 0x0001000100010000, 0x8000000180000001, 0x00FF, 0x0F0F0F0F00000000)
VALUES = [centre ^ flips for centre in CENTRES for flips in FLIPS]
LIMITS = [0, 2, 3, 8]

# Days after which a page is too old, and that pass at a time: no age is near the limit.
OLD, PASS = 30, 40

urls, values, limits = st.sampled_from(URLS), st.sampled_from(VALUES), st.sampled_from(LIMITS)


class IndexAgainstModel(RuleBasedStateMachine):
    """All originals in a plain list, every one of which is compared with every new page."""

    claims = Bundle("claims")

    #: Makes the store that is tested.
    new: Callable[[], Store]

    @initialize()
    def begin(self) -> None:
        self.store = self.new()
        #: In Redis pages grow old by the server's clock, and nobody works beside all runs.
        self.is_file = self.store.kind == "sqlite"
        self.pages: list[Page] = []
        self.log: list[Logged] = []
        self.runs: list[Run] = []
        self.day = 0
        self.clock = ages._clock
        ages._clock = lambda: datetime.now(timezone.utc) + timedelta(days=self.day)
        self.open(aged=False)

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

    def settle_all_of(self, run: Run) -> None:
        """What the end of a run does: claims that are still open are released."""
        for page in [page for page in self.pages if page.run is run and not page.confirmed]:
            self.drop(page, orphans=True)
        for page in self.pages:
            if page.seen is run:
                self.forget_visit(page)

    def forget_visit(self, page: Page) -> None:
        page.seen, page.previous = page.previous or page.seen, None

    def reap(self) -> None:
        """What an opening does: runs that died are ended."""
        for run in self.runs:
            if not run.alive and run.ended is None:
                run.ended = run.sign
                self.settle_all_of(run)

    def take_out(self, page: Page) -> Removed:
        """What a removal does: open claims are released, and the log says what went."""
        copies = [entry for entry in self.log if entry.original is page]
        refused = [entry for entry in copies if entry.status == "duplicate"]
        self.drop(page, orphans=not page.confirmed)
        for entry in copies:
            entry.removed = True
        count = len(refused)
        return Removed(1, count) if page.confirmed else Removed(1, orphans=(None,) * count)

    def old(self) -> list[Run]:
        """The runs of which a prune says that they ended long ago."""
        over = [(run, run.sign if run.ended is None else run.ended) for run in self.runs]
        return [run for run, end in over if not run.alive and end < self.day - OLD]

    def counts(self, page: Page, run: Run) -> bool:
        aged = run.aged and page.seen.ended is not None and page.seen.ended < self.day - OLD
        return page.standing and not aged

    def live(self) -> list[Run]:
        return [run for run in self.runs if run.alive]

    def chosen(self, number: int) -> Run:
        live = self.live()
        return live[number % len(live)]

    # Runs: at most two at once.

    @precondition(lambda self: len(self.live()) < 2)
    @rule(aged=st.booleans())
    def open(self, aged: bool) -> None:
        aged = aged and self.is_file
        settings = {**BITS_ONLY, "SIMDEDUP_MAX_AGE": f"{OLD}d" if aged else ""}
        dedup = self.store.open(settings)
        self.reap()
        if aged:
            self.pruned()
        self.runs.append(Run(dedup, dedup._index.run, self.day, aged))

    @precondition(lambda self: self.live())
    @rule(
        how=st.sampled_from(["close", "die", "stop"]),
        number=st.integers(0, 1),
        long_ago=st.booleans(),
    )
    def end(self, how: str, number: int, long_ago: bool) -> None:
        # One rule: claims must live for a while to become a case.
        {"close": self.close, "die": self.die, "stop": self.machine_stops}[how](number)
        self.day += PASS if long_ago else 0

    def close(self, number: int) -> None:
        run = self.chosen(number)
        assert run.dedup is not None
        run.dedup.close()
        run.dedup, run.ended = None, self.day
        self.settle_all_of(run)

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
        own = [page for page in self.pages if self.counts(page, run) and page.url == url]
        same = [page for page in own if page.value == value]
        near = [
            ((page.value ^ value).bit_count(), at, page)
            for at, page in enumerate(self.pages)
            if self.counts(page, run) and page.url != url
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
            page.seen, page.previous = run, page.previous or page.seen
        elif nearest[0] <= limit:
            assert verdict.status == "duplicate"
            assert (verdict.distance, verdict.original) == (nearest[0], nearest[2].url)
            self.logged(run, url, "duplicate", nearest[2])
            assert claim is None
            return None
        else:
            assert verdict.status == ("revisit" if own else "unique")
            assert verdict.changed == bool(own)
            page = Page(url, value, run, run, own[-1] if own else None)
            self.pages.append(page)
            self.logged(run, url, verdict.status, None)
        assert claim is not None
        assert claim.new == (not same)
        if confirm:
            self.confirmed(page) if claim.new else self.confirm_visit(page)
            return None
        return Held(claim, run, page)

    def logged(self, run: Run, url: str, status: str, original: Page | None) -> None:
        run.sign = self.day
        self.log.append(Logged(run, self.day, url, status, original))

    def confirm_visit(self, page: Page) -> None:
        page.previous = None

    def confirmed(self, page: Page) -> None:
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
            mine = not page.gone and page.seen is held.run
            if keep:
                assert count == int(mine)
                self.confirm_visit(page) if mine else None
            else:
                assert count == int(mine and page.previous is not None)
                self.forget_visit(page) if count else None
            return
        assert count == int(not page.gone and not page.confirmed)
        if not count:
            return
        if keep:
            self.confirmed(page)
        else:
            self.drop(page, orphans=True)

    # Upkeep: by a run that is going on, or beside all runs.

    @precondition(lambda self: self.pages and (self.is_file or self.live()))
    @rule(number=st.integers(0, 1), alone=st.booleans(), page=st.integers(0, 50))
    def remove(self, number: int, alone: bool, page: int) -> None:
        url = self.pages[page % len(self.pages)].url
        found = [page for page in self.pages if page.url == url]
        wanted = sum(map(self.take_out, found), Removed())
        if self.is_file and (alone or not self.live()):
            with looked_after(self.store.log, write=True) as upkeep:
                pages = [page for page, _ in upkeep.find([url])]
                assert upkeep.copies_of(pages) == wanted.copies + len(wanted.orphans)
                removed = sum(upkeep.remove(pages), Removed())
        else:
            dedup = self.chosen(number).dedup
            assert dedup is not None
            removed = dedup.remove(url)
        self.agree(removed, wanted)

    @precondition(lambda self: self.is_file)
    @rule(number=st.integers(0, 1), alone=st.booleans(), decisions=st.booleans())
    def prune(self, number: int, alone: bool, decisions: bool) -> None:
        wanted = self.pruned()
        if decisions:
            over = [run for run in self.runs if not run.alive]
            old = [each for each in self.log if each.run in over and each.day < self.day - OLD]
            self.log = [each for each in self.log if each not in old]
            wanted += Removed(decisions=len(old))
        if alone or not self.live():
            before = ages.ago(OLD * 86_400)
            with looked_after(self.store.log, write=True) as upkeep:
                assert upkeep.old(before)[0] == wanted.originals
                removed = sum(upkeep.prune(before), Removed())
                if decisions:
                    assert upkeep.old_decisions(before) == wanted.decisions
                    removed += sum(upkeep.prune_decisions(before), Removed())
        else:
            dedup = self.chosen(number).dedup
            assert dedup is not None
            removed = dedup.prune(timedelta(days=OLD), decisions=decisions)
        self.agree(removed, wanted)

    def pruned(self) -> Removed:
        old = self.old()
        return sum(
            (self.take_out(page) for page in list(self.pages) if page.seen in old), Removed()
        )

    def agree(self, removed: Removed, wanted: Removed) -> None:
        assert len(removed.orphans) == len(wanted.orphans)
        if not self.is_file:
            # A log knows the originals of copies by their URLs alone.
            removed, wanted = replace(removed, copies=0), replace(wanted, copies=0)
        assert replace(removed, orphans=()) == replace(wanted, orphans=())

    # What must be so after every step.

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        if not self.live():
            return
        rows = [
            (row.url, row.digest, row.confirmed, row.seen, row.previous)
            for row in self.store.held()
        ]
        assert rows == [
            (
                page.url,
                page.value.to_bytes(16, "little"),
                page.confirmed,
                page.seen.number,
                page.previous and page.previous.number,
            )
            for page in self.pages
        ]
        log = self.store.asked(
            "SELECT url, status, original_removed IS NOT NULL FROM decisions ORDER BY id"
        )
        parts = 3 if self.is_file else 2
        wanted = [(entry.url, entry.status, entry.removed) for entry in self.log]
        assert [row[:parts] for row in log] == [row[:parts] for row in wanted]
        assert self.store.wrong(["simhash"], settled=False) == []

    def teardown(self) -> None:
        ages._clock = self.clock
        for run in self.live():
            assert run.dedup is not None
            run.dedup.close()
        if self.runs:
            self.store.open(BITS_ONLY).close()
            assert self.store.wrong(["simhash"]) == []
            self.store.empty()


@pytest.mark.parametrize(
    ("kind", "examples", "steps"),
    [
        *((kind, 20, 40) for kind in KINDS),
        pytest.param("sqlite", 100, 80, marks=pytest.mark.slow),
        # A step takes three times as long there.
        pytest.param("redis", 40, 80, marks=pytest.mark.slow),
    ],
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
