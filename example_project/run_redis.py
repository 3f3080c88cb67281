"""Serves the bundled news sites, and has two crawlers share them through one Redis server.

They take their requests from one queue (scrapy-redis) and judge pages against one index, so that
of the copies of a story one is kept, whichever of the two meets it. Needs scrapy-redis, and a
server: that of the environment variable ``REDIS_URL``, or a ``redis-server`` that is started.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
LOG = HERE / ".scrapy" / "simdedup" / "news-log.db"
CRAWLERS = ("first", "second")

sys.path.insert(0, str(HERE))

from newsdemo.site.server import serve  # noqa: E402
from newsdemo.spiders.news import NewsSpider  # noqa: E402


@contextmanager
def redis_url() -> Iterator[str]:
    """Yield the URL of a Redis server; one that was started here ends with the block."""
    if "REDIS_URL" in os.environ:
        yield os.environ["REDIS_URL"]
        return
    program = shutil.which("redis-server")
    if program is None:
        sys.exit("no redis-server is installed: name a server in REDIS_URL")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
        process = subprocess.Popen([*command, "--dir", folder], stdout=subprocess.DEVNULL)
        try:
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            process.terminate()
            process.wait()


def ask(url: str) -> None:
    """Put the start URLs into the queue."""
    import redis

    client = redis.Redis.from_url(url)
    for _ in range(100):
        try:
            client.ping()
            break
        except redis.ConnectionError:
            time.sleep(0.1)
    client.delete("news:start_urls")
    for start in NewsSpider.start_urls:
        client.rpush("news:start_urls", json.dumps({"url": start}))


def crawl(url: str) -> dict[str, list[str]]:
    """Run both crawlers; return the addresses of the items that each one kept."""
    ask(url)
    kept = {name: HERE / f"items-{name}.jsonl" for name in CRAWLERS}
    with serve() as port:
        # The sites' names exist in this process only; a proxy's client does not look them up.
        environment = {
            **os.environ,
            "REDIS_URL": url,
            "SCRAPY_PROJECT": "shared",
            "http_proxy": f"http://127.0.0.1:{port}",
            "no_proxy": "",
        }
        processes = [
            subprocess.Popen(
                [sys.executable, "-m", "scrapy", "crawl", "news", "-O", str(path)],
                cwd=HERE,
                env=environment,
            )
            for path in kept.values()
        ]
        codes = [process.wait() for process in processes]
        if any(codes):
            sys.exit("a crawler failed")
    return {
        name: sorted(json.loads(line)["url"] for line in path.read_text("utf-8").splitlines())
        for name, path in kept.items()
    }


def main() -> None:
    """Crawl, and tell what was kept by whom, and which copies were found."""
    LOG.unlink(missing_ok=True)
    with redis_url() as url:
        kept = crawl(url)
    print()
    for name, addresses in kept.items():
        print(f"KEPT by the {name} crawler: {len(addresses)}")
        for address in addresses:
            print(f"  {address}")
    with closing(sqlite3.connect(LOG)) as log:
        copies = log.execute("SELECT url, original FROM duplicates ORDER BY 2, 1").fetchall()
    print("COPIES, each with its original")
    for address, original in copies:
        print(f"  {address}\n            of {original}")
    total = sum(map(len, kept.values()))
    print(f"\nSUMMARY: {total} items kept by two crawlers; {len(copies)} copies")
    print(f"The log of decisions of both: {LOG}")


if __name__ == "__main__":
    main()
