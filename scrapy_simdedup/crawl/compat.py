"""What differs between Scrapy 2.13 and the newest, and between event loops, in one place.

Coroutines here work under the asyncio reactor, any other reactor, and no reactor.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from typing import Any, TypeVar, cast

from scrapy.crawler import Crawler
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

try:
    from scrapy.utils.asyncio import is_asyncio_available
except ImportError:  # Scrapy 2.13
    from scrapy.utils.reactor import is_asyncio_reactor_installed as is_asyncio_available

T = TypeVar("T")


async def result_of(future: Future[T], timeout: float | None = None) -> T:
    """Wait for a future that a thread completes, without blocking the event loop.

    Raises TimeoutError after ``timeout`` seconds; the future itself goes on.
    """
    if is_asyncio_available():
        wrapped = asyncio.wrap_future(future)
        try:
            return await asyncio.wait_for(asyncio.shield(wrapped), timeout)
        except asyncio.TimeoutError:
            raise TimeoutError from None
    from twisted.internet import reactor as installed

    reactor = cast(Any, installed)
    waiting: Deferred[None] = Deferred()

    def wake() -> None:
        if not waiting.called:
            waiting.callback(None)

    future.add_done_callback(lambda _: reactor.callFromThread(wake))
    alarm = None if timeout is None else reactor.callLater(timeout, wake)
    await waiting
    if alarm is not None and alarm.active():
        alarm.cancel()
    if not future.done():
        raise TimeoutError
    return future.result()


async def send(crawler: Crawler, signal: object, **arguments: Any) -> None:
    """Send a signal whose handlers may be coroutines, and wait for them."""
    signals = crawler.signals
    if hasattr(signals, "send_catch_log_async"):
        await signals.send_catch_log_async(signal=signal, **arguments)
    else:  # Scrapy 2.13
        await maybe_deferred_to_future(signals.send_catch_log_deferred(signal=signal, **arguments))
