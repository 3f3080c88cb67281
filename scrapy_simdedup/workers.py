"""Where ``analyse`` runs: processes of their own that a bad page cannot take the crawl down with.

A worker is a child that runs this module, and works on one page at a time. A page that hangs
is killed after its time with its worker, and one that kills its worker costs itself alone; the
worker is replaced and the others go on. ``multiprocessing`` is not used: it needs
a main guard in the user's script where it spawns, and forking a process that has threads and
open SQLite files is no way to start one. There is one pool a process, however many crawlers.
"""

from __future__ import annotations

import atexit
import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache

from scrapy_simdedup.analysis import Analysis, Recipe, Source, analyse
from scrapy_simdedup.child import main
from scrapy_simdedup.verdict import Verdict
from scrapy_simdedup.worker import Job, Worker, WorkerDiedError, WorkTimeoutError

__all__ = ["Pool", "WorkTimeoutError", "WorkerDiedError", "cpus", "submit", "verdict_on_failure"]


def cpus() -> int:
    """Return how many CPUs this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def submit(
    source: Callable[[], Source], recipe: Recipe, *, workers: int, timeout: float
) -> Future[Analysis]:
    """Analyse in a worker process, or in this process's one analysing thread for 0 workers.

    ``source`` is called in a thread. The future raises WorkTimeoutError after ``timeout``
    seconds of work (waiting for a worker does not count), WorkerDiedError, or whatever
    ``analyse`` raised. A thread cannot be stopped: with 0 workers there is no time limit.
    """
    if not workers:
        return _thread().submit(lambda: analyse(source(), recipe))
    return _pool().submit(source, recipe, workers, timeout)


def verdict_on_failure(error: Exception) -> Verdict:
    """Return the verdict on a page that could not be analysed: out of time, or an error."""
    if isinstance(error, WorkTimeoutError):
        return Verdict("skipped", "timeout")
    return Verdict("error", type(error).__name__)


@lru_cache(maxsize=1)
def _thread() -> ThreadPoolExecutor:
    # One at a time: lxml has crashed processes when called from several threads at once
    # (adbar/trafilatura#840, #925), and the interpreter's lock leaves little to gain.
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="simdedup-analyse")


@lru_cache(maxsize=1)
def _pool() -> Pool:
    return Pool()


class Pool:
    """Workers that share a queue; each is minded by a thread of this process."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._minders: list[threading.Thread] = []
        self._workers: list[Worker] = []
        self._lock = threading.Lock()
        self._idle = 0
        atexit.register(self.close)

    def submit(
        self, source: Callable[[], Source], recipe: Recipe, workers: int, timeout: float
    ) -> Future[Analysis]:
        """Queue a page; as many workers are started as the largest ``workers`` asked for."""
        job = Job(source, recipe, timeout)
        self._jobs.put(job)
        with self._lock:
            while len(self._minders) < workers:
                # Daemons: a process may end while they wait; their children end with it.
                minder = threading.Thread(
                    target=self._mind, name=f"simdedup-worker-{len(self._minders)}", daemon=True
                )
                self._minders.append(minder)
                minder.start()
        return job.future

    def close(self) -> None:
        """Stop the children; at the end of the process, when nobody waits for them."""
        for worker in self._workers:
            worker.stop()

    def _mind(self) -> None:
        worker = Worker()
        self._workers.append(worker)
        while True:
            if worker.free:
                worker.add(self._next())
            worker.work(self._another)

    def _next(self) -> Job:
        """Wait for a job."""
        with self._lock:
            self._idle += 1
        while not (job := self._jobs.get()).begin():
            pass
        with self._lock:
            self._idle -= 1
        return job

    def _another(self) -> Job | None:
        """Return a job to lie ready, if nobody else could begin with it at once."""
        while not self._idle:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return None
            if job.begin():
                return job
        return None


if __name__ == "__main__":
    main()
