"""What an index in Redis costs: a judgement's time, round trips, memory; and datasketch's.

    python benchmarks/redis_index.py [--pages 100000] [--url redis://...] [--json FILE]

benchmarks/README.md says what each figure is.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import redis
import redis_peer
from children import alone
from figures import Figures, merged, noise, percentiles, rounded, show, versions
from index_judge import Bench, Several, judge
from judged import queries
from made_up import SEED
from own_redis import counting, named, redis_server, remove
from redis_fill import fill

from scrapy_simdedup import Deduplicator

_PACKAGES = ("scrapy-simdedup", "numpy", "redis", "hiredis", "datasketch")

PEER = "datasketch MinHashLSH in Redis"

# A turn whose queries nobody else has.
_TRIPS_TURN = (1 << 18) + 1


def measure(url: str, logs: Path, options: argparse.Namespace) -> Figures:
    """Return the figures of the product on the server at a URL."""
    pages, share = options.pages, options.share
    client: Any = redis.Redis.from_url(url)
    name = named("index")
    index = f"{url}?prefix={name}"
    remove(client, name)
    seconds, size = alone(fill, index, logs / "fill.db", pages)
    product: Figures = {"bytes_per_page": size, "build_s": seconds}
    log = logs / "judge.db"
    runs = [
        judge(index, pages, options.queries, share, turn, log=log) for turn in range(options.repeat)
    ]
    product |= merged(runs)
    product |= alone(trips, index, log, pages, min(options.queries, 1000), share)
    several = Several(index, pages, share, options.processes, logs)
    runs = [
        several.steady(options.seconds, options.rate, turn)
        | several.saturated(options.queries, turn)
        for turn in range(options.repeat if options.processes else 0)
    ]
    if runs:
        product |= {"processes": options.processes, **merged(runs)}
    remove(client, name)
    return product


def trips(index: str, log: Path, pages: int, count: int, share: float) -> Figures:
    """Return how often a page goes to the server: to judge it, to recognise it, to confirm it."""
    spent = {"trips": 0, "recognise_trips": 0, "confirm_trips": 0}
    kept = 0
    with counting() as made, Deduplicator(index, log=log) as dedup:
        bench = Bench(dedup)
        for query in queries(pages, count, share, _TRIPS_TURN):
            subject = dedup.page(query.url, (), query.body)
            for what, job in (
                ("recognise_trips", lambda subject=subject: dedup.recall(subject)),
                ("trips", lambda query=query: bench.judge(query)),
                ("confirm_trips", bench.confirm),
            ):
                made[0] = 0
                claims = len(bench.claims)
                job()
                spent[what] += made[0]
                kept += what == "confirm_trips" and claims
    # ``Bench.judge`` recalls as well.
    spent["trips"] -= spent["recognise_trips"]
    found: Figures = {name: spent[name] / count for name in ("trips", "recognise_trips")}
    return found | {"confirm_trips": spent["confirm_trips"] / max(kept, 1)}


def ping(url: str) -> Figures:
    """Return how long the shortest round trip takes."""
    client = redis.Redis.from_url(url)
    took = []
    for _ in range(1000):
        start = time.perf_counter()
        client.ping()
        took.append(time.perf_counter() - start)
    return percentiles(took, "ping_")


def server_version(url: str) -> str:
    """Return the version of the server at a URL."""
    info: Any = redis.Redis.from_url(url).info("server")
    return str(info["redis_version"])


def main() -> None:
    """Measure, print and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=5000, help="judged pages, a run")
    parser.add_argument("--share", type=float, default=0.2, help="of them near-duplicates")
    parser.add_argument("--processes", type=int, default=4, help="at once; 0: not measured")
    parser.add_argument("--rate", type=float, default=50, help="pages a second and process")
    parser.add_argument("--seconds", type=float, default=10, help="of judging at that rate")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--url", default="", help="a server that runs; default: one is started")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--peer-pages", type=int, help="default: as many, 20,000 at most")
    parser.add_argument("--peer-queries", type=int, default=1000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    control = noise()
    show("pure work, for comparison", control)
    found: dict[str, Figures] = {}
    with redis_server(options.url) as url, tempfile.TemporaryDirectory() as logs:
        meta: dict[str, Any] = {
            "seed": SEED,
            **{name: getattr(options, name) for name in ("pages", "queries", "share", "repeat")},
            "pure_work": rounded(control),
            "versions": {**versions(_PACKAGES), "redis-server": server_version(url)},
        }
        found["product"] = ping(url) | measure(url, Path(logs), options)
        show("product", found["product"])
        if options.no_peers:
            pass
        elif find_spec("datasketch") is None:
            print(f"{PEER}: skipped, datasketch is not installed")
        else:
            size = options.peer_pages or min(options.pages, 20_000)
            count = options.peer_queries
            found[PEER] = alone(redis_peer.measure, url, size, count, options.share)
            show(PEER, found[PEER])
    if options.json:
        written = {name: rounded(figures) for name, figures in found.items()}
        options.json.write_text(json.dumps({**written, "meta": meta}, indent=2) + "\n")


if __name__ == "__main__":
    main()
