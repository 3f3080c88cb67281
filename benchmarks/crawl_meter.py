"""What a crawl costs: pages a second, lag of the event loop, CPU time and memory.

Memory and the CPU time of workers are read from ``/proc``; without one they are 0.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from array import array
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scrapy import Request, signals

PROC = Path("/proc")
# The lag is how much later than this the loop wakes a sleeper, in seconds.
NAP = 0.005


def children(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    found = []
    for folder in PROC.glob("[0-9]*"):
        try:
            after = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(after[1]) == pid:
            found.append(int(folder.name))
    return found


def memory(pid: int) -> dict[str, float]:
    """Return a process's ``VmRSS``, ``VmHWM`` (its peak) and ``RssAnon`` in MB."""
    try:
        lines = (PROC / str(pid) / "status").read_text().splitlines()
    except OSError:
        lines = []
    fields = dict(line.split(":", 1) for line in lines)
    wanted = ("VmRSS", "VmHWM", "RssAnon")
    return {name: int(fields[name].split()[0]) / 1024 if name in fields else 0 for name in wanted}


def cpu_seconds(pids: Sequence[int]) -> float:
    """Return the CPU time that processes have used so far."""
    ticks = 0
    for pid in pids:
        try:
            after = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += int(after[11]) + int(after[12])
    return ticks / os.sysconf("SC_CLK_TCK")


class Meter:
    """Measures from the first response to the last item; an extension.

    The pages before the clock starts are told by ``warm`` in their request's meta.
    """

    @classmethod
    def from_crawler(cls, crawler: Any) -> Meter:
        """Join a crawler."""
        return cls(crawler)

    def __init__(self, crawler: Any) -> None:
        self._spec = crawler.settings.getdict("BENCHMARK")
        self._lags = array("f")
        self._statuses: Counter[str] = Counter()
        self._samples: list[tuple[float, ...]] = []
        self._pages = self._failed = 0
        self._began = self._ended = 0.0
        self._tasks: list[asyncio.Task[None]] = []
        self._crawler = crawler
        connect = crawler.signals.connect
        connect(self._opened, signals.spider_opened)
        connect(self._downloaded, signals.response_downloaded)
        connect(self._scraped, signals.item_scraped)
        connect(self._closed, signals.spider_closed)

    def _opened(self) -> None:
        watched = [self._watch()]
        if self._spec["sample"]:
            watched.append(self._sample())
        self._tasks = [asyncio.ensure_future(each) for each in watched]

    def _downloaded(self, request: Request) -> None:
        if request.meta.get("warm"):
            return
        self._crawler.signals.disconnect(self._downloaded, signals.response_downloaded)
        self._workers = children(os.getpid())
        self._workers_cpu = cpu_seconds(self._workers)
        self._cpu = time.process_time()
        self._began = self._ended = time.perf_counter()

    def _scraped(self, item: Any) -> None:
        self._pages += 1
        self._statuses[item["status"]] += 1
        if self._pages == self._spec["pages"]:
            self._ended = time.perf_counter()
            self._cpu = time.process_time() - self._cpu

    async def _watch(self) -> None:
        clock = time.perf_counter
        while True:
            due = clock() + NAP
            await asyncio.sleep(NAP)
            if self._began and self._pages < self._spec["pages"]:
                self._lags.append(clock() - due)

    async def _sample(self) -> None:
        own = os.getpid()
        while True:
            await asyncio.sleep(1)
            main, others = memory(own), [memory(pid)["VmRSS"] for pid in children(own)]
            # The pages that are done; in all, without files that are mapped, and of workers.
            self._samples.append((self._pages, main["VmRSS"], main["RssAnon"], sum(others)))

    def _closed(self) -> None:
        for task in self._tasks:
            task.cancel()
        workers = children(os.getpid())
        pages = max(1, self._pages)
        took = self._ended - self._began
        lags = sorted(self._lags) or [0.0]
        new = [pid for pid in workers if pid not in self._workers]
        figures = {
            "per_second": self._pages / took if took else 0.0,
            "ms_a_page": took / pages * 1000,
            "cpu_ms": self._cpu / pages * 1000,
            "workers_cpu_ms": (cpu_seconds(self._workers + new) - self._workers_cpu) / pages * 1000,
            **{
                f"lag_p{share}_ms": lags[(len(lags) - 1) * share // 100] * 1000
                for share in (50, 95)
            },
            "lag_max_ms": lags[-1] * 1000,
            "rss_mb": memory(os.getpid())["VmHWM"],
            "workers_rss_mb": sum(memory(pid)["VmHWM"] for pid in workers),
        }
        told = {
            "pages": self._pages,
            "statuses": dict(self._statuses),
            "figures": figures,
            "samples": self._samples,
        }
        Path(self._spec["out"]).write_text(json.dumps(told))
