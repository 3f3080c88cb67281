"""Where ``analyse`` runs: off the event loop, one page at a time in this process.

Extraction goes through lxml, which has crashed processes when called from several threads at
once (adbar/trafilatura#840, #925), and holds the interpreter's lock most of the time anyway.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar

T = TypeVar("T")


@lru_cache(maxsize=1)
def _executor() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="simdedup-analyse")


def submit(function: Callable[[], T]) -> Future[T]:
    """Run a function in the process's one analysing thread, in order of arrival."""
    return _executor().submit(function)
