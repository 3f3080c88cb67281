"""What an index of many pages costs: a judgement's time, recall, memory, disk; and its peers'.

    python benchmarks/index.py [--pages 100000] [--keep FILE] [--skew] [--json FILE]

benchmarks/README.md says what each figure is.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
from pathlib import Path
from typing import Any

from figures import Figures, merged, noise, percentiles, rounded, show, versions
from index_file import index_of
from index_judge import Several, judge
from index_lookup import compare
from index_peers import PEERS, measure_all
from made_up import IDENTICAL, PREFIX, SEED, TEMPLATE

PACKAGES = ("scrapy-simdedup", "numpy", "simhash", "faiss-cpu", "datasketch")


def measure(options: argparse.Namespace) -> dict[str, Figures]:
    """Return the figures of the product, and of the bare SELECT on the same file."""
    pages, share = options.pages, options.share
    with index_of(pages, options.keep) as built:
        product: Figures = {"bytes_per_page": built.bytes_per_page, "build_s": built.seconds}
        runs = [
            judge(built.path, pages, options.queries, share, turn) for turn in range(options.repeat)
        ]
        product |= merged(runs)
        looked = [compare(built.path, pages, options.queries, share) for _ in range(options.repeat)]
        product |= merged([each for each, _ in looked])
        several = Several(built.path, pages, share, options.processes)
        runs = [
            several.steady(options.seconds, options.rate, turn)
            | several.saturated(options.queries, turn)
            for turn in range(options.repeat if options.processes else 0)
        ]
        if runs:
            product |= {"processes": options.processes, **merged(runs)}
    return {"product": product, "bare SELECT": merged([each for _, each in looked])}


def measure_skewed(options: argparse.Namespace) -> Figures:
    """Return a judgement's time where the index's pages are alike."""
    figures: Figures = {"skew_pages": options.skew_pages}
    for kind in (PREFIX, TEMPLATE, IDENTICAL):
        with index_of(options.skew_pages, kind=kind) as built:
            count = min(options.queries, 2000)
            runs = [
                judge(built.path, options.skew_pages, count, options.share, turn, kind)
                for turn in range(options.repeat)
            ]
            found = merged(runs)
            wanted = (*percentiles([0.0]), "recall", "rss_mb")
            figures |= {f"{kind}_{name}": found[name] for name in wanted if name in found}
    return figures


def main() -> None:
    """Measure, print and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=5000, help="judged pages, a run")
    parser.add_argument("--share", type=float, default=0.2, help="of them near-duplicates")
    parser.add_argument("--processes", type=int, default=4, help="on one file; 0: not measured")
    parser.add_argument("--rate", type=float, default=50, help="pages a second and process")
    parser.add_argument("--seconds", type=float, default=10, help="of judging at that rate")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="the index file, built where it is missing")
    parser.add_argument("--skew", action="store_true", help="pages that are alike as well")
    parser.add_argument("--skew-pages", type=int, default=100_000)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--peer-pages", type=int, help="of peers that need much memory")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    control = noise()
    show("pure work, for comparison", control)
    found = measure(options)
    if options.skew:
        found["product"] |= measure_skewed(options)
    if options.no_peers:
        del found["bare SELECT"]
    for name, figures in found.items():
        show(name, figures)
    if not options.no_peers:
        most = options.peer_pages or min(options.pages, 100_000)
        for name in (peer[0] for peer in PEERS):
            peers = measure_all(options.pages, most, options.queries, options.share, [name])
            for figures in peers.values():
                show(name, figures)
            found |= peers
    meta: dict[str, Any] = {
        "seed": SEED,
        **{name: getattr(options, name) for name in ("pages", "queries", "share", "repeat")},
        "pure_work": rounded(control),
        "versions": {**versions(PACKAGES), "sqlite": sqlite3.sqlite_version},
    }
    if options.json:
        written = {name: rounded(figures) for name, figures in found.items()}
        options.json.write_text(json.dumps({**written, "meta": meta}, indent=2) + "\n")


if __name__ == "__main__":
    main()
