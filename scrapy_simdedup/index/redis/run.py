"""A run in a Redis index: its beginning, its heartbeat, its end, and who else is alive."""

from __future__ import annotations

import json
import logging
import socket
import threading
import uuid
from pathlib import Path
from typing import Any

from scrapy_simdedup.index.redis.keys import Keys
from scrapy_simdedup.index.redis.link import Gone, Link
from scrapy_simdedup.index.redis.members import DEAD_SECONDS, Member, members
from scrapy_simdedup.index.redis.server import SCHEMA, check_identity

logger = logging.getLogger(__name__)

# What is known of a run goes so long after its end; a job's runs so long after the last began.
_RUN_DAYS, _JOB_DAYS = 30, 400
_DAY = 86_400


class Run:
    """The run of this process: the number that claims go by, and the id of the index it is in.

    The number is another one after the server has lost data, or has taken the run for dead.
    ``about`` is what is stored of it for people, ``log`` and ``lock`` name its log of decisions
    and the lock file beside that at ``path``.
    """

    def __init__(
        self,
        link: Link,
        keys: Keys,
        identity: dict[str, Any],
        about: dict[str, str],
        log: str,
        path: Path,
        lock: str,
    ) -> None:
        self._link = link
        self._keys = keys
        self._identity = json.dumps(identity, sort_keys=True)
        self._about = about
        self.log = log
        self._path = path
        self._lock = lock
        self.number = 0
        self.index = ""
        #: The numbers this run has had that are alive, and those of its job.
        self.numbers: list[int] = []
        self.job: frozenset[int] = frozenset()
        #: The last page that this run knows of; and whether the server has lost pages since.
        self.last_page = 0
        self.robbed = False
        self._live: dict[int, Member] = {}
        self._lost = threading.Event()
        self._beginning, self._changing = threading.Lock(), threading.Lock()

    @property
    def lost(self) -> bool:
        """Whether the server has taken this run for dead."""
        return self._lost.is_set()

    def begin(self) -> None:
        """Begin the run, or go on with it under a new number. Raises IndexUnusable, IndexAway."""
        with self._beginning:
            self._begin()

    def _begin(self) -> None:
        self._link.load()
        before = self.index
        found = self._link.run(
            "begin",
            [self._keys.meta, self._keys.live],
            [self._identity, SCHEMA, uuid.uuid4().hex, f"{self.log} {self._lock}"],
        )
        identity, schema, index, pages, number = found
        check_identity(self._link.address, identity, schema, json.loads(self._identity))
        self.index, self.number = index.decode(), number
        same = before == self.index and int(pages) >= self.last_page
        if before and not same:
            self.robbed = True
            self.last_page = 0
            logger.warning(
                "%s has lost %s it held: what is missing is filled anew from here on",
                self._link.address,
                "what" if before != self.index else "some of what",
            )
        with self._changing:
            self.numbers = [*(self.numbers if same else []), number]
        self._lost.clear()
        self._tell_of_itself()

    def _tell_of_itself(self) -> None:
        key = self._keys.run(self.number)
        about = [word for pair in self._about.items() for word in pair]
        commands: list[tuple[Any, ...]] = [("HSET", key, "host", socket.gethostname(), *about)]
        if self._about["job"]:
            job = self._keys.job(self._about["job"])
            commands += [("SADD", job, self.number), ("EXPIRE", job, _JOB_DAYS * _DAY)]
            commands += [("SMEMBERS", job)]
        answers = self._link.ask(*commands)
        runs = map(int, answers[-1]) if self._about["job"] else self.numbers
        self.job = frozenset(runs) | frozenset(self.numbers)

    def sees(self, live: list[bytes]) -> None:
        """Take note of the runs that a look found alive."""
        if len(live) != len(self._live) or any(
            member.written not in live for member in self._live.values()
        ):
            self._live = {member.number: member for member in map(Member, live)}

    def is_alive(self, run: int) -> bool:
        """Tell whether a run was alive at the last look; one that shares the log: whether it is."""
        if run == self.number:
            return True
        member = self._live.get(run)
        return member is not None and not self._gone(member)

    def _gone(self, member: Member) -> bool:
        return member.gone(self.log, self._path)

    def beat(self) -> bool:
        """Tell that this run is alive; return whether others seem to be dead."""
        members = [f"{number} {self.log} {self._lock}" for number in self.numbers]
        keys = [self._keys.meta, self._keys.live, self._keys.dead]
        try:
            lost, silent = self._link.run(
                "beat", keys, [self.index, int(DEAD_SECONDS * 1000), *members]
            )
        except Gone:
            self._lost.set()
            return False
        gone = {Member(written).number for written in lost}
        if self.number in gone:
            self._lost.set()
        with self._changing:
            self.numbers = [number for number in self.numbers if number not in gone]
        return bool(silent)

    def bury(self) -> list[Member]:
        """Set the dead apart from the living, and return those whose claims are open yet."""
        gone = [
            member.written
            for member, silent in members(self._link, self._keys)
            if member.number not in self.numbers and (silent or self._gone(member))
        ]
        commands: list[tuple[Any, ...]] = []
        for written in gone:
            commands += [("SADD", self._keys.dead, written), ("ZREM", self._keys.live, written)]
        found = self._link.ask(*commands, ("SMEMBERS", self._keys.dead))
        return [Member(written) for written in found[-1]]

    def buried(self, member: Member) -> None:
        """Note that a dead run's claims are all released."""
        key = self._keys.run(member.number)
        self._link.ask(
            ("SREM", self._keys.dead, member.written),
            ("HSET", key, "status", "died"),
            ("EXPIRE", key, _RUN_DAYS * _DAY),
        )

    def end(self, reason: str) -> None:
        """End the run."""
        commands: list[tuple[Any, ...]] = []
        for number in self.numbers:
            key = self._keys.run(number)
            commands += [
                ("ZREM", self._keys.live, f"{number} {self.log} {self._lock}"),
                ("HSET", key, "status", reason),
                ("EXPIRE", key, _RUN_DAYS * _DAY),
            ]
        self._link.ask(*commands)
