"""What bodies were judged to be of which a Redis index holds no page: copies, and skipped pages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from scrapy_simdedup.index.records import Subject
from scrapy_simdedup.index.redis.access import Access
from scrapy_simdedup.index.store import Remembered


class RedisBodies:
    """Decisions by the digest of a body; they count for the rules that they were made by only."""

    def __init__(self, access: Access) -> None:
        self._access = access
        #: The decision that was logged last: its number, and what of it is remembered.
        self.logged: tuple[int, Sequence[Any]] = (0, ())

    def remember(self, subject: Subject, rules: int, decision: int) -> None:
        """Note which decision a body met, the newest one."""
        number, values = self.logged
        assert number == decision
        life = ("PX", self._access.life) if self._access.life else ()
        key = self._access.keys.body(subject, rules)
        *others, text = values
        written = json.dumps([*others, text.hex() if text else None])
        self._access.link.ask(("SET", key, written, *life))

    @staticmethod
    def read(written: bytes | None) -> Remembered | None:
        """Read what a body met, None where it was not judged."""
        if not written:
            return None
        *others, text = json.loads(written)
        return Remembered._make([*others, bytes.fromhex(text) if text else None])
