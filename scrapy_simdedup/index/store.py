"""What a store of an index must offer to judging: the protocol, and what it answers.

There are two stores: a file (``sqlite``), and a Redis server (``redis``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from scrapy_simdedup.index.bands import Plan, Row, Scan
from scrapy_simdedup.index.records import (
    Claim,
    Kept,
    NewPage,
    Orphan,
    Settled,
    Signature,
    Subject,
)
from scrapy_simdedup.index.upkeep import Found, Removed

T = TypeVar("T")

Plans = Sequence[tuple[int, Plan | Scan]]
"""What methods look up: the number of the method's first band, and its plan."""


class Remembered(NamedTuple):
    """A decision as the log has it."""

    status: str
    reason: str | None
    original_page: int | None
    distance: int | None
    max_distance: int | None
    resemblance: float | None
    containment: float | None
    method: str | None
    terms: int | None
    text: bytes | None


@dataclass(frozen=True)
class Sight:
    """What an index shows of a subject: the rows that go by its names, oldest first.

    ``rows`` returns what each plan asked for, in the method's own band numbers.
    """

    own: Callable[[], Sequence[Kept]]
    rows: Callable[[], Sequence[Sequence[Row]]]


@dataclass(frozen=True)
class Memory:
    """What an index knows of a subject by its body alone.

    ``equal`` returns the pages whose content came byte for byte as the subject's did, ``own``
    those that go by its names, oldest first; ``before`` what such a body was judged to be, of
    which the index holds no page.
    """

    own: Callable[[], Sequence[Kept]]
    equal: Callable[[], Sequence[Kept]]
    before: Callable[[], Remembered | None]


class Pages(Protocol):
    """The kept pages and items, as one run sees and changes them."""

    def load(self, pages: Sequence[int]) -> list[Kept]:
        """Return the pages of those numbers that the index still holds, oldest first."""

    def insert(self, page: NewPage) -> Claim:
        """Store a page with all its rows, provisionally."""

    def visit(self, kept: Kept, subject: Subject, signature: Signature, *, alone: bool) -> Claim:
        """Note that a kept page was seen again, unchanged, by the subject's request."""


class Bodies(Protocol):
    """What bodies were judged to be of which the index holds no page."""

    def remember(self, subject: Subject, rules: int, decision: int) -> None:
        """Note which decision of the log a body met, the newest one."""


class Claims(Protocol):
    """The claims of one run. Settling what is not its own any more does nothing."""

    def confirm(self, claims: Iterable[Claim]) -> Settled:
        """Make provisional rows originals; a row that replaces another takes its place."""

    def release(self, claims: Iterable[Claim]) -> Settled:
        """Undo claims; copies that were judged against them become orphans."""

    def open_claims(self, run: int) -> list[Claim]:
        """Return the claims of a run that nobody has settled."""


class Texts(Protocol):
    """The main texts that are stored beside the log."""

    def store(self, digest: bytes, packed: bytes) -> None:
        """Store a packed text, unless there is one of that digest."""

    def has(self, digest: bytes | None) -> bool:
        """Tell whether a text of that digest is stored."""


class Upkeep(Protocol):
    """What takes originals out of an index, in steps between which others get a turn."""

    def find(
        self, urls: Iterable[str] = (), host: str = "", run: int | None = None
    ) -> Iterator[Found]:
        """Return the originals that meet all that is given."""

    def remove(self, pages: Iterable[int]) -> Iterator[Removed]:
        """Remove originals, and return what went, for each step."""

    def prune(self, before: str) -> Iterator[Removed]:
        """Remove the originals that no run has met since a time, in steps as ``remove``."""

    def prune_decisions(self, before: str) -> Iterator[Removed]:
        """Delete decisions from before a time, in steps as ``remove``."""


class Store(Protocol):
    """An open index, and the run that opened it. Used from one thread at a time."""

    #: The file that holds the log of decisions, and the number of this run in it.
    path: Path
    logged: int
    #: Where the index is, for messages.
    place: str
    #: What runs that died left behind, released at the start.
    reaped: Settled

    @property
    def run(self) -> int:
        """The number of the run that holds the claims that are made now."""

    @property
    def job_runs(self) -> frozenset[int]:
        """That run, and those of the same job that it resumes."""

    @property
    def pages(self) -> Pages:
        """The pages that the index holds."""

    @property
    def bodies(self) -> Bodies:
        """The bodies that were met and not kept."""

    @property
    def claims(self) -> Claims:
        """The claims of this run."""

    @property
    def texts(self) -> Texts:
        """The stored texts."""

    @property
    def upkeep(self) -> Upkeep:
        """What takes originals out."""

    @property
    def crowded_keys(self) -> int:
        """How often a look-up of this run left out a key that too many pages share."""

    def attempt(self, step: Callable[[], T]) -> T:
        """Return what a step of judging returns, which looks first and writes last.

        All that it writes is there afterwards, or nothing is; and nothing that it looked at has
        changed in between. Where the store cannot keep others out for so long, it runs the step
        again.
        """

    def write(self) -> AbstractContextManager[None]:
        """Run a block that writes without looking: into the log, or settling claims."""

    def together(self) -> AbstractContextManager[None]:
        """Commit what a block writes at once, at its end, or nothing of it."""

    def look(self, subject: Subject, plans: Callable[[], Plans]) -> Sight:
        """Return what judging a subject needs to see; ``plans`` is called when that is needed."""

    def recollect(self, subject: Subject, rules: int) -> Memory:
        """Return what the index knows of a subject's body, judged by rules of that number."""

    def is_alive(self, run: int) -> bool:
        """Tell whether a run still runs."""

    def is_old(self, run: int) -> bool:
        """Tell whether what a run met last has grown too old to count."""

    def size(self) -> int:
        """Return about how many rows a band has; plans need no exact number."""

    def originals(self) -> int:
        """Return how many pages and items the index holds."""

    def log(self, values: Sequence[Any]) -> int:
        """Append a decision: the values of all columns but id, run and time, in order.

        Returns its number.
        """

    def orphaned(self) -> Sequence[Orphan]:
        """Return the copies in the log whose originals came to nothing, by another's doing.

        Called in a block of ``write``; they are marked in the log, and returned once.
        """

    def close(self, reason: str) -> None:
        """Release what is still open, end the run and let go of the index. Idempotent."""
