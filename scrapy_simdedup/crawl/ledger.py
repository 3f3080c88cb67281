"""What became of each page and item, and so of its claim.

Scrapy tells the outcomes of items by signals, in an order that differs between versions, and
with objects that pipelines may have replaced: ``item_dropped`` and ``item_error`` bring the
object that the spider yielded, ``item_scraped`` the one that the last pipeline returned. So
outputs are counted by response, and a claim is settled once, whatever comes afterwards.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.signalmanager import SignalManager

from scrapy_simdedup.exceptions import NearDuplicateItem
from scrapy_simdedup.index.records import Claim
from scrapy_simdedup.verdict import Verdict

Outcome = Literal["scraped", "dropped-by-us", "dropped", "error"]
# So many items of unknown pages are followed.
_MOST_STRAYS = 1000

Settle = Callable[[Claim, bool], None]


@dataclass
class Passing:
    """An item on its way through the pipelines, and the claim it holds if any."""

    item: Any
    claim: Claim | None


@dataclass
class Outputs:
    """A response's outputs: how many items are on their way, and what became of the others.

    ``names`` are the fingerprints of the page's requests, the first one first.
    """

    names: list[bytes]
    verdict: Verdict | None = None
    claim: Claim | None = None
    drop_items: bool = False
    # Whether the action ``drop-items`` would drop them.
    droppable: bool = False
    url: str = ""
    pending: int = 0
    scraped: int = 0
    dropped_by_us: int = 0
    dropped: int = 0
    asked_again: bool = False
    finished: bool = False
    # The ids of the items on their way; those that our pipeline saw; and how many were scraped
    # as an object that it did not see.
    yielded: set[int] = field(default_factory=set)
    passing: list[Passing] = field(default_factory=list)
    replaced: int = 0

    def take_claim(self) -> Claim | None:
        """Return the page's claim, once."""
        claim, self.claim = self.claim, None
        return claim

    @property
    def done(self) -> bool:
        """Whether the callback has ended and all its items have got through."""
        return self.finished and not self.pending

    @property
    def worth_keeping(self) -> bool:
        """Whether the page's claim is to be confirmed, once its outputs are done."""
        if self.scraped:
            return True
        if self.dropped:
            return False
        return bool(self.dropped_by_us) or not self.asked_again


class Ledger:
    """The outputs of all responses that are being worked on; ``settle`` is told of claims."""

    def __init__(self, settle: Settle) -> None:
        self._settle = settle
        self._outputs: WeakKeyDictionary[Request, Outputs] = WeakKeyDictionary()
        # Items by identity: those that the spider yielded, and those with a claim. They are
        # kept alive here, so that no other object can get their id.
        self._yielded: dict[int, tuple[Any, Outputs]] = {}
        self._passing: dict[int, tuple[Passing, Outputs | None]] = {}
        # Items that an earlier pipeline made anew, so that their page is not known. If a later
        # one does it again, nothing tells their outcome: the oldest claims are given up.
        self._strays: deque[Any] = deque()

    def open(self, request: Request, outputs: Outputs) -> None:
        """Begin to follow what a page's callback makes of it."""
        self._outputs[request] = outputs

    def connect(self, signal_manager: SignalManager) -> None:
        """Hear from Scrapy what becomes of items."""
        signal_manager.connect(self._item_scraped, signals.item_scraped)
        signal_manager.connect(self._item_dropped, signals.item_dropped)
        signal_manager.connect(self._item_error, signals.item_error)

    def find(self, response: Any) -> Outputs | None:
        """Return the outputs of a response (of a Failure, or of nothing: None)."""
        request = getattr(response, "request", None)
        return None if request is None else self._outputs.get(request)

    def yielded(self, item: Any, outputs: Outputs) -> None:
        """Count an item that a page's callback yielded."""
        outputs.pending += 1
        self._yielded[id(item)] = (item, outputs)
        outputs.yielded.add(id(item))

    def source(self, item: Any) -> Outputs | None:
        """Return the outputs that an item belongs to, None when an earlier pipeline made it."""
        found = self._yielded.get(id(item))
        return found[1] if found else None

    def passed(self, item: Any, claim: Claim | None) -> None:
        """Follow an item that was judged by its own fields and goes on to the next pipeline."""
        outputs = self.source(item)
        passing = Passing(item, claim)
        self._passing[id(item)] = (passing, outputs)
        if outputs is not None:
            outputs.passing.append(passing)
        elif claim is not None:
            self._strays.append(item)
            if len(self._strays) > _MOST_STRAYS:
                self._settle_item(self._strays.popleft(), "dropped")

    def raised(self, response: Any) -> None:
        """A page's callback raised: its claim is released, whatever else happens."""
        outputs = self.find(response)
        if outputs is not None:
            self._close_page(outputs, keep=False)
            self.finished(outputs)

    def finished(self, outputs: Outputs) -> None:
        """A page's callback yields nothing more."""
        outputs.finished = True
        self._check(outputs)

    def _item_scraped(self, item: Any, response: Any) -> None:
        self.outcome(item, response, "scraped")

    def _item_dropped(self, item: Any, response: Any, exception: BaseException) -> None:
        ours = isinstance(exception, NearDuplicateItem)
        self.outcome(item, response, "dropped-by-us" if ours else "dropped")

    def _item_error(self, item: Any, response: Any) -> None:
        self.outcome(item, response, "error")

    def outcome(self, item: Any, response: Any, outcome: Outcome) -> None:
        """Take note of what became of an item."""
        known = self._settle_item(item, outcome)
        found = self._yielded.pop(id(item), None)
        outputs = found[1] if found else self.find(response)
        if outputs is None:
            return
        outputs.yielded.discard(id(item))
        if outcome == "scraped" and not known and not found:
            outputs.replaced += 1
        outputs.pending = max(0, outputs.pending - 1)
        if outcome == "scraped":
            outputs.scraped += 1
        elif outcome == "dropped-by-us":
            outputs.dropped_by_us += 1
        elif outcome == "dropped":
            outputs.dropped += 1
        else:
            self._close_page(outputs, keep=False)
        self._settle_replaced(outputs)
        self._check(outputs)

    def _settle_item(self, item: Any, outcome: Outcome) -> bool:
        passing, outputs = self._passing.pop(id(item), (None, None))
        if passing is None:
            return False
        if outputs is not None:
            outputs.passing.remove(passing)
        if passing.claim is not None:
            self._settle(passing.claim, outcome == "scraped")
        return True

    def _settle_replaced(self, outputs: Outputs) -> None:
        # Dropped and broken items are known by their own object, so when as many were scraped
        # under another one as are still on their way, it is those.
        if outputs.passing and outputs.replaced >= len(outputs.passing):
            outputs.replaced = 0
            for passing in list(outputs.passing):
                self._settle_item(passing.item, "scraped")

    def _check(self, outputs: Outputs) -> None:
        if not outputs.done:
            return
        self._close_page(outputs, keep=outputs.worth_keeping)
        # What an earlier pipeline replaced never comes back under its own identity.
        while outputs.yielded:
            self._yielded.pop(outputs.yielded.pop(), None)

    def _close_page(self, outputs: Outputs, *, keep: bool) -> None:
        claim = outputs.take_claim()
        if claim is not None:
            self._settle(claim, keep)
