"""What many pages cost, worked out from what a few were measured to cost.

    python benchmarks/scale.py [--update docs/scale.md]

All that is measured or assumed stands in ``CONSTANTS``, with the command that measures it; all
else follows by the formulas below. A constant that is None has not been measured yet, and what
follows from it is told as such.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tables import table, update

from scrapy_simdedup.index.bands import choose_width, range_count
from scrapy_simdedup.methods.base import Limits
from scrapy_simdedup.methods.sketch import ROWS

SIZES = (1_000_000, 100_000_000, 10_000_000_000)
_UNKNOWN = "to be measured"

# Rows of a kept page: its name, its body, four rotations of its fingerprint, its sketch keys.
_STORED = 2 + 4 + ROWS


@dataclass(frozen=True)
class Constant:
    """A figure that the others are worked out from, and where it comes from."""

    value: float | None
    meaning: str
    source: str


CONSTANTS = {
    "analyse_ms": Constant(
        14.7, "CPU time to extract and sign a page, ms", "crawl.py, workers_cpu_ms"
    ),
    "sqlite_bytes": Constant(
        1167, "SQLite: bytes of index a page", "index.py at 10 million, bytes_per_page"
    ),
    "sqlite_ms": Constant(0.78, "SQLite: a judgement, ms", "index.py at 10 million, p50_ms"),
    "disk_ms": Constant(0.1, "reading a page of a file that is not cached, ms", "assumed"),
    "redis_bytes": Constant(
        None, "Redis: bytes of memory a page", "redis_index.py at 1 million, bytes_per_page"
    ),
    "redis_recognise_trips": Constant(
        None, "Redis: round trips to see that a body is new", "redis_index.py, recognise_trips"
    ),
    "redis_judge_trips": Constant(None, "Redis: round trips to judge", "redis_index.py, trips"),
    "redis_confirm_trips": Constant(
        None, "Redis: round trips to confirm a claim", "redis_index.py, confirm_trips"
    ),
    "redis_per_second": Constant(
        None,
        "Redis: pages a second that one server judges, whoever asks",
        "redis_index.py, saturated_per_second",
    ),
    "trip_ms": Constant(0.5, "a round trip between two machines, ms", "assumed"),
    "spark_per_second": Constant(
        None, "Spark: pages a second and core, extraction included", "spark.py, per_second / cores"
    ),
    "spark_shuffle_bytes": Constant(
        None, "Spark: bytes shuffled a page", "spark.py, shuffle_bytes_per_page"
    ),
    "spark_result_bytes": Constant(
        None, "Spark: bytes of result a page", "spark.py, result_bytes_per_page"
    ),
    "html_bytes": Constant(70_000, "HTML of a page, bytes", "assumed"),
    "redis_memory": Constant(64e9, "memory of a Redis server, bytes", "assumed"),
    "cores": Constant(256, "cores of a cluster", "assumed"),
}
Values = Mapping[str, float | None]


def lookups(size: int) -> dict[str, float]:
    """Return what a look-up in an index of so many pages reads, for uniform fingerprints.

    ``ranges`` of fingerprints at limit k, by prefixes of ``width`` bits, which hold
    ``ranges * size / 2**width`` rows by chance; and one range for each sketch key.
    """
    limit = Limits().distances[0][1]
    width = choose_width(limit, size)
    ranges = range_count(limit, width, 64)
    near = sum(math.comb(64, bits) for bits in range(limit + 1)) / 2**64
    return {
        "width": width,
        "ranges": ranges,
        "rows": ranges * size / 2**width,
        "sketch_ranges": ROWS,
        "meet": near * size,
    }


def sqlite(size: int, known: Values) -> dict[str, float | None]:
    """Return bytes on disk, and hours of judging: one writer at a time.

    ``touched`` are the places of the file that a judgement reads or writes: each range, and each
    row that is stored, is somewhere else.
    """
    looked = lookups(size)
    touched = looked["ranges"] + looked["sketch_ranges"] + _STORED
    return {
        "bytes": _times(size, known["sqlite_bytes"]),
        "hours": _times(size / 3.6e6, known["sqlite_ms"]),
        "touched": touched,
        "disk_hours": _times(size / 3.6e6 * touched, known["disk_ms"]),
        "core_hours": _times(size / 3.6e6, known["analyse_ms"]),
    }


def redis(size: int, known: Values) -> dict[str, float | None]:
    """Return bytes of memory, servers that hold them, hours on these, and of round trips.

    Each page of the index was new, judged and confirmed. The crawlers wait for round trips all
    at the same time, so their hours divide by the number of these.
    """
    memory = _times(size, known["redis_bytes"])
    servers = None if memory is None else math.ceil(memory / _number(known["redis_memory"]))
    rate = _times(servers, known["redis_per_second"])
    each = [known[f"redis_{step}_trips"] for step in ("recognise", "judge", "confirm")]
    trips = None if None in each else _times(size, sum(map(_number, each)))
    return {
        "bytes": memory,
        "servers": servers,
        "hours": None if rate is None else size / rate / 3600,
        "trips": trips,
        "waiting": _times(trips, _number(known["trip_ms"]) / 3.6e6),
    }


def spark(size: int, known: Values) -> dict[str, float | None]:
    """Return bytes read, shuffled and written, core-hours, and hours on a cluster."""
    rate = known["spark_per_second"]
    core_hours = None if rate is None else size / rate / 3600
    return {
        "read": _times(size, known["html_bytes"]),
        "shuffled": _times(size, known["spark_shuffle_bytes"]),
        "written": _times(size, known["spark_result_bytes"]),
        "core_hours": core_hours,
        "hours": None if core_hours is None else core_hours / _number(known["cores"]),
    }


def _times(count: float | None, each: float | None) -> float | None:
    return None if count is None or each is None else count * each


def _number(value: float | None) -> float:
    assert value is not None
    return value


def report(constants: Mapping[str, Constant]) -> dict[str, str]:
    """Return the parts of docs/scale.md."""
    known = {name: each.value for name, each in constants.items()}
    rows = [
        [f"`{name}`", each.meaning, _plain(each.value), each.source]
        for name, each in constants.items()
    ]
    return {
        "constants": table(["constant", "what it is", "value", "from"], rows),
        "lookups": _by_size(
            lookups,
            {
                "width": ("prefix, bits", _plain),
                "ranges": ("ranges of fingerprints", _plain),
                "rows": ("rows in them by chance", _plain),
                "sketch_ranges": ("ranges of sketch keys", _plain),
                "meet": ("unrelated pages within 3 bits, by chance", _plain),
            },
        ),
        "sqlite": _by_size(
            lambda size: sqlite(size, known),
            {
                "bytes": ("disk", _bytes),
                "hours": ("judging, cached, hours", _plain),
                "touched": ("places touched", _plain),
                "disk_hours": ("judging, from disk, hours", _plain),
                "core_hours": ("extraction, core-hours", _plain),
            },
        ),
        "redis": _by_size(
            lambda size: redis(size, known),
            {
                "bytes": ("memory", _bytes),
                "servers": ("servers", _plain),
                "hours": ("judging on all of them, hours", _plain),
                "trips": ("round trips", _plain),
                "waiting": ("waiting for these, crawler-hours", _plain),
            },
        ),
        "spark": _by_size(
            lambda size: spark(size, known),
            {
                "read": ("read", _bytes),
                "shuffled": ("shuffled", _bytes),
                "written": ("written", _bytes),
                "core_hours": ("core-hours", _plain),
                "hours": ("hours on the cluster", _plain),
            },
        ),
    }


def _by_size(
    work_out: Callable[[int], Mapping[str, float | None]],
    columns: Mapping[str, tuple[str, Callable[[float | None], str]]],
) -> str:
    rows = []
    for size in SIZES:
        found = work_out(size)
        cells = [shown(found[name]) for name, (_, shown) in columns.items()]
        rows.append([f"{size:,}", *cells])
    return table(["pages", *(head for head, _ in columns.values())], rows)


def _plain(value: float | None) -> str:
    if value is None:
        return _UNKNOWN
    if value and abs(value) < 0.01:
        return f"{value:.1e}"
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"


def _bytes(value: float | None) -> str:
    if value is None:
        return _UNKNOWN
    for unit, size in (("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.0f} B"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables, and write them into the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", type=Path, help="file whose marked parts become the tables")
    asked = parser.parse_args(arguments)
    parts = report(CONSTANTS)
    print("\n\n".join(parts.values()))
    if asked.update:
        update(asked.update, parts)


if __name__ == "__main__":
    main()
