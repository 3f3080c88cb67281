"""A worker process, and both ends of the pipe to it.

What goes through the pipe is pickled by ourselves on both sides; a page is only ever a string
in it.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import subprocess
import sys
import threading
from functools import lru_cache, partial
from typing import IO, Any

from scrapy_simdedup.analysis import Analysis, Recipe, Source, analyse
from scrapy_simdedup.watchdog import Watchdog

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
        deadline = _watchdog().expect(timeout, partial(_kill, process, late))
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
            _watchdog().call_off(deadline)

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


@lru_cache(maxsize=1)
def _watchdog() -> Watchdog:
    return Watchdog()


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

        # What is loaded now stays, and need not be looked through for garbage.
        gc.freeze()
        return None
    return analyse(*message)


def main() -> None:
    """Be a worker: ``python -m scrapy_simdedup.workers``."""
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
