"""What many pages cost, worked out from what a few were measured to cost.

    python benchmarks/scale.py [--update docs/scale.md]

All that is measured or assumed stands in ``scale_constants``; all else follows by the formulas
below.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from scale_constants import CONSTANTS, Constant
from tables import table, update

from scrapy_simdedup.index.bands import choose_width, range_count
from scrapy_simdedup.methods.base import Limits
from scrapy_simdedup.methods.sketch import ROWS

SIZES = (1_000_000, 100_000_000, 10_000_000_000)
_UNKNOWN = "to be measured"

# Rows of a kept page: its name, its body, four rotations of its fingerprint, its sketch keys.
_STORED = 2 + 4 + ROWS


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
    """Return bytes read, shuffled and written, core-hours, and hours on a cluster.

    Extraction, whose cost real pages tell, and what the job takes more than a scan.
    """
    rates = known["spark_per_second"], known["scan_per_second"]
    core_hours = None
    if None not in rates:
        job, scan = (1000 * _number(known["spark_cores"]) / _number(rate) for rate in rates)
        core_hours = _times(size / 3.6e6, _number(known["analyse_ms"]) + job - scan)
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
