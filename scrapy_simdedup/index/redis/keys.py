"""The names of an index's keys, all below its prefix."""

from __future__ import annotations

import hashlib

from scrapy_simdedup.index.records import Subject


class Keys:
    """The keys of an index."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.meta = f"{prefix}:meta"
        self.live = f"{prefix}:live"
        self.dead = f"{prefix}:dead"
        self.held = f"{prefix}:held"
        #: What the keys of pages, and of the notices to logs, begin with.
        self.pages = f"{prefix}:page:"
        self.notices = f"{prefix}:orphans:"

    def page(self, number: int) -> str:
        """Return the key of a page's record."""
        return f"{self.pages}{number}"

    def copies(self, number: int) -> str:
        """Return the key of the copies that lean on an open claim."""
        return f"{self.prefix}:copies:{number}"

    def run(self, number: int) -> str:
        """Return the key of a run."""
        return f"{self.prefix}:run:{number}"

    def open(self, run: int) -> str:
        """Return the key of a run's open claims."""
        return f"{self.prefix}:open:{run}"

    def job(self, name: str) -> str:
        """Return the key of a job's runs."""
        return f"{self.prefix}:job:{name}"

    def body(self, subject: Subject, rules: int) -> str:
        """Return the key of what a body met, judged by rules of that number."""
        what = b"%b %d %d" % (subject.body, subject.space, rules)
        return f"{self.prefix}:body:{hashlib.blake2b(what, digest_size=12).hexdigest()}"
