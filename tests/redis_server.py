"""A real redis-server of one's own, on a free port, that can be killed and started again."""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest


def required() -> str:
    """Return the path of redis-server; without one the test is skipped, but not in CI."""
    found = shutil.which("redis-server")
    if not found:
        if os.environ.get("CI"):
            pytest.fail("redis-server is not installed")
        pytest.skip("redis-server is not installed")
    return found


class RedisServer:
    """What it has answered to is on the disk, so that a kill loses nothing."""

    def __init__(self, folder: Path, *options: str) -> None:
        self._program = required()
        self._folder = folder
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    def url(self, name: str = "", credentials: str = "") -> str:
        """Return the address of the index whose keys begin with ``name``."""
        query = f"?prefix={name}" if name else ""
        return f"redis://{credentials}127.0.0.1:{self.port}/0{query}"

    def start(self) -> None:
        """Start it on the port that it had, at first on a free one, and wait until it answers."""
        for _ in range(20):
            port = self.port or _free_port()
            command = [self._program, "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
            # Written before each answer; with fsyncs that might have to wait for one of these.
            command += ["--appendonly", "yes", "--appendfsync", "no"]
            command += ["--dir", str(self._folder), *self._options]
            with (self._folder / "redis.log").open("ab") as log:
                self._process = subprocess.Popen(command, stdout=log, stderr=log)
            if self._answers(port):
                self.port = port
                return
        raise RuntimeError((self._folder / "redis.log").read_text()[-2000:])

    def _answers(self, port: int) -> bool:
        assert self._process is not None
        until = time.monotonic() + 30
        while self._process.poll() is None and time.monotonic() < until:
            try:
                with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
                    connection.sendall(b"PING\r\n")
                    answer = connection.recv(100)
                    # Somebody else's server would answer as well, but ours would have ended.
                    if answer.startswith((b"+PONG", b"-NOAUTH")) and self._process.poll() is None:
                        return True
            except OSError:
                pass
            time.sleep(0.02)
        return False

    def kill(self, *, wipe: bool = False) -> None:
        """Kill it with -9; ``wipe``: and remove what it held."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        if wipe:
            shutil.rmtree(self._folder / "appendonlydir", ignore_errors=True)

    def empty(self) -> None:
        """Remove all keys."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            connection.sendall(b"FLUSHALL\r\n")
            assert connection.recv(100).startswith(b"+OK")

    def __enter__(self) -> RedisServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


def _free_port() -> int:
    """Return a port that no connection is given by chance while the server is down."""
    return random.randrange(20_000, 32_000)
