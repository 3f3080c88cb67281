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

# Stories of which there are several versions: a print copy, an address with a tail, a reprint.
FAMILIES = [
    ("swing-bridge-reopens", "mended-bridge-swings"),
    ("town-clock-repair",),
    ("night-walk-maps",),
    ("heron-count-estuary", "record-heron-season"),
    ("kelp-rope-farm", "seaweed-from-the-net-loft"),
    ("library-lends-tools", "borrow-a-cider-press"),
    ("lanxi-guanxing-she", "wuding-wangyuanjing"),
    ("liuting-jiushu-xiufu", "xiu-shu-ren"),
]

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
    kept = re.findall(r"^  (http\S+)$", done.stdout.split("COPIES")[0], re.MULTILINE)
    # A page that both were redirected to is a revisit for one of them, and kept again.
    for family in FAMILIES:
        assert sum(any(name in url for name in family) for url in set(kept)) == 1, family
    summary = re.search(r"SUMMARY: (\d+) items kept by two crawlers; (\d+) copies", done.stdout)
    assert summary
    assert int(summary[1]) == len(kept)
    with closing(sqlite3.connect(folder / ".scrapy" / "simdedup" / "news-log.db")) as log:
        runs = log.execute("SELECT spider, status FROM runs").fetchall()
        assert runs == [("news", "finished")] * 2
        statuses = Counter(status for (status,) in log.execute("SELECT status FROM decisions"))
        assert statuses["duplicate"] == int(summary[2])
        by_run = log.execute("SELECT run, count(*) FROM decisions GROUP BY 1").fetchall()
        copied = "SELECT original FROM decisions WHERE status = 'duplicate'"
        unique = "SELECT url FROM decisions WHERE status = 'unique'"
        assert log.execute(f"{copied} EXCEPT {unique}").fetchall() == []
    # Both had a part in it; which one a page falls to is left to chance.
    assert len(by_run) == 2
    client = redis.Redis.from_url(url)
    assert client.zcard("dedup:news:live") == 0
    assert client.bitcount("dedup:news:held") == statuses["unique"]
