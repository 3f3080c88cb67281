"""Judgements at once in an index in Redis, and answers that get lost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
import redis

from in_redis import index_of, judge, other_log
from invariants import wrong_in_redis
from scrapy_simdedup import Deduplicator
from scrapy_simdedup.exceptions import IndexAway
from scrapy_simdedup.index.redis.store import RedisIndex
from test_index import BITS_ONLY, analysis_of
from texts import reworded, story


@contextmanager
def between(dedup: Deduplicator, event: Callable[[], Any]) -> Iterator[list[int]]:
    """Have something happen between a judgement's look and its claim, once."""
    index = index_of(dedup)
    looks: list[int] = []
    look = index.pages.look

    def looking(*arguments: Any) -> Any:
        found = look(*arguments)
        looks.append(len(looks))
        if len(looks) == 1:
            event()
        return found

    index.pages.look = looking  # type: ignore[method-assign]
    yield looks
    index.pages.look = look  # type: ignore[method-assign]


def test_whoever_claims_second_is_judged_again(redis_store, tmp_path):
    with redis_store.open() as one, other_log(redis_store, tmp_path) as two:
        analysis = analysis_of(one, story(1))
        with between(one, lambda: two.judge(two.page("theirs"), analysis)) as looks:
            found = one.judge(one.page("mine"), analysis)
        assert (found.verdict.status, found.verdict.original) == ("duplicate", "theirs")
        assert found.original_open
        assert len(looks) == 2
        # What has nothing to do with it is no reason to look again.
        unlike = analysis_of(one, story(2))
        with between(one, lambda: two.check("elsewhere", text=story(3))) as looks:
            assert one.judge(one.page("other"), unlike).verdict.status == "unique"
        assert len(looks) == 1
    assert redis_store.wrong(one.config.methods) == []


@pytest.mark.parametrize("near", [0, 3])
def test_a_fingerprint_that_comes_in_between_is_seen(redis_store, tmp_path, near):
    value = 0x8C3A55F00D1E7B42
    with redis_store.open(BITS_ONLY) as one, other_log(redis_store, tmp_path, BITS_ONLY) as two:
        flips = (1 << near) - 1
        with between(one, lambda: judge(two, "theirs", value ^ flips)):
            found = judge(one, "mine", value).verdict
        assert (found.original, found.distance) == ("theirs", near)


def test_the_same_page_of_two_crawlers_at_once(redis_store, tmp_path):
    """Both have changed texts of one page that is known; one row remains."""
    with redis_store.open(BITS_ONLY) as one, other_log(redis_store, tmp_path, BITS_ONLY) as two:
        judge(one, "page", 1, confirm=True)
        claims: list[Any] = []

        def theirs() -> None:
            claims.append(judge(two, "page", 1 << 20).claim)

        with between(one, theirs) as looks:
            mine = judge(one, "page", 1 << 40)
        assert (mine.verdict.status, mine.verdict.changed, len(looks)) == ("revisit", True, 2)
        two.confirm(claims)
        one.confirm([mine.claim])
        assert [row.digest[0:8] for row in redis_store.held()] == [(1 << 40).to_bytes(8, "little")]
    assert redis_store.wrong(["simhash"]) == []


def test_an_original_that_goes_in_between(redis_store, tmp_path):
    """A copy never names an original that has just come to nothing."""
    with redis_store.open() as one, other_log(redis_store, tmp_path) as two:
        analysis = analysis_of(one, story(1))
        claim = two.judge(two.page("theirs"), analysis).claim
        log = index_of(one)._log.log

        def releasing(values: Any) -> int:
            # The judgement has loaded the original by now, and is about to lean on it.
            two.release([claim])
            return log(values)

        index_of(one)._log.log = releasing  # type: ignore[method-assign]
        found = one.judge(one.page("mine"), analysis)
        assert found.verdict.status == "unique"
        assert redis_store.asked("SELECT url, status FROM decisions") == [("mine", "unique")]


def test_visits_at_once_are_both_counted(redis_store, tmp_path):
    with redis_store.open() as one:
        one.check("a", text=story(1))
    with redis_store.open() as one, other_log(redis_store, tmp_path) as two:
        analysis = analysis_of(one, story(1))
        with between(one, lambda: two.judge(two.page("a"), analysis)):
            assert one.judge(one.page("a"), analysis).verdict.status == "revisit"
        (row,) = redis_store.held()
        assert (row.visits, row.seen) == (3, index_of(one).run)


def test_many_crawlers_and_one_text_at_a_time(redis_store, tmp_path):
    """Eight of them judge the same sixty texts, each in its own order: one original each."""
    opened: list[Deduplicator] = []
    with ExitStack() as stack:
        opened += [stack.enter_context(other_log(redis_store, tmp_path)) for _ in range(8)]
        analyses = [analysis_of(opened[0], story(seed)) for seed in range(60)]
        found: list[tuple[int, Any]] = []
        start = threading.Barrier(8)

        def work(at: int) -> None:
            start.wait()
            for step in range(60):
                seed = (step + 7 * at) % 60
                page = opened[at].page(f"{at}/{seed}")
                found.append((seed, opened[at].judge(page, analyses[seed], confirm=at % 2 == 0)))

        threads = [threading.Thread(target=work, args=(at,)) for at in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 480
        originals = {
            seed: judgement.claim.page
            for seed, judgement in found
            if judgement.verdict.status == "unique"
        }
        assert len(originals) == 60
        for seed, judgement in found:
            if judgement.verdict.status == "duplicate":
                assert judgement.original_page == originals[seed]
        assert sum(judgement.verdict.status == "unique" for _, judgement in found) == 60
        methods = opened[0].config.methods
        assert (
            wrong_in_redis(redis_store.client, redis_store.keys.prefix, methods, settled=False)
            == []
        )
    assert wrong_in_redis(redis_store.client, redis_store.keys.prefix, methods) == []


@pytest.mark.parametrize("limit", [3, 11])
def test_a_judgement_takes_a_fixed_number_of_round_trips(redis_store, limit):
    settings = {"SIMDEDUP_MAX_DISTANCE": limit}
    with redis_store.open(settings) as dedup:
        link = index_of(dedup)._link

        def trips(job: Callable[[], Any]) -> int:
            before = link.trips
            job()
            return link.trips - before

        for seed in range(30):
            dedup.check(f"{seed}", text=story(seed))
        new, near = analysis_of(dedup, story(100)), analysis_of(dedup, reworded(story(1), 0.03))
        subject = dedup.page("new", (), b"0123456789abcdef")
        assert trips(lambda: dedup.recall(subject)) == 1
        claims: list[Any] = []
        # Look, claim.
        assert trips(lambda: claims.append(dedup.judge(subject, new).claim)) == 2
        assert trips(lambda: dedup.confirm(claims)) == 1
        # Look, load the candidates.
        assert trips(lambda: dedup.judge(dedup.page("near"), near)) == 2
        # And remember its body.
        body = dedup.page("near again", (), b"fedcba9876543210")
        assert trips(lambda: dedup.judge(body, near)) == 3
        # Ask whether it is known, look, load its original, remember.
        assert trips(lambda: dedup.recall(body)) == 4
        # Look, visit.
        assert trips(lambda: dedup.judge(dedup.page("new"), new)) == 2


@contextmanager
def losing(index: RedisIndex, *scripts: str, times: int = 1) -> Iterator[list[str]]:
    """Lose the answers of the next commands that run these scripts, after they were carried out."""
    client = index._link._client
    digests = {index._link._digests[name]: name for name in scripts}
    lost: list[str] = []
    pool = client.connection_pool
    connection_class = pool.connection_class
    sent: list[str | None] = []

    class Losing(connection_class):  # type: ignore[misc,valid-type]
        def send_packed_command(self, command: Any, *arguments: Any, **options: Any) -> None:
            # Which may first send what a new connection begins with.
            super().send_packed_command(command, *arguments, **options)
            words = command if isinstance(command, bytes) else b"".join(command)
            sent[:] = [name for digest, name in digests.items() if digest.encode() in words]

        def read_response(self, *arguments: Any, **options: Any) -> Any:
            answer = super().read_response(*arguments, **options)
            name = sent[0] if sent else None
            claims = name != "look" or isinstance(answer, int)
            if name and claims and len(lost) < times:
                lost.append(name)
                self.disconnect()
                raise redis.ConnectionError("the answer got lost")
            return answer

    pool.connection_class = Losing
    pool.disconnect()
    pool.reset()
    yield lost
    pool.connection_class = connection_class
    pool.disconnect()
    pool.reset()


def test_a_claim_whose_answer_is_lost_is_made_once(redis_store):
    with redis_store.open() as dedup:
        with losing(index_of(dedup), "look") as lost:
            found = dedup.judge(dedup.page("a"), analysis_of(dedup, story(1)))
        assert lost == ["look"]
        assert (found.verdict.status, found.claim.page) == ("unique", 1)
        assert dedup.originals() == 1
        assert dedup.confirm([found.claim]).count == 1
    assert redis_store.wrong(dedup.config.methods) == []


def test_an_item_that_is_visited_twice_for_a_lost_answer_is_no_copy_of_itself(redis_store):
    def item(dedup: Deduplicator) -> Any:
        subject = dedup.item("https://a.example/", "dict", "key")
        return dedup.judge(subject, analysis_of(dedup, story(1)), confirm=True)

    with redis_store.open() as dedup:
        item(dedup)
    with redis_store.open() as dedup:
        with losing(index_of(dedup), "commit") as lost:
            assert item(dedup).verdict.status == "revisit"
        assert lost == ["commit"]
        (row,) = redis_store.held()
        assert row.visits == 2


def test_a_claim_of_which_nothing_is_heard_is_given_up(redis_store):
    """The page was passed on as an error: a copy of it must be kept."""
    with redis_store.open() as dedup:
        index = index_of(dedup)
        analysis = analysis_of(dedup, story(1))
        with losing(index, "look", times=100), pytest.raises(IndexAway):
            dedup.judge(dedup.page("a"), analysis)
        assert [row.url for row in redis_store.held()] == ["a"]
        assert index._link.back()
        assert dedup.judge(dedup.page("b"), analysis, confirm=True).verdict.status == "unique"
        assert [row.url for row in redis_store.held()] == ["b"]
        assert redis_store.asked("SELECT url FROM decisions") == [("b",)]
    assert redis_store.wrong(dedup.config.methods) == []


@pytest.mark.parametrize("act", ["confirm", "release"])
def test_settling_survives_a_lost_answer(redis_store, act):
    with redis_store.open() as dedup:
        claim = dedup.judge(dedup.page("a"), analysis_of(dedup, story(1))).claim
        with losing(index_of(dedup), "commit") as lost:
            getattr(dedup, act)([claim])
        assert lost
        assert [row.confirmed for row in redis_store.held()] == [True] * (act == "confirm")
    assert redis_store.wrong(dedup.config.methods) == []
