"""The connection to a Redis server: scripts, bounded waits, and a server that goes and comes.

A command that fails is tried again a few times, for some seconds at most. After that the server
counts as away: whatever is asked of it fails at once, so that no page waits, until a call of
``back`` finds it again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any, TypeVar

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from scrapy_simdedup.exceptions import IndexAway, IndexUnusable
from scrapy_simdedup.index.redis.address import Address, masked

logger = logging.getLogger(__name__)

T = TypeVar("T")
Words = Sequence[Any]

# A command waits so long for its answer, and is tried again after these pauses, in seconds.
_SECONDS = 2.0
_PAUSES = (0.05, 0.1, 0.2)

_LOST = (redis.ConnectionError, redis.TimeoutError)

# Scripts that read buckets begin with this one.
_FIND = "find"
_SCRIPTS = {"look": True, "commit": True, "begin": False, "beat": False}


class Gone(Exception):
    """The server has restarted, or holds another index now than the one that was opened."""


class Link:
    """A client of the server at an address. Safe to use from several threads."""

    def __init__(self, address: Address) -> None:
        self.address = address
        try:
            self._client: Any = redis.Redis.from_url(
                address.url,
                decode_responses=False,
                socket_timeout=_SECONDS,
                socket_connect_timeout=_SECONDS,
                # It is tried again below, in one way for all versions of redis-py.
                retry=Retry(NoBackoff(), 0),
                client_name="scrapy-simdedup",
            )
        except (ValueError, TypeError, redis.RedisError) as error:
            raise IndexUnusable(f"{address} is no address of a Redis server: {error}") from None
        self._away = False
        self._digests: dict[str, str] = {}
        #: Round trips so far, for whoever measures them.
        self.trips = 0

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    @property
    def away(self) -> bool:
        """Whether the server could not be reached lately."""
        return self._away

    def back(self) -> bool:
        """Try, once, whether the server is there again."""
        try:
            self._client.ping()
        except redis.RedisError:
            return False
        if self._away:
            logger.info("%s is back", self.address)
            self._away = False
        return True

    def call(self, command: Callable[[Any], T]) -> T:
        """Return what a command of the client returns. Raises IndexAway, Gone, RedisError."""
        if self._away:
            raise IndexAway(f"{self.address} cannot be reached")
        self.trips += 1
        try:
            return self._patiently(command)
        except redis.exceptions.NoScriptError as error:
            # A server has no scripts after it has started.
            raise Gone from error
        except redis.ResponseError as error:
            if str(error).startswith("GONE"):
                raise Gone from error
            raise
        except _LOST as error:
            self._away = True
            raise IndexAway(f"{self.address} cannot be reached: {masked(str(error))}") from error

    def _patiently(self, command: Callable[[Any], T]) -> T:
        for pause in _PAUSES:
            try:
                return command(self._client)
            except _LOST:
                time.sleep(pause)
        return command(self._client)

    def load(self) -> None:
        """Give the server the scripts."""
        for name in _SCRIPTS:
            source = _source(name)
            digest = self.ask(("SCRIPT LOAD", source))[0]
            self._digests[name] = digest.decode() if isinstance(digest, bytes) else digest

    def run(self, script: str, keys: Words, arguments: Words) -> Any:
        """Run a script. Raises as ``call`` does."""
        return self.call(
            lambda client: client.evalsha(self._digests[script], len(keys), *keys, *arguments)
        )

    def run_all(self, script: str, calls: Iterable[tuple[Words, Words]]) -> list[Any]:
        """Run a script for each pair of keys and arguments, in one round trip."""
        all_calls = list(calls)

        def command(client: Any) -> list[Any]:
            with client.pipeline(transaction=False) as pipe:
                for keys, arguments in all_calls:
                    pipe.evalsha(self._digests[script], len(keys), *keys, *arguments)
                return _sound(pipe.execute(raise_on_error=False))

        return self.call(command)

    def ask(self, *commands: Words) -> list[Any]:
        """Return the answers to several plain commands, in one round trip."""

        def command(client: Any) -> list[Any]:
            with client.pipeline(transaction=False) as pipe:
                for words in commands:
                    pipe.execute_command(*words)
                return _sound(pipe.execute(raise_on_error=False))

        return self.call(command)


def _sound(answers: Sequence[Any]) -> list[Any]:
    """Return the answers to a pipeline; raise the first error among them."""
    # As it came: redis-py would put the whole command into its message.
    for answer in answers:
        if isinstance(answer, Exception):
            raise answer
    return list(answers)


@lru_cache
def _source(name: str) -> str:
    folder = files(__package__)
    names = [_FIND, name] if _SCRIPTS[name] else [name]
    return "\n".join(folder.joinpath(f"{each}.lua").read_text("utf-8") for each in names)
