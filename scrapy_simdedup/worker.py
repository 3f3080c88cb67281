"""A worker process as its parent sees it: jobs go in, futures get their answers.

What goes through the pipe is pickled by ourselves on both sides (the other end is
``child.py``); a page is only ever a string in it.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from functools import lru_cache, partial
from typing import Any

from scrapy_simdedup.analysis import Analysis, Recipe, Source
from scrapy_simdedup.watchdog import Watchdog

# How long a worker may take to start, in seconds.
_START_SECONDS = 60.0

# Pages after which a worker is replaced, before it is used up by leaks of what it runs.
_MOST_PAGES = 5000

# What tells numerical libraries how many threads to use.
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


class WorkTimeoutError(Exception):
    """A page took longer than ``SIMDEDUP_TIMEOUT``."""


class WorkerDiedError(Exception):
    """A page took its worker's process down, by a crash or by its memory."""


class Job:
    """A page to analyse, ready to be sent, and the future that waits for it."""

    def __init__(self, source: Callable[[], Source], recipe: Recipe, timeout: float) -> None:
        self.future: Future[Analysis] = Future()
        self.timeout = timeout
        self.recipe = recipe
        self._source = source
        self._message: bytes | None = None

    def begin(self) -> bool:
        """Tell whether anybody still waits for it; what it sends is made now."""
        if not self.future.set_running_or_notify_cancel():
            return False
        try:
            # Once: if a worker dies of the page before, another one gets it.
            message = self._source(), self.recipe
            self._message = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        except Exception as error:
            self.future.set_exception(error)
            return False
        return True

    @property
    def message(self) -> bytes:
        """What is sent to the worker."""
        assert self._message is not None
        return self._message

    def end(self, answer: tuple[bool, Any]) -> None:
        """Give the future what a worker made of the page."""
        failed, result = answer
        if failed:
            self.future.set_exception(result)
        else:
            self.future.set_result(result)


class Worker:
    """A child process, started when the first page comes and again after it died.

    It analyses one page at a time; the next one may lie ready in it, so that it need not wait
    for this process between two pages.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._pages = 0
        # Sent or to be sent, the oldest first; of these, so many are sent.
        self._jobs: deque[Job] = deque()
        self._sent = 0

    @property
    def pid(self) -> int | None:
        """The child's process id, None while there is none."""
        return self._process.pid if self._process else None

    @property
    def free(self) -> bool:
        """Whether there is nothing to do."""
        return not self._jobs

    def add(self, job: Job) -> None:
        """Take a job that has begun; it is worked on by ``work``."""
        self._jobs.append(job)

    def work(self, another: Callable[[], Job | None]) -> None:
        """Finish the oldest job; ``another`` may give one that is sent meanwhile."""
        job = self._jobs[0]

        def feed() -> None:
            self._send_jobs()
            # The last page of this child gets no follower.
            if (
                len(self._jobs) == 1
                and self._pages + 1 < _MOST_PAGES
                and (following := another()) is not None
            ):
                self.add(following)
                self._send_jobs()

        try:
            self._ready()
            answer = self._exchange(feed, job.timeout)
        except Exception as error:
            self._jobs.popleft()
            job.future.set_exception(error)
            return
        self._jobs.popleft()
        self._sent -= 1
        self._pages += 1
        if self._pages >= _MOST_PAGES:
            self.stop()
        job.end(answer)

    def _ready(self) -> None:
        """Start the child, unless it is there and alive."""
        if self._process is not None and not self._sent and self._process.poll() is not None:
            # Somebody killed it while it had nothing to do.
            self.stop()
        if self._process is None:
            self._start()
            # The first message has it load what its first page would wait for. That does not
            # count as work, but it must not take for ever either.
            first = pickle.dumps(self._jobs[0].recipe, pickle.HIGHEST_PROTOCOL)
            self._exchange(lambda: self._send(first), _START_SECONDS)

    def _send_jobs(self) -> None:
        while self._sent < len(self._jobs):
            self._send(self._jobs[self._sent].message)
            self._sent += 1

    def _send(self, message: bytes) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(message)
        self._process.stdin.flush()

    def _exchange(self, feed: Callable[[], None], timeout: float) -> Any:
        """Feed the child and return its next answer; stop it if there is none in time."""
        process = self._process
        assert process is not None
        assert process.stdout is not None
        late = threading.Event()
        deadline = _watchdog().expect(timeout, partial(_kill, process, late))
        try:
            feed()
            return pickle.load(process.stdout)  # noqa: S301  (our own child's)
        except (OSError, EOFError, pickle.UnpicklingError):
            self.stop()
            if late.is_set():
                raise WorkTimeoutError(f"took longer than {timeout:g} seconds") from None
            raise WorkerDiedError(f"its worker died (exit code {process.returncode})") from None
        finally:
            _watchdog().call_off(deadline)

    def _start(self) -> None:
        self._pages = self._sent = 0
        self._process = subprocess.Popen(
            [sys.executable, "-m", "scrapy_simdedup.workers"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={
                **os.environ,
                # The dotted path of an extractor leads where it leads here.
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                # One page, one core: the others have pages of their own.
                **dict.fromkeys(_ONE_THREAD, "1"),
            },
        )

    def stop(self) -> None:
        """Kill the child, if there is one; the next page gets another."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        process.wait()


@lru_cache(maxsize=1)
def _watchdog() -> Watchdog:
    return Watchdog()


def _kill(process: subprocess.Popen[bytes], late: threading.Event) -> None:
    late.set()
    process.kill()
