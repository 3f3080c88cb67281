"""The benchmark of the index in Redis: filled in bulk as page by page, and run from end to end."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import redis

from scrapy_simdedup import Deduplicator
from stores import RedisStore, Store
from test_benchmark_index import BENCHMARKS, run

sys.path.insert(0, str(BENCHMARKS))

from judged import BITS, near, page
from redis_fill import fill

from scrapy_simdedup.index.redis.record import Record


def contents(store: RedisStore) -> Mapping[str, bytes | Record]:
    """Return what is stored of pages, without the numbers of runs."""
    found: dict[str, bytes | Record] = {}
    for key in store.client.scan_iter(f"{store.keys.prefix}:*"):
        name = key.decode().removeprefix(f"{store.keys.prefix}:")
        if name.startswith("page:"):
            found[name] = Record.unpack(store.client.get(key)).changed(run=0, seen=0, met=0)
        elif name not in ("meta", "live") and not name.startswith("run:"):
            found[name] = store.client.get(key)
    return found


def test_an_index_filled_in_bulk_is_one_that_was_judged_page_by_page(new_store, tmp_path):
    stores: list[Store] = [new_store("redis"), new_store("redis")]
    bulk, judged = (store for store in stores if isinstance(store, RedisStore))
    seconds, size = fill(bulk.index, bulk.log, 60)
    assert seconds > 0
    assert size > 500
    with judged.open() as dedup:
        for number in range(1, 61):
            query = page(number)
            subject = dedup.page(query.url, (), query.body)
            assert dedup.judge(subject, query.analysis, confirm=True).verdict.status == "unique"
    assert contents(bulk) == contents(judged)
    assert bulk.wrong(["simhash", "sketch"]) == []
    with Deduplicator(bulk.index, log=bulk.log) as dedup:
        assert dedup.originals() == 60
        copy = near(10**6, 7, BITS)
        judgement = dedup.judge(dedup.page(copy.url, (), copy.body), copy.analysis)
        assert judgement.original_page == 7


def test_a_run_measures_the_product_and_its_peer(tmp_path: Path, redis_server):
    raw = tmp_path / "raw.json"
    client = redis.Redis(port=redis_server.port, db=0)
    before = set(client.scan_iter("simdedup-benchmark*"))
    tiny = ["--queries", 60, "--repeat", 1, "--processes", 2, "--seconds", 0.2]
    tiny += ["--peer-pages", 100, "--peer-queries", 30, "--url", redis_server.url()]
    printed = run("redis_index.py", "--pages", 300, *tiny, "--json", raw)
    found = json.loads(raw.read_text())
    product = found.pop("product")
    times = {f"p{at}_ms" for at in (50, 95, 99)}
    prefixes = ("", "ping_", "steady_", "saturated_")
    assert product.keys() >= {prefix + name for prefix in prefixes for name in times}
    assert (product["recall"], product["steady_recall"], product["false"]) == (1.0, 1.0, 0)
    assert 2 <= product["trips"] < 3
    assert product["recognise_trips"] == product["confirm_trips"] == 1
    assert product["bytes_per_page"] > 500
    meta = found.pop("meta")
    assert meta["versions"]["redis-server"]
    assert "datasketch MinHashLSH in Redis" in printed
    for figures in found.values():
        assert figures.keys() >= {*times, "recall", "trips", "bytes_per_page"}
        assert figures["pages"] == 100
    assert set(client.scan_iter("simdedup-benchmark*")) == before == set()
