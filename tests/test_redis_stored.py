"""What lies in a Redis server, and whose it is."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from in_redis import index_of, judge, other_log
from scrapy_simdedup import ConfigError, Deduplicator, IndexUnusable
from scrapy_simdedup.index.place import place_of
from test_index import BITS_ONLY, analysis_of, fingerprinted
from texts import reworded, story


def test_pages_of_sites_and_items_lie_apart(redis_store):
    settings = {"SIMDEDUP_SCOPE": "site", "SIMDEDUP_MAX_DISTANCE": 8}
    with redis_store.open(settings) as dedup:
        for site in ("a.example", "b.example"):
            assert dedup.check(f"https://{site}/1", text=story(1)).status == "unique"
            found = dedup.check(f"https://{site}/2", text=reworded(story(1), 0.04))
            assert found.original == f"https://{site}/1"
        item = dedup.item("https://a.example/1", "dict", "key")
        assert dedup.judge(item, analysis_of(dedup, story(1))).verdict.status == "unique"
        assert redis_store.wrong(dedup.config.methods, settled=False) == []
    assert redis_store.wrong(dedup.config.methods) == []


@pytest.mark.parametrize(
    "methods", [["piecewise", "keywords"], ["classic"], ["simhash", "sketch", "piecewise"]]
)
@pytest.mark.parametrize("bits", [64, 32])
def test_every_method(redis_store, methods, bits):
    settings = {"SIMDEDUP_METHODS": methods, "SIMDEDUP_HASH_BITS": bits}
    if (methods, bits) == (["classic"], 32):
        with pytest.raises(ConfigError, match=r"classic takes 10 bits.* up to 5 bits apart"):
            redis_store.open(settings)
        return
    with redis_store.open(settings) as dedup:
        for seed in range(10):
            assert dedup.check(f"{seed}", text=story(seed)).status == "unique"
        for seed in range(10):
            copy = story(seed) + " And some more words."
            assert dedup.check(f"copy {seed}", text=copy).original == f"{seed}"
        assert redis_store.wrong(dedup.config.methods, settled=False) == []


def test_a_crowd_stores_no_more_rows_than_are_looked_at(redis_store):
    """Two hundred pages with one fingerprint, and unlike texts."""
    settings = {"SIMDEDUP_METHODS": ["simhash"], "SIMDEDUP_MIN_RESEMBLANCE": 0.5}
    value = 0x8C3A55F00D1E7B42
    with redis_store.open(settings) as dedup:
        for number in range(200):
            unlike = replace(fingerprinted(value), digest=number.to_bytes(16, "big"))
            found = dedup.judge(dedup.page(f"{number}"), unlike, confirm=True)
            assert found.verdict.status == "unique"
        size = redis_store.client.strlen(f"{redis_store.keys.prefix}:16:{value >> 48:04x}")
        assert size == 64 * 11
        with redis_store.open(BITS_ONLY) as loose:
            found = judge(loose, "copy", value ^ 1).verdict
            assert (found.original, found.distance) == ("0", 1)
        assert redis_store.wrong(["simhash"], settled=False) == []


def test_a_template_is_no_evidence(redis_store):
    """A sketch key that very many pages share proposes none of them."""
    with redis_store.open() as dedup:
        texts = [story(seed) + "\n\n" + story(1000, 60) for seed in range(80)]
        analyses = [analysis_of(dedup, text) for text in texts]
        for number, analysis in enumerate(analyses):
            dedup.judge(dedup.page(f"{number}"), analysis, confirm=True)
        assert len(redis_store.held()) == 80
        assert index_of(dedup).pages.crowded > 0
        assert redis_store.wrong(dedup.config.methods, settled=False) == []


def test_what_is_too_old_is_gone_with_its_rows(redis_store):
    prefix = 0xABCD << 48
    with redis_store.open({**BITS_ONLY, "SIMDEDUP_MAX_AGE": "1h"}) as dedup:
        for number in range(12):
            value = prefix | number * 0x9E3779B97F4A7C15 >> 16 & 0xFFFFFFFFFFFF
            assert judge(dedup, f"old {number}", value, confirm=True).verdict.status == "unique"
            assert (
                3_500_000 < redis_store.client.pttl(redis_store.keys.page(number + 1)) <= 3_600_000
            )
        # Met again, it lives on; its claim was confirmed with the life that it had.
        redis_store.client.pexpire(redis_store.keys.page(1), 1000_000)
        judge(dedup, "old 0", prefix, confirm=True)
        assert redis_store.client.pttl(redis_store.keys.page(1)) > 3_500_000
        for number in range(1, 12):
            redis_store.client.pexpire(redis_store.keys.page(number + 1), 1)
        until = time.monotonic() + 60
        while redis_store.client.exists(redis_store.keys.page(12)) and time.monotonic() < until:
            time.sleep(0.001)
        # No original any more.
        value = prefix | 0x9E3779B97F4A7C15 >> 16 & 0xFFFFFFFFFFFF
        assert judge(dedup, "new", value, confirm=True).verdict.status == "unique"
        # When a bucket has doubled, the rows of what is gone are gone as well.
        for number in range(1, 4):
            value = prefix | number * 0xD1B54A32D192ED03 >> 16 & 0xFFFFFFFFFFFF
            judge(dedup, f"new {number}", value, confirm=True)
        bucket = redis_store.client.get(f"{redis_store.keys.prefix}:16:abcd")
        assert len(bucket) == 5 * 11
        assert dedup.originals() == 5


def test_a_record_that_is_damaged_counts_as_unknown(redis_store, caplog):
    with redis_store.open() as dedup:
        for seed in range(3):
            dedup.check(f"{seed}", text=story(seed))
        redis_store.client.set(redis_store.keys.page(1), b"what is this")
        redis_store.client.setrange(redis_store.keys.page(2), 60, b"\xff" * 40)
        for seed in range(3):
            found = dedup.check(f"copy {seed}", text=story(seed))
            assert found.status == ("unique" if seed < 2 else "duplicate")
    assert caplog.text.count("cannot be read and counts as unknown") == 1


def test_foreign_keys_are_left_alone(redis_store):
    prefix = redis_store.keys.prefix
    theirs = {f"{prefix}:requests": "queue", f"{prefix}:page": "1", "other:page:1": "x"}
    redis_store.client.mset(theirs)
    with redis_store.open() as dedup:
        dedup.check("a", text=story(1))
        dedup.check("b", text=story(1))
    ours = redis_store.client.dbsize() - len(theirs)
    assert ours > 10
    place = place_of(redis_store.index, redis_store.log)
    place.check_reset()
    assert "were removed" in (place.reset() or "")
    assert place.reset() is None
    left = list(redis_store.client.scan_iter(f"{prefix}:*"))
    assert sorted(key.decode() for key in left) == sorted(key for key in theirs if prefix in key)
    assert redis_store.client.mget(theirs) == [value.encode() for value in theirs.values()]
    redis_store.client.delete(*theirs)
    with redis_store.open() as dedup:
        assert dedup.check("b", text=story(1)).status == "unique"


def test_a_prefix_of_another_program(redis_store):
    redis_store.client.set(redis_store.keys.meta, "theirs")
    with pytest.raises(IndexUnusable, match="another program's"):
        redis_store.open()
    redis_store.client.delete(redis_store.keys.meta)
    redis_store.client.hset(redis_store.keys.meta, "theirs", 1)
    with pytest.raises(IndexUnusable, match="another program's"):
        redis_store.open()
    assert redis_store.client.hgetall(redis_store.keys.meta) == {b"theirs": b"1"}
    redis_store.client.delete(redis_store.keys.meta)
    redis_store.client.set(redis_store.keys.live, "theirs")
    with pytest.raises(IndexUnusable, match="another program's"):
        redis_store.open()


def test_a_newer_schema_and_one_that_is_being_emptied(redis_store):
    redis_store.open().close()
    for schema, message in ((99, "schema 99"), ("emptying", "being emptied")):
        redis_store.client.hset(redis_store.keys.meta, "schema", schema)
        with pytest.raises(IndexUnusable, match=message):
            redis_store.open()
    place_of(redis_store.index, redis_store.log).reset()
    redis_store.open().close()


def test_an_index_that_is_in_use_is_not_emptied(redis_store, tmp_path):
    place = place_of(redis_store.index, redis_store.log)
    with (
        other_log(redis_store, tmp_path),
        pytest.raises(IndexUnusable, match="another run is using it"),
    ):
        place.check_reset()
    dedup = redis_store.open()
    dedup.check("a", text=story(1))
    with pytest.raises(IndexUnusable, match="another run is using it"):
        place.reset()
    # Of a process that is gone, and whose log lies here, nobody has to wait a minute.
    redis_store.die(dedup)
    place.check_reset()
    place.reset()
    with redis_store.open() as dedup:
        assert dedup.originals() == 0


def test_a_log_is_no_index_and_an_index_no_log(redis_store, tmp_path):
    redis_store.open().close()
    with pytest.raises(IndexUnusable, match="of an index in Redis"):
        Deduplicator(redis_store.log)
    index = tmp_path / "index.db"
    Deduplicator(index).close()
    with pytest.raises(IndexUnusable, match=str(index)):
        Deduplicator(redis_store.index, log=index)
