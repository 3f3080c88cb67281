"""The record of a page as one string: a head of fixed length, then what varies."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field, replace
from typing import Any

from scrapy_simdedup.index.records import Kept, unpack

# Confirmed, run, seen, previous, met, visits, terms, replaces, space; the lengths of body, digest,
# names and URL. Numbers that are None are 0 here.
_HEAD = struct.Struct("<?IIIIIIQQBBHI")


@dataclass(frozen=True)
class Record:
    """What is stored of a page. ``run``, ``seen``, ``previous`` are numbers of runs.

    ``previous`` is who had seen it before, as long as a visit is not settled, else None;
    ``met`` is when it was seen, in seconds (UTC); ``signature`` is packed. ``raw`` are the bytes
    that it was read from.
    """

    url: str
    space: int
    run: int
    confirmed: bool
    replaces: int | None
    identities: tuple[int, ...]
    body: bytes
    digest: bytes
    terms: int
    signature: bytes
    seen: int
    previous: int | None
    met: int
    visits: int
    raw: bytes = field(default=b"", compare=False, repr=False)

    def pack(self) -> bytes:
        """Return the record as bytes."""
        url = self.url.encode()
        head = _HEAD.pack(
            self.confirmed,
            self.run,
            self.seen,
            self.previous or 0,
            self.met,
            self.visits,
            self.terms,
            self.replaces or 0,
            self.space,
            len(self.body),
            len(self.digest),
            len(self.identities),
            len(url),
        )
        names = struct.pack(f"<{len(self.identities)}Q", *self.identities)
        return b"".join((head, self.body, self.digest, names, url, self.signature))

    @classmethod
    def unpack(cls, data: bytes) -> Record:
        """Read what ``pack`` returned. Raises ValueError where it is damaged."""
        try:
            confirmed, run, seen, previous, met, visits, *rest = _HEAD.unpack_from(data)
            terms, replaces, space, body, digest, names, url = rest
            at = _HEAD.size
            parts = []
            for length in (body, digest, 8 * names, url):
                parts.append(data[at : at + length])
                at += length
            return cls(
                parts[3].decode(),
                space,
                run,
                confirmed,
                replaces or None,
                struct.unpack(f"<{names}Q", parts[2]),
                parts[0],
                parts[1],
                terms,
                data[at:],
                seen,
                previous or None,
                met,
                visits,
                data,
            )
        except struct.error as error:
            raise ValueError(f"no record of a page: {error}") from error

    def kept(self, number: int) -> Kept:
        """Return the page as judging sees it. Raises ValueError where it is damaged."""
        return Kept(
            number,
            self.url,
            self.space,
            self.run,
            self.confirmed,
            self.identities,
            self.body,
            self.digest,
            self.terms,
            unpack(self.signature),
            self.seen,
            self.previous is not None,
        )

    @property
    def settled(self) -> bool:
        """Whether no open claim is on the page."""
        return self.confirmed and self.previous is None

    def holders(self) -> set[int]:
        """Return the runs that hold an open claim on the page."""
        new = set() if self.confirmed else {self.run}
        return new | ({self.seen} if self.previous is not None else set())

    def changed(self, **values: Any) -> Record:
        """Return the record with some values replaced."""
        return replace(self, **values)
