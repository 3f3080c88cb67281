"""A Redis server for a benchmark: one of its own, or one that runs already."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import redis

# Names of indexes begin with this; on a server that others use as well, only these are removed.
_PREFIX = "simdedup-benchmark"


@contextmanager
def redis_server(url: str = "") -> Iterator[str]:
    """Yield the URL of a server; without ``url`` one is started, which stores nothing on disk."""
    if url:
        yield url
        return
    program = shutil.which("redis-server")
    if program is None:
        raise SystemExit("no redis-server is installed: name a server with --url")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
        process = subprocess.Popen([*command, "--dir", folder], stdout=subprocess.DEVNULL)
        try:
            started = f"redis://127.0.0.1:{port}/0"
            _wait(started)
            yield started
        finally:
            process.terminate()
            process.wait()


def _wait(url: str) -> None:
    for _ in range(200):
        try:
            redis.Redis.from_url(url).ping()
        except redis.ConnectionError:
            time.sleep(0.05)
        else:
            return
    raise SystemExit(f"{url} does not answer")


def named(kind: str) -> str:
    """Return a name for what a contestant stores."""
    return f"{_PREFIX}-{kind}"


def remove(client: Any, name: str) -> None:
    """Remove all keys that begin with a name."""
    some: list[bytes] = []
    for key in client.scan_iter(f"{name}*", count=10_000):
        some.append(key)
        if len(some) >= 10_000:
            client.unlink(*some)
            some.clear()
    if some:
        client.unlink(*some)


def used_memory(client: Any) -> int:
    """Return the bytes that the server has in use."""
    return int(client.info("memory")["used_memory"])


@contextmanager
def counting() -> Iterator[list[int]]:
    """Count the times that a client of redis-py writes to a server and waits for the answer."""
    from redis.connection import AbstractConnection

    count = [0]
    send = AbstractConnection.send_packed_command

    @wraps(send)
    def counted(*arguments: Any, **options: Any) -> Any:
        count[0] += 1
        return send(*arguments, **options)

    AbstractConnection.send_packed_command = counted  # type: ignore[method-assign]
    try:
        yield count
    finally:
        AbstractConnection.send_packed_command = send  # type: ignore[method-assign]
