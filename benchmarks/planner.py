"""What a Hamming look-up is made of: the cost of a range query, of a row, of a scan.

The planner (scrapy_simdedup/index/bands.py) chooses by these figures. Run it on the machine in
question and compare with the constants there; what matters is their ratios.

    python benchmarks/planner.py [--pages 1000000] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from itertools import cycle
from pathlib import Path

import numpy as np

from scrapy_simdedup.index import bands
from scrapy_simdedup.index.bands import Plan, choose_width
from scrapy_simdedup.index.lookup import Lookup

SEED = 20260101


def table(folder: Path, pages: int) -> sqlite3.Connection:
    """Return a ``bands`` table of uniform fingerprints under four rotations, built in bulk."""
    rng = np.random.default_rng(SEED)
    values = rng.integers(0, 2**64, size=pages, dtype=np.uint64)
    connection = sqlite3.connect(folder / "bands.db")
    # As the index opens its file.
    connection.execute("PRAGMA cache_size = -65536")
    connection.execute("PRAGMA mmap_size = 0")
    connection.execute(
        "CREATE TABLE bands (band INTEGER, key INTEGER, page INTEGER,"
        " PRIMARY KEY (band, key, page)) WITHOUT ROWID"
    )
    for band in range(4):
        turn = np.uint64(16 * band)
        keys = (values << turn) | (values >> np.uint64(64 - 16 * band)) if band else values
        order = np.argsort(keys)
        stored = (keys[order] ^ np.uint64(1 << 63)).view(np.int64)
        rows = zip([band] * pages, stored.tolist(), order.tolist(), strict=True)
        connection.executemany("INSERT INTO bands VALUES (?, ?, ?)", rows)
    connection.commit()
    return connection


def timed(work: Callable[[], int], times: int) -> tuple[float, float]:
    """Return the median microseconds of a call, and how many rows it returned on average."""
    took, rows = [], []
    for _ in range(times):
        start = time.perf_counter()
        rows.append(work())
        took.append((time.perf_counter() - start) * 1e6)
    return statistics.median(took), statistics.mean(rows)


def measure(pages: int) -> dict[str, float]:
    """Return the three costs in microseconds, by timing narrow and wide ranges and a scan."""
    rng = np.random.default_rng(SEED + 1)
    with tempfile.TemporaryDirectory() as folder:
        connection = table(Path(folder), pages)
        # As a judgement is: outside a transaction each statement would begin one of its own.
        connection.execute("BEGIN")
        lookup = Lookup(connection, lambda _: [])

        def ask(width: int, ranges: int) -> Callable[[], int]:
            below = 64 - width
            lows = rng.integers(0, 2**width, size=(300, ranges)).tolist()
            plans = cycle(
                Plan(
                    [
                        (at % 4, low << below, (low << below) | ((1 << below) - 1))
                        for at, low in enumerate(each)
                    ],
                    most_rows=10**6,
                )
                for each in lows
            )
            return lambda: len(lookup.find(0, 0, next(plans)))

        # As plans are: many ranges that are nearly empty, or four with hundreds of rows.
        narrow, few = (each / 64 for each in timed(ask(32, 64), 900))
        wide, many = (each / 4 for each in timed(ask(max(1, int(np.log2(pages)) - 8), 4), 900))
        keys = rng.integers(0, 2**64, size=pages, dtype=np.uint64)
        query = np.uint64(int(rng.integers(0, 2**63)))
        scan, _ = timed(lambda: int((np.bitwise_count(keys ^ query) <= 3).sum()), 30)
        connection.close()
    per_row = (wide - narrow) / (many - few)
    return {"range_us": narrow - few * per_row, "row_us": per_row, "scan_us": scan / pages}


def main() -> None:
    """Print the costs, and which plan the planner chooses where."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    runs = [measure(options.pages) for _ in range(3)]
    found = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
    known = {
        "range_us": bands.RANGE_COST,
        "row_us": bands.ROW_COST,
        "scan_us": bands.SCAN_COST,
    }
    print(f"{'cost':<10} {'measured':>10} {'planner':>10}")
    for name, value in found.items():
        print(f"{name:<10} {value:>10.4f} {known[name]:>10.4f}")
    print("\nprefix width by limit and pages (0: scan)")
    sizes = [10_000, 100_000, 1_000_000, 10_000_000]
    print("limit " + " ".join(f"{size:>11,}" for size in sizes))
    for limit in range(11):
        print(f"{limit:>5} " + " ".join(f"{choose_width(limit, size):>11}" for size in sizes))
    if options.json:
        options.json.write_text(json.dumps({"product": found}, indent=2))


if __name__ == "__main__":
    main()
