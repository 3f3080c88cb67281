"""Where ``analyse`` runs: processes of their own that a bad page cannot take the crawl down with.

A worker is a child that runs this module, with one page in flight at a time. A page that
hangs is killed after its time with its worker, and one that kills its worker costs itself
alone; the worker is replaced and the others go on. ``multiprocessing`` is not used: it needs
a main guard in the user's script where it spawns, and forking a process that has threads and
open SQLite files is no way to start one. There is one pool a process, however many crawlers.

What goes through the pipes is pickled by ourselves on both sides; a page is only ever a
string in it.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache, partial
from typing import IO, Any, TypeVar

from scrapy_simdedup.analysis import Analysis, Recipe, Source, analyse

T = TypeVar("T")

# The address space of a worker, in bytes, where the system can limit it.
_MOST_MEMORY = 4 << 30

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
        self._jobs: queue.SimpleQueue[Callable[[Worker], None]] = queue.SimpleQueue()
        self._minders: list[threading.Thread] = []
        self._workers: list[Worker] = []
        self._lock = threading.Lock()
        atexit.register(self.close)

    def submit(
        self, source: Callable[[], Source], recipe: Recipe, workers: int, timeout: float
    ) -> Future[Analysis]:
        """Queue a page; as many workers are started as the largest ``workers`` asked for."""
        future: Future[Analysis] = Future()

        def job(worker: Worker) -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(worker.run(source(), recipe, timeout))
            except Exception as error:
                future.set_exception(error)

        self._jobs.put(job)
        with self._lock:
            while len(self._minders) < workers:
                # Daemons: a process may end while they wait; their children end with it.
                minder = threading.Thread(
                    target=self._mind, name=f"simdedup-worker-{len(self._minders)}", daemon=True
                )
                self._minders.append(minder)
                minder.start()
        return future

    def close(self) -> None:
        """Stop the children; at the end of the process, when nobody waits for them."""
        for worker in self._workers:
            worker.stop()

    def _mind(self) -> None:
        worker = Worker()
        self._workers.append(worker)
        while True:
            self._jobs.get()(worker)


class Worker:
    """A child process, started when the first page comes and again after it died."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._pages = 0

    @property
    def pid(self) -> int | None:
        """The child's process id, None while there is none."""
        return self._process.pid if self._process else None

    def run(self, source: Source, recipe: Recipe, timeout: float) -> Analysis:
        """Analyse a page in the child. Raises WorkTimeoutError and WorkerDiedError."""
        if self._process is None:
            self._start()
            # Its start does not count as work, but it must not take for ever either.
            self._exchange(None, _START_SECONDS)
        failed, result = self._exchange((source, recipe), timeout)
        self._pages += 1
        if self._pages >= _MOST_PAGES:
            self.stop()
        if failed:
            raise result
        return _analysis(result)

    def _exchange(self, message: Any, timeout: float) -> Any:
        """Send the child a message and return its answer; stop the child if there is none."""
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        late = threading.Event()
        alarm = threading.Timer(timeout, partial(_kill, process, late))
        alarm.daemon = True
        alarm.start()
        try:
            pickle.dump(message, process.stdin, pickle.HIGHEST_PROTOCOL)
            process.stdin.flush()
            return pickle.load(process.stdout)  # noqa: S301  (our own child's)
        except (OSError, EOFError, pickle.UnpicklingError):
            self.stop()
            if late.is_set():
                raise WorkTimeoutError(f"took longer than {timeout:g} seconds") from None
            raise WorkerDiedError(f"its worker died (exit code {process.returncode})") from None
        finally:
            alarm.cancel()

    def _start(self) -> None:
        self._pages = 0
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


def _kill(process: subprocess.Popen[bytes], late: threading.Event) -> None:
    late.set()
    process.kill()


def _analysis(result: Any) -> Analysis:
    assert isinstance(result, Analysis)
    return result


def _serve(pages: IO[bytes], results: IO[bytes]) -> None:
    """Analyse page after page until the pipe ends, as it does when the parent does."""
    while True:
        try:
            message = pickle.load(pages)  # noqa: S301  (our own parent's)
        except (EOFError, pickle.UnpicklingError):
            return
        try:
            answer: tuple[bool, Any] = (False, _answer(message))
        except Exception as error:
            # As a message: the class may be one that does not survive pickling.
            answer = (True, RuntimeError(f"{type(error).__name__}: {error}"))
        try:
            pickle.dump(answer, results, pickle.HIGHEST_PROTOCOL)
            results.flush()
        except OSError:
            # The parent has ended meanwhile, and nobody wants to read of it.
            return


def _answer(message: tuple[Source, Recipe] | None) -> Analysis | None:
    if message is None:
        # The first message: load now what the first page would wait for.
        import trafilatura  # noqa: F401

        return None
    return analyse(*message)


def _main() -> None:
    import signal

    # Ctrl-C is for the crawl, which ends its pages in peace; the pipe tells when it has.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    results = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # Whatever prints, prints to stderr: the pipe is ours.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    _serve(sys.stdin.buffer, results)
    # Nothing is left to do, and closing a broken pipe would be told on stderr.
    os._exit(0)


if __name__ == "__main__":
    _main()
