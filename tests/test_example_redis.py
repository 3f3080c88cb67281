"""The example with scrapy-redis: two processes, one queue, one index, in one real server."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import redis

from redis_server import RedisServer

EXAMPLE = Path(__file__).resolve().parents[1] / "example_project"


def test_two_crawlers_share_a_queue_and_an_index(redis_server: RedisServer, tmp_path: Path):
    folder = tmp_path / "example_project"
    ignored = shutil.ignore_patterns(".scrapy", "*.jsonl", "__pycache__")
    shutil.copytree(EXAMPLE, folder, ignore=ignored)
    url = f"redis://127.0.0.1:{redis_server.port}/5"
    done = subprocess.run(
        [sys.executable, str(folder / "run_redis.py")],
        env={**os.environ, "REDIS_URL": url},
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    summary = re.search(r"SUMMARY: (\d+) items kept by two crawlers; (\d+) copies", done.stdout)
    assert summary
    items, copies = map(int, summary.groups())
    with closing(sqlite3.connect(folder / ".scrapy" / "simdedup" / "news-log.db")) as log:
        runs = log.execute("SELECT spider, status FROM runs").fetchall()
        assert runs == [("news", "finished")] * 2
        statuses = Counter(log.execute("SELECT status, reason FROM decisions").fetchall())
        # As one crawler finds them (tests/test_example.py), but for what comes first by chance.
        assert statuses[("duplicate", None)] == copies >= 24
        assert statuses[("duplicate", None)] + statuses[("unique", None)] == 46
        assert items == statuses[("unique", None)] + statuses[("skipped", "too-short")]
        by_run = log.execute("SELECT run, count(*) FROM decisions GROUP BY 1").fetchall()
        copied = "SELECT original FROM decisions WHERE status = 'duplicate'"
        kept = "SELECT url FROM decisions WHERE status = 'unique'"
        assert log.execute(f"{copied} EXCEPT {kept}").fetchall() == []
    # Both had a part in it; which one a page falls to is left to chance.
    assert len(by_run) == 2
    client = redis.Redis.from_url(url)
    assert client.zcard("dedup:news:live") == 0
    assert client.bitcount("dedup:news:held") == statuses[("unique", None)]
