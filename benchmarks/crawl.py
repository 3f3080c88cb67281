"""What a crawl with the plugin costs: pages a second, lag of the event loop, memory.

    python benchmarks/crawl.py [--pages DIR] [--most 600] [--repeat 3] [--workers auto]
    python benchmarks/crawl.py [--pages DIR] --repeat-pages 20000

Each crawl is a process of its own and gets its pages from a local server. See README.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import crawl_bare
from crawl_pages import made_up, read
from crawl_report import (
    ALONE,
    BARE,
    EXTRACTION,
    FIRST,
    SECOND,
    Runs,
    crawl_table,
    growth,
    peers,
    product,
    ratio_lines,
)
from crawl_site import Site
from figures import rounded
from tables import table

from scrapy_simdedup.config import Config

SEED = 20260101
CHILD = Path(__file__).with_name("crawl_child.py")
NAMES = ("scrapy", "twisted", "trafilatura", "lxml", "numpy", "scrapy-simdedup")


class Bench:
    """Crawls a site, each time in a fresh process."""

    def __init__(self, site: Site, pages: int, folder: Path) -> None:
        self._site, self._pages, self._folder = site, pages, folder
        self._indexes = 0
        #: What became of the pages, by contestant; of the last crawl.
        self.statuses: dict[str, dict[str, int]] = {}

    def crawl(self, kind: str, name: str, workers: int, **options: Any) -> dict[str, Any]:
        """Return what the meter wrote. Ends the benchmark where pages are missing."""
        out, spec = self._folder / "out.json", self._folder / "spec.json"
        out.unlink(missing_ok=True)
        told = {
            "site": self._site.base,
            "paths": "/pages/",
            "pages": self._pages,
            "kind": kind,
            "out": str(out),
            **options,
            "settings": {
                "SIMDEDUP_WORKERS": workers,
                "SIMDEDUP_INDEX": str(self._folder / f"index-{self._indexes}.db"),
            },
        }
        spec.write_text(json.dumps(told))
        done = subprocess.run(
            [sys.executable, str(CHILD), str(spec)],
            cwd=self._folder,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        made: dict[str, Any] = json.loads(out.read_text()) if out.exists() else {"pages": 0}
        if done.returncode or made["pages"] != told["pages"]:
            raise SystemExit(f"{name}: {made['pages']} of {told['pages']} pages\n{done.stderr}")
        self.statuses[name] = made["statuses"]
        return made

    def new_index(self) -> None:
        """Let the next crawl begin with an empty index."""
        self._indexes += 1

    def round(self, runs: Runs, workers: int, turn: int) -> None:
        """Let each contestant run once, but for Scrapy alone; ``turn`` says who begins."""

        def plugin() -> None:
            self.new_index()
            for name in (FIRST, SECOND):
                runs[name].append(self.crawl("with the plugin", name, workers)["figures"])

        def extraction() -> None:
            runs[EXTRACTION].append(self.crawl(EXTRACTION, EXTRACTION, workers)["figures"])

        def bare() -> None:
            site = self._folder / "site.pickle"
            found = crawl_bare.per_second(site, self._pages, max(1, workers))
            runs[BARE].append({"per_second": found, "ms_a_page": 1000 / found})

        contestants = [extraction, plugin, bare]
        for at in range(len(contestants)):
            contestants[(at + turn) % len(contestants)]()


def numbers(text: str) -> list[int]:
    """Return the numbers of workers of a comma list; ``auto`` is what the plugin makes of it."""
    return [Config.from_settings({"SIMDEDUP_WORKERS": each}).workers for each in text.split(",")]


def compare(bench: Bench, workers: Sequence[int], repeat: int) -> dict[str, Any]:
    """Run all contestants for each number of workers; print and return what came of it."""
    names = (ALONE, EXTRACTION, FIRST, SECOND, BARE)
    runs: dict[int, Runs] = {count: {name: [] for name in names} for count in workers}
    for turn in range(repeat):
        alone = bench.crawl(ALONE, ALONE, 0)["figures"]
        for count in workers:
            runs[count][ALONE].append(alone)
            bench.round(runs[count], count, turn)
    found = {}
    for count in workers:
        own = product(runs[count])
        found[str(count)] = {"product": own, **peers(runs[count])}
        print(f"\n{count} workers, medians of {repeat}\n\n{crawl_table(runs[count])}\n")
        print(ratio_lines(own))
    for name in (FIRST, SECOND):
        told = Counter(bench.statuses[name]).most_common()
        print(f"{name}: {', '.join(f'{number} {status}' for status, number in told)}")
    first = found[str(workers[0])]
    more = {"by_workers": found} if len(workers) > 1 else {}
    return {**first, **more, "runs": {str(count): made for count, made in runs.items()}}


def grow(bench: Bench, workers: int, pages: int) -> dict[str, Any]:
    """Crawl variations; print and return how memory grows with the plugin and without."""
    mark = min(2000, max(1, pages // 10))
    found: dict[str, Any] = {}
    options = {"paths": "/many/", "pages": pages, "sample": True}
    for kind, name in ((ALONE, ALONE), ("with the plugin", FIRST)):
        made = bench.crawl(kind, name, workers, **options)
        last = (pages, *made["samples"][-1][1:]) if made["samples"] else (pages, 0.0, 0.0, 0.0)
        samples = [*made["samples"], last]
        peak = {"peak_rss_mb": made["figures"]["rss_mb"]}
        found[name] = rounded({**made["figures"], **peak, **growth(samples, mark)})
    rows = [
        [
            f"{name}: {what}",
            *(f"{found[name][key + end]:.1f}" for end in (f"_after_{mark}", "", "_per_1000")),
        ]
        for name in found
        for key, what in (
            ("rss_mb", "main process"),
            ("rss_own_mb", "without mapped files"),
            ("workers_rss_mb", "workers"),
        )
    ]
    print(table(["MB", f"after {mark} pages", f"after {pages}", "per 1,000 pages"], rows))
    print(f"{found[FIRST]['per_second']:.1f} pages/s with the plugin: {bench.statuses[FIRST]}")
    return {"product": found.pop(FIRST), **found}


def main() -> None:
    """Crawl, and print and write what it cost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=Path, help="a folder of sets; made-up pages without it")
    parser.add_argument("--most", type=int, default=600, help="so many pages at most")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--workers", default="auto", help="a number, auto, or several of them")
    parser.add_argument("--repeat-pages", type=int, help="measure memory over so many pages")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    workers = numbers(options.workers)
    pages = read(options.pages, options.most) if options.pages else made_up(options.most, SEED)
    if not pages:
        raise SystemExit(f"no pages/*.html below {options.pages}")
    print(f"{len(pages)} pages of {sum(map(len, pages)) / len(pages) / 1024:.0f} KB on average")
    with tempfile.TemporaryDirectory() as name, Site(pages, SEED, Path(name)) as site:
        bench = Bench(site, len(pages), Path(name))
        if options.repeat_pages:
            found = grow(bench, workers[0], options.repeat_pages)
        else:
            found = compare(bench, workers, options.repeat)
    found["meta"] = {
        "seed": SEED,
        "workers": workers,
        "pages": options.repeat_pages or len(pages),
        "made_up": options.pages is None,
        "repeat": options.repeat,
        "cpus": os.cpu_count(),
        "statuses": bench.statuses,
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in NAMES},
        },
    }
    if options.json:
        options.json.write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
