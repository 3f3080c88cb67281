"""A local server that answers for all hosts of the bundled news sites.

It is made to be used as an HTTP proxy: a client that sends its requests for
``http://harbour-daily.example/`` and the other hosts to this server gets the pages
without any name being resolved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import urlsplit

from .pages import Page, build, missing

ROBOTS = Page(200, "text/plain; charset=utf-8", b"User-agent: *\nAllow: /")


def absolute(target: str, host: str) -> str:
    """Return the address meant by a request target and a Host header.

    >>> absolute("http://harbour-daily.example", "")
    'http://harbour-daily.example/'
    >>> absolute("/news/x?y=1", "Xinwen.example:80")
    'http://xinwen.example/news/x?y=1'
    """
    parts = urlsplit(target if "://" in target.partition("?")[0] else f"http://{host}{target}")
    query = f"?{parts.query}" if parts.query else ""
    return f"http://{parts.hostname or ''}{parts.path or '/'}{query}"


def answer(pages: Mapping[str, Page], address: str) -> Page:
    """Return the page at an address, the robots file or an error page."""
    if address in pages:
        return pages[address]
    parts = urlsplit(address)
    if parts.path == "/robots.txt":
        return ROBOTS
    return missing(f"http://{parts.netloc}")


@contextmanager
def serve(edition: int = 1, port: int = 0) -> Iterator[int]:
    """Serve an edition on a local port (0: a free one), which is yielded, until the block ends."""
    pages = build(edition)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        server_version = "newsdemo"
        sys_version = ""
        wbufsize = -1  # one packet for headers and body

        def do_GET(self) -> None:
            self._respond(with_body=True)

        def do_HEAD(self) -> None:
            self._respond(with_body=False)

        def log_message(self, *_args: object) -> None:
            pass

        def _respond(self, with_body: bool) -> None:
            try:
                address = absolute(self.path, self.headers.get("Host", ""))
            except ValueError:
                self.send_error(400)
                return
            page = answer(pages, address)
            self.send_response(page.status)
            self.send_header("Content-Type", page.content_type)
            self.send_header("Content-Length", str(len(page.body)))
            self.end_headers()
            if with_body:
                self.wfile.write(page.body)

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
