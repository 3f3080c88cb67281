"""All that a report tells, read from an index."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from scrapy_simdedup.logs.measures import InForce, limits_in_force, recorded
from scrapy_simdedup.report import counts, times
from scrapy_simdedup.report.browse import Listing, listing
from scrapy_simdedup.report.close import CloseCalls, close_calls
from scrapy_simdedup.report.clusters import Cluster, clusters
from scrapy_simdedup.report.counts import Bounded, Host, Reason, Run, Tally
from scrapy_simdedup.report.diff import Difference
from scrapy_simdedup.report.log import snapshot
from scrapy_simdedup.report.nearness import Histogram, histograms
from scrapy_simdedup.report.pairs import Pairs
from scrapy_simdedup.report.times import Course, Slice

# What is listed at most; the page says where there is more.
MOST_HOSTS = 500
MOST_CLUSTERS = 100
MOST_COPIES = 25
MOST_COMPARED = 10
MOST_CALLS = 100
MOST_ORPHANS = 500
MOST_RUNS = 60
MOST_DECISIONS = 100_000

#: How many steps of ``collect`` call ``passed``.
STEPS = 6


@dataclass(frozen=True)
class Report:
    """What a report tells: of one run, or of all runs of an index.

    ``calls`` and the copies of ``clusters`` have their texts compared in ``call_texts`` and
    ``cluster_texts``, place by place; None where they are not. ``stored`` tells whether any text
    is stored, ``left_out`` how many comparisons were too much.
    """

    name: str
    run: int | None
    runs: list[Run]
    kinds: dict[str, Tally]
    spiders: dict[str, Tally]
    hosts: Bounded[Host]
    reasons: list[Reason]
    orphans: Bounded[dict[str, Any]]
    in_force: InForce
    same_limits: bool
    histograms: list[Histogram]
    calls: CloseCalls
    call_texts: list[Difference | None]
    clusters: Bounded[Cluster]
    cluster_texts: list[list[Difference | None]]
    stored: bool
    left_out: int
    by_run: list[Slice]
    course: Course | None
    listing: Listing

    @property
    def tally(self) -> Tally:
        """Pages and items together."""
        whole = Tally()
        for tally in self.kinds.values():
            whole.counts.update(tally.counts)
        return whole


def collect(
    connection: sqlite3.Connection,
    name: str,
    run: int | None,
    passed: Callable[[int], object] = lambda _: None,
) -> Report:
    """Read what a report on an index tells, as it is in this moment. Raises NoSuchRun."""
    with snapshot(connection, run):
        runs = counts.runs(connection, run)
        kinds = counts.kinds(connection, run)
        hosts = counts.hosts(connection, MOST_HOSTS)
        passed(1)
        calls = close_calls(connection, MOST_CALLS)
        drawn = limits_in_force(connection, run)
        bars = histograms(connection, drawn)
        passed(1)
        largest = clusters(connection, MOST_CLUSTERS, MOST_COPIES)
        passed(1)
        judged = next((each.id for each in runs if each.tally.total), None)
        course = None if judged is None else times.course(connection, judged)
        passed(1)
        copies = [copy for cluster in largest.rows for copy in cluster.copies[:MOST_COMPARED]]
        pairs = Pairs(connection, [*(call.row for call in calls.calls), *copies])
        call_texts = [pairs.compare(call.row) for call in calls.calls]
        cluster_texts = [
            [pairs.compare(copy) for copy in cluster.copies[:MOST_COMPARED]]
            for cluster in largest.rows
        ]
        passed(1)
        settings = connection.execute(
            "SELECT settings FROM runs WHERE ? IS NULL OR id = ?", (run, run)
        )
        report = Report(
            name,
            run,
            runs,
            kinds,
            counts.spiders(runs),
            hosts,
            counts.reasons(connection),
            counts.orphans(connection, MOST_ORPHANS),
            drawn,
            len({recorded(each) for (each,) in settings}) <= 1,
            bars,
            calls,
            call_texts,
            largest,
            cluster_texts,
            connection.execute("SELECT 1 FROM texts LIMIT 1").fetchone() is not None,
            pairs.left_out,
            times.by_run(runs, MOST_RUNS),
            course,
            listing(connection, MOST_DECISIONS),
        )
        passed(1)
    return report
