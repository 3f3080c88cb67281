"""Fuzzes pages and settings: each input must come to a verdict, or to a ConfigError, in time.

    python benchmarks/fuzz.py [--seconds 60] [--seed 1] [--json FILE]

benchmarks/README.md says what the table counts.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from fuzz_inputs import Pages, Settings, random_for
from tables import table

from scrapy_simdedup import ConfigError, Deduplicator, workers
from scrapy_simdedup.analysis import Source
from scrapy_simdedup.config import Config
from scrapy_simdedup.worker import WorkTimeoutError

_TIMEOUT = 5.0
_WORKERS = 2
# Pages that are analysed at a time, under one config.
_AT_ONCE = 8
_GOOD = ("unique", "duplicate", "revisit", "skipped")


class Fuzzer:
    """Feeds made-up inputs, and counts what comes of them; ``failures`` tells of the bad ones."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.failures: list[str] = []
        self.slowest = 0.0
        self._seed, self._folder = seed, folder
        self._pages, self._settings = Pages(seed), Settings(seed)

    def run(self, seconds: float) -> None:
        """Go on for so many seconds."""
        until = time.monotonic() + seconds
        turn = 0
        while time.monotonic() < until:
            self._judge_some(turn, self._config(turn))
            turn += 1

    def _config(self, turn: int) -> Config:
        """Return a config of made-up settings that are accepted; others are counted."""
        settings: dict[str, Any] = {}
        for _ in range(20):
            name, value = self._settings.one(random_for(self._seed, "setting", turn))
            turn += 1_000_003
            try:
                Config.from_settings({name: value})
            except ConfigError:
                self._count("settings", "refused")
            except Exception:
                self._fail("settings", f"{name} = {value!r:.200}")
            else:
                self._count("settings", "taken")
                settings[name] = value
        try:
            return Config.from_settings(settings)
        except Exception:
            self._fail("settings", f"{settings!r:.500}")
            return Config()

    def _judge_some(self, turn: int, config: Config) -> None:
        """Analyse some pages in the workers, and judge them in one index."""
        pages = [self._pages.one(turn * _AT_ONCE + at) for at in range(_AT_ONCE)]
        try:
            with Deduplicator(self._folder / f"{turn}.db", config) as dedup:
                begun = time.monotonic()
                jobs = [
                    workers.submit(
                        lambda page=page: Source.of(page),
                        dedup.recipe(),
                        workers=_WORKERS,
                        timeout=_TIMEOUT,
                    )
                    for _, page in pages
                ]
                for (url, page), job in zip(pages, jobs, strict=True):
                    self._judge(dedup, url, page, job)
                self.slowest = max(self.slowest, time.monotonic() - begun)
        except ConfigError:
            self._count("settings", "refused when used")
        except Exception:
            self._fail("pages", f"seed {self._seed}, turn {turn}: {config!r:.500}")
        for file in self._folder.iterdir():
            file.unlink()

    def _judge(self, dedup: Deduplicator, url: str, page: Any, job: Any) -> None:
        subject = dedup.page(url, (url,), Source.of(page).digest)
        try:
            analysis = job.result(timeout=_AT_ONCE * _TIMEOUT + 60)
        except WorkTimeoutError as error:
            verdict = dedup.failed(subject, error)
        except Exception as error:
            self._fail("pages", f"{url!r:.100}: {error}: {page!r:.1000}")
            return
        else:
            verdict = dedup.judge(subject, analysis, confirm=True).verdict
        if verdict.status not in _GOOD:
            self._fail("pages", f"{verdict}: {page!r:.1000}")
        self._count("pages", verdict.label)

    def _count(self, kind: str, what: str) -> None:
        self.counts[kind, what] += 1

    def _fail(self, kind: str, what: str) -> None:
        self._count(kind, "FAILED")
        self.failures.append(f"{what}\n{traceback.format_exc()}")


def main() -> int:
    """Fuzz, print the counts, and return 1 where an input did what none may do."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory(prefix="simdedup-fuzz-") as folder:
        fuzzer = Fuzzer(options.seed, Path(folder))
        fuzzer.run(options.seconds)
    rows = [[f"{kind}: {what}", f"{n:,}"] for (kind, what), n in sorted(fuzzer.counts.items())]
    print(table(["input: outcome", "number"], rows))
    print(f"slowest {_AT_ONCE} pages: {fuzzer.slowest:.1f} s; failures: {len(fuzzer.failures)}")
    for failure in fuzzer.failures[:5]:
        print(failure, file=sys.stderr)
    if options.json:
        counts = {f"{kind}/{what}": n for (kind, what), n in sorted(fuzzer.counts.items())}
        written = {"seed": options.seed, "seconds": options.seconds, "counts": counts}
        written |= {"failures": len(fuzzer.failures), "slowest_s": round(fuzzer.slowest, 3)}
        options.json.write_text(json.dumps(written, indent=2) + "\n")
    return int(bool(fuzzer.failures))


if __name__ == "__main__":
    sys.exit(main())
