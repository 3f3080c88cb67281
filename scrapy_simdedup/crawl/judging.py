"""The thread that touches the index: one job at a time, and one commit for all that wait."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")

# So many jobs are committed at once at most, and none waits longer for the others, in seconds.
_MOST_JOBS = 64
_LONGEST = 0.02


@dataclass
class _Job:
    function: Callable[[], Any]
    future: Future[Any]
    result: Any = None
    failed: BaseException | None = None

    def run(self) -> None:
        try:
            self.result = self.function()
        except Exception as error:
            self.failed = error

    def answer(self) -> None:
        if self.failed is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(self.failed)


class JudgingThread:
    """Runs jobs in order, in one thread; a job's answer comes after its commit.

    ``together`` returns a context in which all that the jobs write is committed once.
    """

    def __init__(self, together: Callable[[], AbstractContextManager[None]]) -> None:
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="simdedup-judge")
        self._together = together
        self._waiting: deque[_Job] = deque()

    def submit(self, job: Callable[[], T]) -> Future[T]:
        """Run a job that may share its commit with others."""
        future: Future[T] = Future()
        self._waiting.append(_Job(job, future))
        # One call for each job, and each takes one job at least: none is forgotten.
        self._executor.submit(self._work)
        return future

    def alone(self, job: Callable[[], T]) -> Future[T]:
        """Run a job by itself, outside any transaction."""
        return self._executor.submit(job)

    def stop(self) -> None:
        """Take no more jobs; what was submitted still runs."""
        self._executor.shutdown(wait=False)

    def _work(self) -> None:
        if not self._waiting:
            # Calls before this one have done it all.
            return
        jobs = [self._waiting.popleft()]
        until = time.monotonic() + _LONGEST
        try:
            with self._together():
                jobs[0].run()
                while self._waiting and len(jobs) < _MOST_JOBS and time.monotonic() < until:
                    jobs.append(self._waiting.popleft())
                    jobs[-1].run()
        except Exception as error:
            # The commit failed, and with it every answer.
            for job in jobs:
                job.failed = job.failed or error
        for job in jobs:
            job.answer()
