"""A long crawl with faults: two crawlers of one index, killed, starved of locks, fed with worse.

    python benchmarks/soak.py [--minutes 60] [--seed 1] [--json FILE]

benchmarks/README.md says what is done and what the figures are; the exit code is 1 where
anything was lost.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from soak_site import SoakSite

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from invariants import wrong_with

_METHODS = ("simhash", "sketch")
# Between two faults of a kind, in seconds, on average; crawler a is killed so often.
_EVERY = {"worker killed": 7.0, "lock held": 20.0, "checkpoint": 9.0, "crawl killed": 75.0}
_LONGEST_LOCK = 5.0
# Pages that are asked for again after a kill: more than can be on their way.
_AGAIN = 64


class Crawler:
    """A crawler process, started again when it was killed; ``rss`` is what it had in memory."""

    def __init__(self, name: str, site: SoakSite, folder: Path) -> None:
        self.name, self.lives = name, 0
        self.rss: list[float] = []
        self._site, self._folder = site, folder

    def start(self, numbers: list[int] | None = None) -> None:
        """Start it where it was, or for these pages alone."""
        begin = max(0, self._site.highest[self.name] - _AGAIN) if self.lives else 0
        # What a kill left of Scrapy's own queue on disk may be torn, and then does not open.
        shutil.rmtree(self._folder / f"job-{self.name}" / "requests.queue", ignore_errors=True)
        spec = {
            "settings": {
                "SIMDEDUP_INDEX": str(self._folder / "index.db"),
                "SIMDEDUP_WORKERS": 1,
                "SOAK_STORE": str(self._folder / "stored"),
                "LOG_FILE": str(self._folder / f"{self.name}-{self.lives}.log"),
                **({} if numbers else {"JOBDIR": str(self._folder / f"job-{self.name}")}),
            },
            "arguments": {
                "name": self.name,
                "site": f"{self._site.base}/{self.name}",
                "begin": begin,
                "numbers": numbers,
            },
        }
        script = Path(__file__).with_name("soak_crawl.py")
        self.process = subprocess.Popen([sys.executable, str(script), json.dumps(spec)])
        self.lives += 1
        self.rss = []

    def measure(self) -> None:
        """Take note of its memory, in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        if found := re.search(r"RssAnon:\s+(\d+) kB", status):
            self.rss.append(int(found[1]) / 1024)

    def last_words(self) -> str:
        """Tell how it ended by itself, and what it logged last."""
        log = self._folder / f"{self.name}-{self.lives - 1}.log"
        told = log.read_text(errors="replace").splitlines()[-40:] if log.exists() else []
        code = self.process.returncode
        return "\n".join([f"crawler {self.name} ended by itself (exit code {code})", *told])

    def workers(self) -> list[int]:
        """Return the process ids of its workers."""
        task = Path(f"/proc/{self.process.pid}/task")
        found = [path.read_text().split() for path in task.glob("*/children")]
        return [int(pid) for pids in found for pid in pids]


class Soak:
    """The faults, one after the other, and the check at the end."""

    def __init__(self, seed: int, folder: Path, hurry: float) -> None:
        self._hurry = hurry
        self.faults: Counter[str] = Counter()
        self._pick = random.Random(seed)
        self._folder, self._index = folder, folder / "index.db"
        self.site = SoakSite(seed)
        self.crawlers = [Crawler(name, self.site, folder) for name in "ab"]

    def run(self, minutes: float) -> None:
        """Crawl for so long, in spite of everything."""
        for crawler in self.crawlers:
            crawler.start()
        begun = time.monotonic()
        due = {kind: begun + 8 + self._after(kind) for kind in _EVERY}
        while time.monotonic() < begun + minutes * 60:
            time.sleep(0.5)
            for crawler in self.crawlers:
                if crawler.process.poll() is not None:
                    raise SystemExit(crawler.last_words())
                crawler.measure()
            for kind in _EVERY:
                if time.monotonic() > due[kind] and self._index.exists():
                    self._cause(kind)
                    due[kind] = time.monotonic() + self._after(kind)
        for crawler in self.crawlers:
            crawler.process.send_signal(signal.SIGINT)
        for crawler in self.crawlers:
            crawler.process.wait(timeout=120)

    def _after(self, kind: str) -> float:
        return self._pick.uniform(0.5, 1.5) * _EVERY[kind] / self._hurry

    def _cause(self, kind: str) -> None:
        if kind == "crawl killed":
            self.crawlers[0].process.kill()
            self.crawlers[0].process.wait()
            self.crawlers[0].start()
        elif kind == "worker killed":
            victims = self._pick.choice(self.crawlers).workers()
            if not victims:
                return
            os.kill(self._pick.choice(victims), signal.SIGKILL)
        else:
            with closing(sqlite3.connect(self._index, timeout=5, isolation_level=None)) as other:
                if kind == "checkpoint":
                    other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                else:
                    other.execute("BEGIN IMMEDIATE")
                    time.sleep(self._pick.uniform(0.1, _LONGEST_LOCK))
                    other.execute("ROLLBACK")
        self.faults[kind] += 1

    def finish(self) -> dict[str, Any]:
        """Crawl what was on its way when a process died, and return what is lost: nothing."""
        served = {name: self.site.highest[name] + 1 for name in "ab"}
        again = {name: self._undecided(name, served[name]) for name in "ab"}
        for crawler in self.crawlers:
            if again[crawler.name]:
                crawler.start(again[crawler.name])
                crawler.process.wait(timeout=600)
        stored = self._stored()
        texts = Counter(
            self.site.text_of(number) for _, number in stored if not self.site.is_hostile(number)
        )
        wanted = {
            self.site.text_of(number)
            for name in "ab"
            for number in range(served[name])
            if not self.site.is_hostile(number)
        }
        logs = "".join(path.read_text(errors="replace") for path in self._folder.glob("*.log"))
        return {
            "pages": sum(served.values()),
            "texts": len(wanted),
            "lost texts": len(wanted - set(texts)),
            "copies let through": sum(texts.values()) - len(texts),
            "crawled again at the end": sum(map(len, again.values())),
            "wrong with the index": wrong_with(self._index, _METHODS),
            "pages in the index": self._ask("SELECT count(*) FROM pages"),
            "orphaned": self._ask("SELECT count(*) FROM decisions WHERE status = 'orphaned'"),
            "skipped for time": self._ask("SELECT count(*) FROM decisions WHERE reason='timeout'"),
            "errors": self._ask("SELECT count(*) FROM decisions WHERE status = 'error'"),
            "tracebacks in the logs": logs.count("Traceback"),
            "told that it was locked": logs.count("database is locked"),
        }

    def _stored(self) -> list[tuple[str, int]]:
        lines = (self._folder / "stored").read_text().split()
        return [(url.split("/")[-2], int(url.rpartition("/")[2])) for url in lines]

    def _ask(self, query: str) -> int:
        with closing(sqlite3.connect(self._index)) as index:
            return int(index.execute(query).fetchone()[0])

    def _undecided(self, name: str, served: int) -> list[int]:
        """Return the pages of a site that are neither stored nor copies."""
        with closing(sqlite3.connect(self._index)) as index:
            urls = index.execute("SELECT DISTINCT url FROM decisions WHERE status = 'duplicate'")
            done = {url for (url,) in urls}
        done |= {f"{self.site.base}/{site}/{number}" for site, number in self._stored()}
        return [n for n in range(served) if f"{self.site.base}/{name}/{n}" not in done]


def main() -> int:
    """Run the soak, print its figures, and return 1 where something was lost or is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hurry", type=float, default=1, help="faults come so much faster")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--keep", type=Path, help="a folder that keeps the index and the logs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="simdedup-soak-") as passing:
        folder = options.keep or Path(passing)
        folder.mkdir(parents=True, exist_ok=True)
        soak = Soak(options.seed, folder, options.hurry)
        try:
            soak.run(options.minutes)
            # The one that was never killed, after its first half minute.
            every = soak.crawlers[1].rss
            rss = every[min(60, len(every) // 2) :]
            memory = {"rss_start_mb": round(rss[0], 1), "rss_end_mb": round(rss[-1], 1)}
            memory["rss_most_mb"] = round(max(rss), 1)
            figures = {"minutes": options.minutes, **soak.faults, **soak.finish(), **memory}
        finally:
            for crawler in soak.crawlers:
                crawler.process.kill()
    for name, value in figures.items():
        print(f"{name:<26} {value}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")
    return int(bool(figures["lost texts"] or figures["wrong with the index"]))


if __name__ == "__main__":
    sys.exit(main())
