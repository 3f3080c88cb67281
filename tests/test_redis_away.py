"""Redis servers that go and come, and runs that are taken for dead."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator

import pytest

from in_redis import index_of, other_log
from redis_server import RedisServer
from scrapy_simdedup import Deduplicator, IndexUnusable
from scrapy_simdedup.exceptions import IndexAway
from scrapy_simdedup.index.redis import members
from stores import RedisStore, new_name
from test_index import analysis_of
from texts import story


@pytest.fixture
def server(tmp_path) -> Iterator[RedisServer]:
    """A server of one's own, to be killed."""
    folder = tmp_path / "server"
    folder.mkdir()
    with RedisServer(folder) as started:
        yield started


@pytest.fixture
def own(server, tmp_path) -> RedisStore:
    return RedisStore(tmp_path, new_name(), server)


def back(dedup: Deduplicator) -> None:
    """Wait until the heartbeat has found the server again."""
    until = time.monotonic() + 60
    while index_of(dedup)._link.away:
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_server_that_comes_back_with_its_data(server, own, caplog):
    caplog.set_level(logging.INFO)
    with own.open() as dedup:
        dedup.check("a", text=story(1))
        open_claim = dedup.judge(dedup.page("b"), analysis_of(dedup, story(2))).claim
        server.kill()
        with pytest.raises(IndexAway, match=r"redis://127\.0\.0\.1"):
            dedup.check("c", text=story(3))
        # And from then on nobody waits for it.
        trips = index_of(dedup)._link.trips
        for act in (lambda: dedup.check("d", text=story(4)), lambda: dedup.confirm([open_claim])):
            with pytest.raises(IndexAway):
                act()
        assert index_of(dedup)._link.trips == trips
        server.start()
        back(dedup)
        assert f"{own.index} is back" in caplog.text
        assert dedup.check("copy of a", text=story(1)).original == "a"
        found = dedup.judge(dedup.page("copy of b"), analysis_of(dedup, story(2)))
        assert (found.verdict.original, found.original_open) == ("b", True)
        assert dedup.confirm([open_claim]).count == 1
        assert [row.url for row in own.held()] == ["a", "b"]
        # Claims of both numbers that the run had are its own.
        last = dedup.judge(dedup.page("e"), analysis_of(dedup, story(5))).claim
        assert last.run > open_claim.run
        dedup.judge(dedup.page("f"), analysis_of(dedup, story(6)))
        assert dedup.confirm([last]).count == 1
    assert [row.url for row in own.held()] == ["a", "b", "e"]
    assert own.wrong(dedup.config.methods) == []


def test_a_server_that_comes_back_with_nothing(server, own, caplog):
    with own.open() as dedup:
        dedup.check("a", text=story(1))
        before = dedup.judge(dedup.page("b"), analysis_of(dedup, story(2))).claim
        assert dedup.check("early copy of a", text=story(1)).original == "a"
        assert dedup.check("early copy of b", text=story(2)).original == "b"
        server.kill(wipe=True)
        with pytest.raises(IndexAway):
            dedup.check("c", text=story(3))
        server.start()
        back(dedup)
        # What it knew is gone: copies are let through, and are originals from here on.
        assert dedup.check("copy of a", text=story(1)).status == "unique"
        assert caplog.text.count("has lost what it held") == 1
        now = dedup.judge(dedup.page("copy of b"), analysis_of(dedup, story(2))).claim
        # Nobody will ever tell whether the page that this one copies was stored.
        orphans = dedup.confirm([]).orphans
        assert [orphan.url for orphan in orphans] == ["early copy of b"]
        # A claim of then has the number of another page now, and nothing to do with it.
        assert before.page == now.page == 2
        assert dedup.confirm([before]).count == dedup.release([before]).count == 0
        assert dedup.confirm([now]).count == 1
        assert dedup.check("again", text=story(2)).original == "copy of b"
    assert [row.url for row in own.held()] == ["copy of a", "copy of b"]
    assert own.wrong(dedup.config.methods) == []


def test_another_index_in_the_place_of_the_lost_one(server, own, tmp_path):
    with own.open() as dedup:
        dedup.check("a", text=story(1))
        server.kill(wipe=True)
        with pytest.raises(IndexAway):
            dedup.check("b", text=story(2))
        server.start()
        with other_log(own, tmp_path, {"SIMDEDUP_METHODS": ["simhash"]}) as other:
            back(dedup)
            with pytest.raises(IndexUnusable, match="was written with methods"):
                dedup.check("c", text=story(3))
            assert other.check("d", text=story(4)).status == "unique"


def test_a_server_that_is_gone_at_the_end(server, own, caplog):
    with own.open() as dedup:
        dedup.judge(dedup.page("a"), analysis_of(dedup, story(1)))
        server.kill()
    assert "is released once it is taken for dead" in caplog.text
    assert own.asked("SELECT status FROM runs") == [("finished",)]
    server.start()
    # The log tells that the process is gone; its claim is released at once.
    with own.open() as dedup:
        assert dedup.reaped.count == 1
        assert dedup.check("b", text=story(1)).status == "unique"
    assert own.wrong(dedup.config.methods) == []


def beats(dedup: Deduplicator) -> None:
    """Do at once what the heartbeat does every ten seconds."""
    index_of(dedup)._beat()


def test_a_run_that_is_silent_is_dead(redis_store, tmp_path, monkeypatch):
    """Of another machine, so that only its heartbeats tell."""
    with other_log(redis_store, tmp_path) as one, redis_store.open() as two:
        claim = one.judge(one.page("theirs"), analysis_of(one, story(1))).claim
        assert two.check("mine", text=story(1)).original == "theirs"
        beats(two)
        assert [row.url for row in redis_store.held()] == ["theirs"]
        # As if the last heartbeat had been a minute ago.
        for member in redis_store.client.zrange(redis_store.keys.live, 0, -1):
            if member.startswith(str(index_of(one).run).encode()):
                redis_store.client.zincrby(redis_store.keys.live, -60_001, member)
        monkeypatch.setattr(members, "_UP_SECONDS", -1)
        beats(two)
        assert redis_store.held() == []
        assert two.check("again", text=story(1)).status == "unique"
        # The copy was refused for nothing: the next settling tells.
        settled = two.confirm([])
        assert [orphan.url for orphan in settled.orphans] == ["mine"]
        # It lives, after all. What it held is not its own any more; what it claims now is.
        beats(one)
        assert one.confirm([claim]).count == 0
        assert one.check("copy", text=story(1)).original == "again"
        later = one.judge(one.page("later"), analysis_of(one, story(2))).claim
        assert later.run > claim.run
        assert one.confirm([later]).count == 1
    assert [row.url for row in redis_store.held()] == ["again", "later"]
    assert redis_store.wrong(one.config.methods) == []


def test_nobody_is_dead_to_a_server_that_was_down(redis_store, tmp_path, monkeypatch):
    with other_log(redis_store, tmp_path) as one, redis_store.open() as two:
        one.judge(one.page("theirs"), analysis_of(one, story(1)))
        for member in redis_store.client.zrange(redis_store.keys.live, 0, -1):
            redis_store.client.zincrby(redis_store.keys.live, -600_000, member)
        monkeypatch.setattr(members, "_UP_SECONDS", 10**9)
        beats(two)
        assert two.check("mine", text=story(1)).original == "theirs"


def test_orphans_in_the_logs_of_others(redis_store, tmp_path):
    """A copy on one machine leans on a claim of another one, which comes to nothing."""
    with other_log(redis_store, tmp_path) as one:
        claim = one.judge(one.page("theirs"), analysis_of(one, story(1))).claim
        with redis_store.open() as two:
            assert two.check("mine", text=story(1)).original == "theirs"
        # That run is over when the claim is released; its log is told by the next one.
        assert not one.release([claim]).orphans
        assert redis_store.asked("SELECT status FROM decisions") == [("duplicate",)]
    with redis_store.open() as two:
        assert [orphan.url for orphan in two.reaped.orphans] == ["mine"]
    assert redis_store.asked("SELECT status FROM decisions") == [("orphaned",)]
    with redis_store.open() as two:
        assert not two.reaped.orphans
    assert redis_store.wrong(one.config.methods) == []


def test_a_confirmed_claim_lets_go_of_its_copies(redis_store):
    with redis_store.open() as dedup:
        claim = dedup.judge(dedup.page("a"), analysis_of(dedup, story(1))).claim
        dedup.check("b", text=story(1))
        assert redis_store.client.llen(redis_store.keys.copies(1)) == 1
        dedup.confirm([claim])
        assert redis_store.client.exists(redis_store.keys.copies(1)) == 0
        assert dedup.release([claim]).count == 0
    assert redis_store.asked("SELECT status FROM decisions") == [("unique",), ("duplicate",)]


def test_copies_of_this_run_alone(redis_store, tmp_path):
    """With ``since = run`` a copy may rest on a visit, which may come to nothing."""
    settings = {"SIMDEDUP_SINCE": "run"}
    with redis_store.open(settings) as dedup:
        dedup.check("a", text=story(1))
    with redis_store.open(settings) as dedup:
        analysis = analysis_of(dedup, story(1))
        visit = dedup.judge(dedup.page("a"), analysis)
        assert (visit.verdict.status, visit.claim.alone) == ("revisit", True)
        assert dedup.judge(dedup.page("b"), analysis).verdict.original == "a"
        with other_log(redis_store, tmp_path) as other:
            assert other.check("theirs", text=story(1)).original == "a"
        assert [orphan.url for orphan in dedup.release([visit.claim]).orphans] == ["b"]
        assert dedup.judge(dedup.page("b"), analysis).verdict.status == "unique"
    with other_log(redis_store, tmp_path) as other:
        assert not other.reaped.orphans
    assert redis_store.wrong(dedup.config.methods) == []
