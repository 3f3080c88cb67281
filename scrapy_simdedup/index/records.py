"""What goes into an index and comes out of it."""

from __future__ import annotations

import shlex
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Signature = Mapping[str, bytes]
"""The parts of a signature by the names of the methods and guards that made them."""

# Parts that tell of the markup around a text. No rows of the index come from them.
OF_MARKUP = ("rest", "doubt")

# A part beside them, the digest of the page's own description. Only signing a stored text anew
# needs it, and only what is analysed while texts are stored has it.
ABOUT = "about"


@dataclass(frozen=True)
class Subject:
    """A page or item to judge, and all that makes it the same one the next time.

    ``space`` keeps apart what must never match: pages from items, and sites from each other
    where the scope says so. ``identities`` are 64-bit hashes of the names it goes by; the
    first is the request (or key) that it was asked for by. ``several`` tells that unlike
    things may go by this identity: the items of one page. ``body`` is the digest of its content
    as it came, 16 bytes, or ``b""`` where that is not known.
    """

    kind: Literal["page", "item"]
    url: str
    space: int
    identities: tuple[int, ...]
    several: bool = False
    body: bytes = b""


@dataclass(frozen=True)
class Kept:
    """A page or item that the index holds.

    ``seen`` is the run that met it last; ``visited`` tells that that meeting is not settled.
    """

    id: int
    url: str
    space: int
    run: int
    confirmed: bool
    identities: tuple[int, ...]
    body: bytes
    digest: bytes
    terms: int
    signature: Signature
    seen: int
    visited: bool

    @property
    def settled(self) -> bool:
        """Whether no open claim is on the row."""
        return self.confirmed and not self.visited


@dataclass(frozen=True)
class Claim:
    """A provisional hold on a row: a new one, or a kept one that is seen again.

    It is confirmed once the page has proved worth keeping, else released. ``alone`` tells that
    copies of this run rest on it although the row is older, since older rows do not count.
    """

    page: int
    run: int
    new: bool
    alone: bool = False


@dataclass(frozen=True)
class NewPage:
    """A row to insert, provisionally; once confirmed it takes the place of ``replaces``."""

    subject: Subject
    digest: bytes
    terms: int
    signature: Signature
    replaces: int | None


@dataclass(frozen=True)
class Orphan:
    """A copy that was refused because of an original that was not stored after all."""

    kind: str
    url: str
    original: str


@dataclass(frozen=True)
class Settled:
    """What settling claims did: how many were still open, and which copies lost their original."""

    count: int
    orphans: Sequence[Orphan] = ()

    def warning(self, log: Path) -> str:
        """Say of the orphans, where there are some, what happened, and where the log lists them."""
        first = self.orphans[0]
        return (
            f"{len(self.orphans)} copies were refused because of pages that were not stored after"
            f" all, e.g. {first.url} because of {first.original}; list them with:"
            f" scrapy simdedup export --index {shlex.quote(str(log))} --status orphaned"
        )


def pack(signature: Signature) -> bytes:
    """Write a signature as bytes: for each part the name and the content, with their lengths."""
    return b"".join(
        struct.pack("<BH", len(name), len(part)) + name.encode("ascii") + part
        for name, part in signature.items()
    )


def unpack(data: bytes) -> Signature:
    """Read what ``pack`` wrote. Raises ValueError where that is damaged."""
    signature = {}
    at = 0
    try:
        while at < len(data):
            name, part = struct.unpack_from("<BH", data, at)
            at += 3
            signature[data[at : at + name].decode("ascii")] = data[at + name : at + name + part]
            at += name + part
    except (struct.error, TypeError) as error:
        raise ValueError(f"no signature: {error}") from error
    if at != len(data):
        raise ValueError("a signature that is cut off")
    return signature
