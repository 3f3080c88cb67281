"""Claims in a Redis index: confirmed, released, or left behind by a run that died.

A claim is settled only while its page's record still says that it is the run's own and open; a
record that changes in between is read again. What is settled twice is settled once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from scrapy_simdedup.index.records import Claim, Settled
from scrapy_simdedup.index.redis.access import Access, Overtaken
from scrapy_simdedup.index.redis.changes import Change
from scrapy_simdedup.index.redis.record import Record

# Claims that are settled in one go.
_MOST = 64
# Records change while they are being settled where another crawler settles or visits them.
_TRIES = 20


class RedisClaims:
    """The claims of runs.

    ``going_by`` returns the pages that go by one of a page's names.
    """

    def __init__(self, access: Access, going_by: Callable[[Record], Mapping[int, Record]]) -> None:
        self._access = access
        self._going_by = going_by

    def confirm(self, claims: Iterable[Claim]) -> Settled:
        """Make provisional pages originals; one that replaces another takes its place."""
        return Settled(len(self._settle(list(claims), self._confirming)))

    def release(self, claims: Iterable[Claim]) -> Settled:
        """Undo claims, and leave notices to the logs that hold copies of them."""
        settled = self._settle(list(claims), self._releasing)
        for claim, record in settled:
            if claim.new:
                self._hand_on(claim.page, record)
        # One of the logs may be the run's own.
        self._access.notices = True
        return Settled(len(settled))

    def open_claims(self, run: int) -> list[Claim]:
        """Return the claims of a run that nobody has settled."""
        (found,) = self._access.asking(
            lambda: self._access.link.ask(("SMEMBERS", self._access.keys.open(run)))
        )
        claims = []
        for page, record in self._access.records(sorted(map(int, found))).items():
            if record.run == run and not record.confirmed:
                claims.append(Claim(page, run, new=True))
            if record.seen == run and record.previous is not None:
                claims.append(Claim(page, run, new=False))
        return claims

    def _settle(
        self, claims: Sequence[Claim], changing: Callable[[Claim, Record], Change | None]
    ) -> list[tuple[Claim, Record]]:
        """Make the changes that settle claims; return what was settled, as it was before."""
        settled: list[tuple[Claim, Record]] = []
        for first in range(0, len(claims), _MOST):
            some = partial(self._settle_some, claims[first : first + _MOST], changing)
            settled += self._access.asking(some)
        return settled

    def _settle_some(
        self, claims: Sequence[Claim], changing: Callable[[Claim, Record], Change | None]
    ) -> list[tuple[Claim, Record]]:
        settled: list[tuple[Claim, Record]] = []
        for _ in range(_TRIES):
            records = self._access.written(list({claim.page for claim in claims}))
            ready = [
                (claim, record, change)
                for claim in claims
                if (record := records.get(claim.page)) and (change := changing(claim, record))
            ]
            if not ready:
                return settled
            done = self._access.commit_all([change for _, _, change in ready])
            settled += [each[:2] for each, made in zip(ready, done, strict=True) if made]
            claims = [each[0] for each, made in zip(ready, done, strict=True) if not made]
            if not claims:
                return settled
        raise Overtaken(f"{len(claims)} claims keep changing")

    def _confirming(self, claim: Claim, record: Record) -> Change | None:
        change = self._access.change()
        if not claim.new:
            if record.seen != claim.run:
                return None
            if record.previous is None:
                # Settled already; nothing is left to be done.
                change.same(claim.page, record)
            else:
                change.store(claim.page, record, record.changed(previous=None))
            return change
        if record.run != claim.run or record.confirmed:
            return None
        change.store(claim.page, record, record.changed(confirmed=True))
        # It takes the place of a page, and of what that was to replace itself. Their copies stay
        # copies; that their original is gone is as it should be.
        page, replaced = claim.page, record.replaces
        while replaced is not None and replaced < page:
            old = self._access.record(replaced)
            if old is None:
                break
            change.delete(replaced, old, orphans=False)
            page, replaced = replaced, old.replaces
        return change

    def _releasing(self, claim: Claim, record: Record) -> Change | None:
        change = self._access.change()
        if claim.new:
            if record.run != claim.run or record.confirmed:
                return None
            change.delete(claim.page, record, orphans=True)
            return change
        if record.seen != claim.run or record.previous is None:
            return None
        if claim.alone:
            change.notify(claim.page, claim.run)
        change.store(claim.page, record, record.changed(seen=record.previous, previous=None))
        return change

    def _hand_on(self, page: int, record: Record) -> None:
        """Have what was to replace a page that is gone replace what that was to replace.

        The page has come again meanwhile, with a text that is not settled yet.
        """
        for _ in range(_TRIES):
            change = self._access.change()
            later = [
                (number, each)
                for number, each in self._going_by(record).items()
                if each.replaces == page and not each.confirmed
            ]
            for number, each in later:
                change.store(number, each, each.changed(replaces=record.replaces))
            if not later or self._access.asking(partial(self._access.commit, change)):
                return
