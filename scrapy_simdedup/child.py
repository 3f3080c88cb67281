"""What a worker process does: analyse what comes through the pipe, page after page."""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import queue
import sys
import threading
from typing import IO, Any

from scrapy_simdedup.analysis import Analysis, Recipe, Source, analyse
from scrapy_simdedup.text import chinese

# So many new objects before garbage is looked for.
_MOST_YOUNG = 50_000

# The address space of a worker, in bytes, where the system can limit it.
_MOST_MEMORY = 4 << 30

# A page to analyse, or why it could not be read.
_Message = tuple[Any, Exception | None]

# How a pipe ends, whole or torn.
_ENDS = (EOFError, pickle.UnpicklingError)


def _serve(pages: IO[bytes], results: IO[bytes]) -> None:
    """Analyse page after page until the pipe ends, as it does when the parent does."""
    # The next page is read while one is worked on; more than one would be waste if this one
    # ends the process.
    ready: queue.Queue[_Message] = queue.Queue(maxsize=1)
    threading.Thread(target=_read, args=(pages, ready), daemon=True).start()
    while True:
        message, broken = ready.get()
        if isinstance(broken, _ENDS):
            return
        try:
            if broken is not None:
                raise broken
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


def _read(pages: IO[bytes], ready: queue.Queue[_Message]) -> None:
    """Hand over messages until the pipe ends."""
    while True:
        try:
            ready.put((pickle.load(pages), None))  # noqa: S301  (our own parent's)
        except Exception as error:
            ready.put((None, error))
            if isinstance(error, _ENDS):
                return


def _answer(message: tuple[Source, Recipe] | Recipe) -> Analysis | None:
    if isinstance(message, Recipe):
        _prepare(message)
        return None
    return analyse(*message)


def _prepare(recipe: Recipe) -> None:
    """Load now what the first page would wait for."""
    import trafilatura  # noqa: F401

    if recipe.shape.user_dict is not None:
        # Whoever has one has pages in Chinese.
        chinese.cut("", recipe.shape.user_dict)
    # What is loaded now stays, and need not be looked through for garbage; and pages make little
    # of it, but very many objects.
    gc.freeze()
    gc.set_threshold(_MOST_YOUNG)


def main() -> None:
    """Be a worker: ``python -m scrapy_simdedup.workers``."""
    import signal

    # Ctrl-C is for the crawl, which ends its pages in peace; the pipe tells when it has.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    results = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # Whatever prints, prints to stderr (if there is one): the pipe is ours.
    other = os.open(os.devnull, os.O_WRONLY) if sys.stderr is None else sys.stderr.fileno()
    os.dup2(other, sys.stdout.fileno())
    _serve(sys.stdin.buffer, results)
    # Nothing is left to do, and closing a broken pipe would be told on stderr.
    os._exit(0)
