"""How a judgement's cost grows with the index: from ten thousand pages on, times ten.

    python benchmarks/growth.py [--most 1000000] [--json FILE] [--plot FILE.svg]

benchmarks/README.md says what each figure is.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from figures import Figures, merged, rounded, show, versions
from index import PACKAGES
from index_file import index_of
from index_judge import judge
from index_lookup import compare
from index_peers import PEERS, measure_all
from made_up import SEED
from svg import Line, chart

_HAMMING = PEERS[0][0]
_SHARE = 0.2

# Contestant, figure, and what the plot calls it.
_LINES = (
    ("product", "p50_ms", "scrapy-simdedup, judged and kept: median"),
    ("product", "p95_ms", "scrapy-simdedup: 95th percentile"),
    (_HAMMING, "p50_ms", "1e0ng SimhashIndex, in memory: median"),
    ("bare SELECT", "p50_ms", "bare SELECT of the same ranges: median"),
)

Grown = dict[str, dict[int, Figures]]


def measure(options: argparse.Namespace) -> Grown:
    """Return the figures of each contestant by the number of pages."""
    found: Grown = {"product": {}, "bare SELECT": {}}
    pages = options.least
    while pages <= options.most:
        keep = options.keep / f"{pages}.db" if options.keep else None
        with index_of(pages, keep) as built:
            runs = [
                judge(built.path, pages, options.queries, _SHARE, turn)
                for turn in range(options.repeat)
            ]
            looked, bare = compare(built.path, pages, options.queries, _SHARE)
            on_disk = {"bytes_per_page": built.bytes_per_page, "build_s": built.seconds}
            found["product"][pages] = on_disk | merged(runs) | looked
            found["bare SELECT"][pages] = bare
        if not options.no_peers and pages <= options.peer_pages:
            peers = measure_all(pages, pages, options.queries, _SHARE, [_HAMMING])
            for name, figures in peers.items():
                found.setdefault(name, {})[pages] = figures
        for name, by_size in found.items():
            if pages in by_size:
                show(f"{name}, {pages:,} pages", by_size[pages])
        pages *= 10
    if options.no_peers:
        del found["bare SELECT"]
    return found


def plot(found: Grown) -> str:
    """Return the cost by the number of pages as SVG."""
    lines = [
        Line(title, [(pages, each[figure]) for pages, each in found[name].items()])
        for name, figure, title in _LINES
        if found.get(name)
    ]
    return chart("Cost of a page as the index grows", "pages in the index", "ms a page", lines)


def main() -> None:
    """Measure, print, plot and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--least", type=int, default=10_000)
    parser.add_argument("--most", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=5000, help="judged pages, a run")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="folder of index files, built where missing")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--peer-pages", type=int, default=1_000_000, help="1e0ng: up to so many")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    found = measure(options)
    if options.plot:
        options.plot.write_text(plot(found), encoding="utf-8")
    if options.json:
        # The figures of the largest index by their names, and those of all sizes.
        written = {
            name: rounded(by_size[max(by_size)])
            | {"by_pages": {str(pages): rounded(each) for pages, each in by_size.items()}}
            for name, by_size in found.items()
            if by_size
        }
        meta = {
            "seed": SEED,
            "queries": options.queries,
            "share": _SHARE,
            "repeat": options.repeat,
            "versions": versions(PACKAGES),
        }
        options.json.write_text(json.dumps({**written, "meta": meta}, indent=2) + "\n")


if __name__ == "__main__":
    main()
