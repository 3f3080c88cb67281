"""A local site, and crawls of it in processes of their own, as users run them."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

HERE = Path(__file__).parent

#: Event loops that a crawl can run under.
MODES = ["asyncio", "select", "none"]


def needs(reactor: str) -> None:
    """Skip a test where this Scrapy cannot do without a reactor, or not without httpx."""
    if reactor == "none":
        pytest.importorskip("scrapy", minversion="2.19")


@dataclass
class Answer:
    """What the site answers with: status, body, headers besides the usual ones, and when."""

    body: bytes = b""
    status: int = 200
    content_type: str = "text/html; charset=utf-8"
    headers: dict[str, str] = field(default_factory=dict)
    # Called before each answer.
    before: Callable[[], object] = lambda: None


class Site:
    """A threaded HTTP server on a free port; ``pages`` maps paths to answers."""

    def __init__(self) -> None:
        self.pages: dict[str, Answer] = {}
        self.asked: list[str] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                path = self.path
                site.asked.append(path)
                answer = site.pages.get(path) or site.pages.get(urlsplit(path).path)
                answer = answer or Answer(b"<p>nothing here</p>", 404)
                answer.before()
                self.send_response(answer.status)
                if answer.content_type:
                    self.send_header("Content-Type", answer.content_type)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(answer.body)

            do_HEAD = do_GET

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self) -> Site:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def url(self, path: str) -> str:
        """Return the URL of a path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}{path}"

    def html(self, path: str, body: str, **options: Any) -> None:
        """Set a page."""
        self.pages[path] = Answer(body.encode(), **options)

    def redirect(self, path: str, to: str) -> None:
        """Set a redirect."""
        self.pages[path] = Answer(status=302, headers={"Location": to})


def linked(paths: Iterable[str]) -> str:
    """Return the links that the test spiders follow, to be put into a page."""
    links = " ".join(f'<a href="{path}">{number}</a>' for number, path in enumerate(paths))
    return f'<footer class="linked">{links}</footer>'


@dataclass
class Crawl:
    """What came of a crawl: everything that the recording extension saw, and the log."""

    exit_code: int
    log: str
    index: Path
    scraped: list[dict[str, Any]]
    dropped: list[tuple[str, dict[str, Any]]]
    errors: int
    called: list[str]
    verdicts: dict[str, dict[str, Any]]
    flags: dict[str, list[str]]
    signals: list[dict[str, Any]]
    errbacks: list[tuple[str, str]]
    stats: dict[str, Any]

    @classmethod
    def of(cls, urls: list[str], folder: Path, **options: Any) -> Crawl:
        """Crawl and wait for the end."""
        process, out = start(urls, folder, **options)
        log, _ = process.communicate(timeout=120)
        seen = json.loads(out.read_text()) if out.exists() else {}
        known = {name: seen.get(name, empty) for name, empty in _EMPTY.items()}
        return cls(process.returncode, log, _index(folder, options), **known)

    def stat(self, name: str) -> int:
        """Return ``simdedup/<name>``, 0 where it is absent."""
        return int(self.stats.get(f"simdedup/{name}", 0))

    def paths(self) -> list[str]:
        """Return the paths of the pages whose items were scraped, sorted."""
        return sorted(urlsplit(item["url"]).path for item in self.scraped)

    def decisions(self) -> list[dict[str, Any]]:
        """Return the log of decisions of all runs so far."""
        with sqlite3.connect(self.index) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute("SELECT * FROM decisions ORDER BY id")]

    def statuses(self) -> dict[str, str]:
        """Return path -> status as logged, the last decision on each."""
        return {urlsplit(row["url"]).path: row["status"] for row in self.decisions()}


_EMPTY: dict[str, Any] = {
    "scraped": [],
    "dropped": [],
    "errors": 0,
    "called": [],
    "verdicts": {},
    "flags": {},
    "signals": [],
    "errbacks": [],
    "stats": {},
}


def _index(folder: Path, options: dict[str, Any]) -> Path:
    named = options.get("settings", {}).get("SIMDEDUP_INDEX")
    return Path(named) if named else folder / "index.db"


def start(
    urls: list[str],
    folder: Path,
    *,
    settings: dict[str, Any] | None = None,
    plan: dict[str, list[str]] | None = None,
    reactor: str = "asyncio",
    spider: str = "SiteSpider",
    **arguments: Any,
) -> tuple[subprocess.Popen[str], Path]:
    """Start a crawl in a process of its own; what it saw will be in the file returned."""
    token = uuid.uuid4().hex
    out = folder / f"out-{token}.json"
    spec = folder / f"spec-{token}.json"
    spec.write_text(
        json.dumps(
            {
                "urls": urls,
                "settings": {
                    "SIMDEDUP_INDEX": str(folder / "index.db"),
                    # Most tests are about something else than workers, which take a second.
                    "SIMDEDUP_WORKERS": 0,
                    **(settings or {}),
                },
                "plan": plan or {},
                "reactor": reactor,
                "spider": spider,
                "arguments": arguments,
                "out": str(out),
            }
        )
    )
    process = subprocess.Popen(
        [sys.executable, str(HERE / "crawl_once.py"), str(spec)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**os.environ, "PYTHONPATH": str(HERE.parent)},
    )
    return process, out
