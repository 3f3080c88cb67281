"""The judge at work on an index of made-up pages, with default settings, one process or several."""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier
from pathlib import Path

import numpy as np
from children import alone, together
from figures import Figures, memory, percentiles
from judged import Query, queries
from made_up import SEED, UNIFORM

from scrapy_simdedup import Deduplicator
from scrapy_simdedup.index.records import Claim

# Judged before the clock starts: a crawl has been going on for a while.
_WARM = 200
# Claims that are confirmed in one go.
_BATCH = 16
# Turns for the queries of several processes, apart from those of one.
_TURNS = 1000
# Processes judge their share of the queries; a turn has room for so many of them.
_MOST_PROCESSES = 64
# Pages that share a commit where that is measured.
_GROUP = 16

# The time of each judgement, of all of them, and how many planted pages were found, of how many.
Times = tuple[list[float], float, int, int]


class Bench:
    """Judges queries, keeps the times and counts what was found."""

    def __init__(self, dedup: Deduplicator) -> None:
        self._dedup = dedup
        self.claims: list[Claim] = []
        self.judged: list[float] = []
        self.recognised: list[float] = []
        self.confirming = 0.0
        self.planted = self.found = self.false = 0

    def judge(self, query: Query, since: float | None = None) -> None:
        """Judge a page as a crawl does; time is counted from ``since``, or from now."""
        subject = self._dedup.page(query.url, (), query.body)
        start = time.perf_counter()
        self._dedup.recall(subject)
        between = time.perf_counter()
        judgement = self._dedup.judge(subject, query.analysis)
        end = time.perf_counter()
        self.recognised.append(between - start)
        self.judged.append(end - (between if since is None else since))
        copy = judgement.verdict.status == "duplicate"
        if query.original is None:
            self.false += copy
        else:
            self.planted += 1
            self.found += copy and judgement.original_page == query.original
        if judgement.claim:
            self.claims.append(judgement.claim)
        if len(self.claims) >= _BATCH:
            self.confirm()

    def confirm(self) -> None:
        """Settle the claims of the pages that were kept."""
        start = time.perf_counter()
        self._dedup.confirm(self.claims)
        self.confirming += time.perf_counter() - start
        self.claims.clear()

    def figures(self) -> Figures:
        """Return the times, what a second holds, and the share of planted pairs found."""
        spent = sum(self.judged) + sum(self.recognised) + self.confirming
        kept = len(self.judged) - self.found - self.false
        return {
            **percentiles(self.judged),
            "recognise_p50_ms": percentiles(self.recognised)["p50_ms"],
            "confirm_ms": self.confirming * 1e3 / max(kept, 1),
            "per_second": len(self.judged) / spent,
            "recall": self.found / self.planted if self.planted else 1.0,
            "false": self.false,
        }


def judge(
    path: Path | str,
    pages: int,
    count: int,
    share: float,
    turn: int = 0,
    kind: str = UNIFORM,
    log: Path | None = None,
) -> Figures:
    """Measure one process in turn; the index grows by what is new.

    ``log`` is where the decisions go if the index is in Redis.
    """
    return alone(_judge, path, pages, count, share, turn, kind, log)


def _judge(
    path: Path | str,
    pages: int,
    count: int,
    share: float,
    turn: int,
    kind: str,
    log: Path | None,
) -> Figures:
    with Deduplicator(path, log=log) as dedup:
        warm = Bench(dedup)
        for query in queries(pages, min(_WARM, count), share, 2 * turn, kind):
            warm.judge(query)
        warm.confirm()
        bench = Bench(dedup)
        for query in queries(pages, count, share, 2 * turn + 1, kind):
            bench.judge(query)
        bench.confirm()
        return {**bench.figures(), **memory()}


@dataclass(frozen=True)
class Several:
    """How several processes work on one index: how many, on how many pages.

    ``logs`` is the folder for their logs of decisions if it is in Redis.
    """

    path: Path | str
    pages: int
    share: float
    processes: int
    logs: Path | None = None

    def steady(self, seconds: float, rate: float, turn: int) -> Figures:
        """Measure processes that each judge ``rate`` pages a second."""
        count = max(1, round(seconds * rate))
        return _prefixed("steady", self._run(3 * turn, count, rate))

    def saturated(self, count: int, turn: int) -> Figures:
        """Measure processes that judge as fast as they can, ``count`` pages in all.

        Then again with one commit for several pages, as a crawl does when pages queue up.
        """
        each = max(1, count // self.processes)
        single = _prefixed("saturated", self._run(3 * turn + 1, each))
        grouped = _prefixed("grouped", self._run(3 * turn + 2, each, group=_GROUP))
        wanted = ("grouped_per_second", "grouped_recall")
        return single | {name: grouped[name] for name in wanted}

    def _run(self, turn: int, count: int, rate: float = 0.0, group: int = 1) -> list[Times]:
        return together(self.processes, _judge_beside, self, count, turn, rate, group)


def _prefixed(prefix: str, benches: list[Times]) -> Figures:
    times = [took for bench in benches for took in bench[0]]
    planted = sum(bench[3] for bench in benches)
    return {
        **percentiles(times, f"{prefix}_"),
        f"{prefix}_per_second": sum(len(bench[0]) / bench[1] for bench in benches),
        f"{prefix}_recall": sum(bench[2] for bench in benches) / planted if planted else 1.0,
    }


def _judge_beside(
    number: int,
    barrier: Barrier,
    several: Several,
    count: int,
    turn: int,
    rate: float,
    group: int,
) -> Times:
    turn = _TURNS + turn * _MOST_PROCESSES + number
    asked = list(queries(several.pages, count, several.share, turn))
    # At a steady rate each page comes at a random moment of its slot. Where the one before it
    # took too long, it has to wait, and the wait counts.
    slots = np.arange(count) + np.random.default_rng((SEED, turn)).random(count)
    log = several.logs and several.logs / f"{number}.db"
    with Deduplicator(several.path, log=log) as dedup:
        bench = Bench(dedup)
        barrier.wait()
        start = time.perf_counter()
        for first in range(0, count, group):
            due = start + slots[first] / rate if rate else 0.0
            wait = due - time.perf_counter()
            if wait > 0:
                time.sleep(wait)
            with dedup.together() if group > 1 else nullcontext():
                for query in asked[first : first + group]:
                    bench.judge(query, due if rate and wait < 0 else None)
        bench.confirm()
        spent = time.perf_counter() - start
        return bench.judged, spent, bench.found, bench.planted
