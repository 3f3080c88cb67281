"""What differs between Scrapy 2.13 and the newest, and between event loops, in one place.

Coroutines here work under the asyncio reactor, any other reactor, and no reactor.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar, cast

from scrapy.crawler import Crawler
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
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


def looping_call(function: Callable[[], None]) -> Any:
    """Return what calls a function at intervals, with ``start``, ``stop`` and ``running``."""
    try:
        from scrapy.utils.asyncio import create_looping_call
    except ImportError:  # Scrapy 2.13
        from twisted.internet.task import LoopingCall

        return LoopingCall(function)
    return create_looping_call(function)


def close_spider(crawler: Crawler, reason: str) -> None:
    """Have the spider closed, once what is on its way has got through; do not wait for it."""
    engine = cast(Any, crawler.engine)
    if hasattr(engine, "close_spider_async"):
        deferred_from_coro(engine.close_spider_async(reason=reason))
    else:  # Scrapy 2.13
        engine.close_spider(crawler.spider, reason)
