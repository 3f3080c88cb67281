"""Work in fresh processes: what a measurement needs in memory is then all that is measured."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Barrier
from typing import Any, TypeVar

T = TypeVar("T")

_CONTEXT = multiprocessing.get_context("spawn")

# Between two looks at whether a process is done, in seconds.
_PAUSE = 0.05


def together(count: int, work: Callable[..., T], *arguments: Any) -> list[T]:
    """Return what ``work(number, barrier, *arguments)`` returns in ``count`` processes at once.

    Each is to wait at the barrier when it is ready to begin. Raises RuntimeError where one of
    them fails.
    """
    barrier, queue = _CONTEXT.Barrier(count), _CONTEXT.SimpleQueue()
    processes = [
        _CONTEXT.Process(target=_work, args=(queue, barrier, number, work, arguments))
        for number in range(count)
    ]
    for process in processes:
        process.start()
    results: list[tuple[Any, str]] = []
    while len(results) < count:
        if not queue.empty():
            results.append(queue.get())
        elif any(process.exitcode for process in processes):
            for process in processes:
                process.terminate()
            raise RuntimeError("a process was ended from outside: out of memory?")
        else:
            time.sleep(_PAUSE)
    for process in processes:
        process.join()
    for _, failure in results:
        if failure:
            raise RuntimeError(failure)
    return [result for result, _ in results]


def alone(work: Callable[..., T], *arguments: Any) -> T:
    """Return what ``work(*arguments)`` returns in a process of its own."""
    results: list[T] = together(1, _alone, work, *arguments)
    return results[0]


def _alone(_number: int, _barrier: Barrier, work: Callable[..., T], *arguments: Any) -> T:
    return work(*arguments)


def _work(
    queue: SimpleQueue[tuple[Any, str]],
    barrier: Barrier,
    number: int,
    work: Callable[..., Any],
    arguments: tuple[Any, ...],
) -> None:
    try:
        queue.put((work(number, barrier, *arguments), ""))
    except Exception as error:
        barrier.abort()
        queue.put((None, f"{type(error).__name__}: {error}"))
