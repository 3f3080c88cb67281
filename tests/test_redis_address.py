"""Addresses of indexes in Redis, passwords in them, and servers that cannot hold an index."""

from __future__ import annotations

import logging

import pytest
import redis

from in_redis import index_of
from redis_server import RedisServer
from scrapy_simdedup import ConfigError, Deduplicator, IndexUnusable
from scrapy_simdedup.config import Config
from scrapy_simdedup.exceptions import IndexAway
from scrapy_simdedup.index.redis import address
from stores import RedisStore, new_name
from test_index import analysis_of
from texts import story


def test_no_password_is_shown_or_stored(tmp_path, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    folder = tmp_path / "server"
    folder.mkdir()
    with RedisServer(folder, "--requirepass", "s3cret/p@ss") as server:
        escaped = "s3cret%2Fp%40ss"
        index = server.url(credentials=f"default:{escaped}@")
        log = tmp_path / "log.db"
        with Deduplicator(index, {"SIMDEDUP_INDEX": index}, log=log) as dedup:
            assert dedup.check("a", text=story(1)).status == "unique"
            told = [dedup.place, repr(dedup.config), str(index_of(dedup)._link.address)]
            told += [repr(index_of(dedup)._link.address)]
            server.kill()
            for _ in range(2):
                with pytest.raises(IndexAway) as failed:
                    dedup.check("b", text=story(2))
                told.append(str(failed.value))
        server.start()
        for wrong in ("", "default:n0ne@"):
            with pytest.raises(IndexUnusable) as refused:
                Deduplicator(server.url(credentials=wrong), log=log)
            told.append(str(refused.value))
    with pytest.raises(ConfigError) as bad:
        Config.from_settings({"SIMDEDUP_INDEX": "redis://:s3cret/p@ss@host/zero"})
    told += [str(bad.value), caplog.text, *capfd.readouterr()]
    everything = "".join(told) + str(log.read_bytes())
    for secret in ("s3cret", escaped, "p@ss", "n0ne"):
        assert secret not in everything


@pytest.mark.parametrize(
    ("given", "url", "prefix", "shown"),
    [
        ("redis://h", "redis://h", "simdedup", "redis://h"),
        ("redis://h:1/2?prefix=a:b", "redis://h:1/2", "a:b", "redis://h:1/2?prefix=a:b"),
        ("rediss://u:p@h/0", "rediss://u:p@h/0", "simdedup", "rediss://h/0"),
        (
            "redis://h/0?socket_timeout=9&prefix=x",
            "redis://h/0?socket_timeout=9",
            "x",
            "redis://h/0?socket_timeout=9&prefix=x",
        ),
    ],
)
def test_addresses(given, url, prefix, shown):
    read = address.read(given)
    assert (read.url, read.prefix, str(read)) == (url, prefix, shown)
    assert Config.from_settings({"SIMDEDUP_INDEX": given}).index == given


@pytest.mark.parametrize(
    "given",
    [
        "redis://",
        "redis:///0",
        "redis://h:port/0",
        "redis://h/zero",
        "redis://h/0?prefix=",
        "redis://h/0?prefix=a b",
        "redis://h/0?prefix=a*",
        "mongodb://h/0",
    ],
)
def test_addresses_that_are_none(given):
    with pytest.raises(ConfigError, match="SIMDEDUP_INDEX is"):
        Config.from_settings({"SIMDEDUP_INDEX": given})
    if "redis" in given:
        with pytest.raises(ConfigError, match="SIMDEDUP_INDEX is"):
            Deduplicator(given)


def test_the_name_of_a_spider_in_an_address():
    index = "redis://:p%40ss@h/0?prefix=crawl:%(spider)s"
    config = Config.from_settings({"SIMDEDUP_INDEX": index})
    filled = address.read(address.filled(config.index, "新闻 & [x]"))
    assert filled.prefix == "crawl:新闻_&__x_"
    assert filled.url == "redis://:p%40ss@h/0"


def test_limits_that_are_too_wide(redis_store):
    index = {"SIMDEDUP_INDEX": redis_store.index}
    assert Config.from_settings({**index, "SIMDEDUP_MAX_DISTANCE": 11}).max_distance == ((0, 11),)
    with pytest.raises(ConfigError, match=r"SIMDEDUP_MAX_DISTANCE is 12 bits.* up to 11 bits"):
        Config.from_settings({**index, "SIMDEDUP_MAX_DISTANCE": [[100, 3], [0, 12]]})
    with redis_store.open() as dedup, pytest.raises(ConfigError, match="up to 11 bits apart"):
        dedup.config.override({"max_distance": 12})
    # Where nobody measures bits, none are too many.
    Config.from_settings({**index, "SIMDEDUP_METHODS": ["sketch"], "SIMDEDUP_MAX_DISTANCE": 64})


def test_a_server_that_is_not_there(tmp_path):
    log = tmp_path / "log.db"
    with pytest.raises(IndexUnusable, match=r"redis://127\.0\.0\.1:1/0 cannot be reached"):
        Deduplicator("redis://127.0.0.1:1/0", log=log)
    assert not log.exists()


def test_a_server_that_evicts_is_warned_of(tmp_path, caplog):
    folder = tmp_path / "server"
    folder.mkdir()
    options = ["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"]
    with RedisServer(folder, *options) as server:
        Deduplicator(server.url(), log=tmp_path / "log.db").close()
    assert "Set noeviction" in caplog.text


def test_a_cluster_is_refused(tmp_path):
    folder = tmp_path / "server"
    folder.mkdir()
    with (
        RedisServer(folder, "--cluster-enabled", "yes") as server,
        pytest.raises(IndexUnusable, match="Redis Cluster"),
    ):
        Deduplicator(server.url(), log=tmp_path / "log.db")


def test_a_full_server_is_an_error_and_the_index_stays_sound(redis_store, tmp_path):
    folder = tmp_path / "server"
    folder.mkdir()
    with RedisServer(folder) as server:
        full = RedisStore(tmp_path, new_name(), server)
        with full.open() as dedup:
            dedup.check("a", text=story(1))
            claim = dedup.judge(dedup.page("b"), analysis_of(dedup, story(2))).claim
            full.client.config_set("maxmemory", 1)
            with pytest.raises(redis.ResponseError, match="maxmemory"):
                dedup.check("c", text=story(3))
            full.client.config_set("maxmemory", 0)
            assert dedup.check("copy", text=story(1)).original == "a"
            assert dedup.confirm([claim]).count == 1
        assert full.wrong(dedup.config.methods) == []
