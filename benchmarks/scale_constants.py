"""What ``scale.py`` works from: each figure with the command that measures it.

One that is None has not been measured yet, and what follows from it is told as such.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Constant:
    """A figure that the others are worked out from, and where it comes from."""

    value: float | None
    meaning: str
    source: str


CONSTANTS = {
    "analyse_ms": Constant(
        12.60, "CPU time to extract and sign a page, ms", "crawl.py, workers_cpu_ms"
    ),
    "sqlite_bytes": Constant(
        1179, "SQLite: bytes of index a page", "growth.py at 10 million, bytes_per_page"
    ),
    "sqlite_ms": Constant(1.01, "SQLite: a judgement, ms", "growth.py at 10 million, p50_ms"),
    "disk_ms": Constant(0.1, "reading a page of a file that is not cached, ms", "assumed"),
    "redis_bytes": Constant(
        1173, "Redis: bytes of memory a page", "redis_index.py at 1 million, bytes_per_page"
    ),
    "redis_recognise_trips": Constant(
        1.0, "Redis: round trips to see that a body is new", "redis_index.py, recognise_trips"
    ),
    "redis_judge_trips": Constant(2.2, "Redis: round trips to judge", "redis_index.py, trips"),
    "redis_confirm_trips": Constant(
        1.0, "Redis: round trips to confirm a claim", "redis_index.py, confirm_trips"
    ),
    "redis_per_second": Constant(
        893,
        "Redis: pages a second that one server judges, whoever asks",
        "redis_index.py, saturated_per_second",
    ),
    "trip_ms": Constant(0.5, "a round trip between two machines, ms", "assumed"),
    "spark_per_second": Constant(
        190.15, "Spark: made-up pages a second on two cores", "spark.py at 20,000, per_second"
    ),
    "scan_per_second": Constant(
        235.01, "a scan of the same pages on the same cores", "spark.py at 20,000, per_second"
    ),
    "spark_cores": Constant(2, "their number", "spark.py, cores"),
    "spark_shuffle_bytes": Constant(
        29_675, "Spark: bytes shuffled a page", "spark.py at 20,000, shuffle_bytes_per_page"
    ),
    "spark_result_bytes": Constant(
        341, "Spark: bytes of result a page", "spark.py at 20,000, result_bytes_per_page"
    ),
    "html_bytes": Constant(70_000, "HTML of a page, bytes", "assumed"),
    "redis_memory": Constant(64e9, "memory of a Redis server, bytes", "assumed"),
    "cores": Constant(256, "cores of a cluster", "assumed"),
}
