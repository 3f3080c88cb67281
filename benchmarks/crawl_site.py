"""A fast local site in a process of its own: bodies in memory, connections kept alive.

``/pages/N`` are the pages as they are, ``/warm/N`` those before the clock starts, and
``/many/N`` variations of the pages without end.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from crawl_pages import Variations, warm_ups

END = b"\r\n\r\n"


class Site:
    """Starts the server, and ends it when left; ``base`` is where it is."""

    def __init__(self, pages: list[bytes], seed: int, folder: Path) -> None:
        self._spec = folder / "site.pickle"
        self._spec.write_bytes(pickle.dumps((pages, seed)))

    def __enter__(self) -> Site:
        command = [sys.executable, __file__, str(self._spec)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        port = self._process.stdout.readline().decode().strip()
        if not port:
            raise SystemExit("the local site did not start")
        self.base = f"http://127.0.0.1:{port}"
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.communicate()


def answer(body: bytes, content_type: str = "text/html", status: str = "200 OK") -> bytes:
    """Return a whole answer."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}"
    return head.encode() + END + body


class Connection(asyncio.Protocol):
    """Answers GETs one after the other; the next may come before the last one is sent."""

    def __init__(self, find: Callable[[str], bytes]) -> None:
        self._find = find
        self._got = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer each request that is complete."""
        *heads, self._got = (self._got + data).split(END)
        for head in heads:
            self._transport.write(self._find(head.split(b" ", 2)[1].decode()))


def finder(pages: list[bytes], seed: int) -> Callable[[str], bytes]:
    """Return a function from a path to the whole answer."""
    variations = Variations(pages, seed)
    ready = {f"/pages/{number}": answer(page) for number, page in enumerate(pages)}
    for number, page in enumerate(warm_ups(pages, seed)):
        ready[f"/warm/{number}"] = answer(page)

    def find(path: str) -> bytes:
        if path in ready:
            return ready[path]
        if path.startswith("/many/"):
            page = variations.page(int(path.rpartition("/")[2]))
            return answer(page.encode("utf-8", "replace"), "text/html; charset=utf-8")
        return answer(b"nothing here", status="404 Not Found")

    return find


async def serve(find: Callable[[str], bytes]) -> None:
    """Serve on a free port, which is printed."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(find), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    asyncio.run(serve(finder(*pickle.loads(Path(sys.argv[1]).read_bytes()))))
