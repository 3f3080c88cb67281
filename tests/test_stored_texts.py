"""``SIMDEDUP_STORE_TEXT``: what is stored, who refers to it, and that it decides nothing."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from crawling import linked
from scrapy_simdedup import Deduplicator
from scrapy_simdedup.analysis import Recipe, Source, analyse
from scrapy_simdedup.index.texts import read
from scrapy_simdedup.text.document import LONGEST_TEXT
from scrapy_simdedup.text.packing import pack, unpack
from test_check import changed, checked, wrong
from test_command import simdedup
from test_recall_property import BODIES, OVERRIDES, SETTINGS, URLS
from texts import chinese, page, reworded, story

STORE = {"SIMDEDUP_STORE_TEXT": True}


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path)) as connection:
        yield connection


def texts_of(path: Path) -> dict[str, str | None]:
    """Return the text of the last decision on each URL."""
    with opened(path) as connection:
        rows = connection.execute("SELECT url, text FROM decisions ORDER BY id").fetchall()
        return {url: read(connection, digest) for url, digest in rows}


def count(path: Path) -> int:
    with opened(path) as connection:
        return int(connection.execute("SELECT count(*) FROM texts").fetchone()[0])


@given(st.text(st.characters(exclude_categories=())))
@example("")
@example("\ud800 \0\uffff 港口")
def test_what_is_packed_is_read(text):
    assert unpack(pack(text)) == text


def test_the_longest_text_is_read_and_a_longer_one_takes_no_memory():
    longest = "\U0001f6a2" * LONGEST_TEXT
    assert unpack(pack(longest)) == longest
    bomb = zlib.compress(bytes(64 << 20))
    for packed in (bomb, pack(story(1))[:-1], pack(story(1)) + b"x", b"", b"text", "text", None):
        with pytest.raises(ValueError, match="packed text"):
            unpack(packed)


@given(st.text(max_size=300), st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_any_text_is_stored_as_it_was_analysed(tmp_path_factory, text, story_number):
    """But for control characters and halves of surrogate pairs, which go before all else."""
    text = story(story_number) + text
    path = tmp_path_factory.mktemp("any") / "index.db"
    with Deduplicator(path, STORE) as dedup:
        dedup.check("https://a.example/", text=text)
    with opened(path) as connection:
        ((digest, of_page),) = connection.execute(
            "SELECT decisions.text, pages.digest FROM decisions, pages"
        ).fetchall()
        stored = read(connection, digest)
    assert digest == of_page
    assert stored is not None
    # Signed anew it is the same in every respect.
    again, first = (analyse(Source(text=(each,)), Recipe()) for each in (stored, text))
    assert (again.digest, again.signature) == (first.digest, first.signature)


def test_who_refers_to_which_text(tmp_path):
    path = tmp_path / "index.db"
    shouted = story(1).upper()
    with Deduplicator(path, STORE) as dedup:
        dedup.check("kept", html=page(story(1), title=""))
        dedup.check("copy", text=reworded(story(1), 0.03))
        dedup.check("equal", text=shouted)
        dedup.check("short", text="A short note.")
        dedup.check("empty", html="<html><body></body></html>")
        dedup.check("kept", html=page(story(1), title=""))
        dedup.check("changed", text=chinese(1))
        dedup.check("changed", text=chinese(2))
        dedup.note(dedup.page("noted"), dedup.check("short", text="A short note."))
    found = texts_of(path)
    assert found.pop("noted") is None
    assert found.pop("empty") == ""
    assert found["copy"] == reworded(story(1), 0.03)
    assert found["short"] == "A short note."
    assert found["changed"] == chinese(2)
    assert "".join((found["kept"] or "").split()) == "".join(story(1).split())
    # One of two that differ in what does not count.
    assert found["equal"] == found["kept"]
    assert count(path) == 6
    with opened(path) as connection:
        rows = connection.execute("SELECT url, digest FROM pages ORDER BY id").fetchall()
        assert {url: read(connection, digest) for url, digest in rows} == {
            "kept": found["kept"],
            "changed": chinese(2),
        }
        assert read(connection, None) is None
        assert read(connection, b"0" * 16) is None
    assert checked(path).sound


def test_without_the_setting_nothing_is_stored(tmp_path):
    path = tmp_path / "index.db"
    with Deduplicator(path) as dedup:
        dedup.check("kept", text=story(1))
        dedup.check("copy", text=story(1))
    assert texts_of(path) == {"kept": None, "copy": None}
    assert count(path) == 0


def test_switched_on_later_it_stores_what_comes_again(tmp_path, monkeypatch):
    """Known bodies are analysed once more, and then known with their texts."""
    path = tmp_path / "index.db"
    bodies = {
        "kept": page(story(1)),
        "copy": page(story(1), template="wire"),
        "short": page("Little."),
        "empty": "<html></html>",
    }

    def crawl(settings: dict[str, Any]) -> list[str]:
        with Deduplicator(path, settings) as dedup:
            return [dedup.check(url, html=body).status for url, body in bodies.items()]

    assert crawl({}) == ["unique", "duplicate", "skipped", "skipped"]
    assert crawl({}) == ["revisit", "duplicate", "skipped", "skipped"]
    assert set(texts_of(path).values()) == {None}
    assert crawl(STORE) == ["revisit", "duplicate", "skipped", "skipped"]
    # An unchanged revisit has no line of its own in the log; its page has the text.
    found = texts_of(path)
    assert (found["kept"], found["empty"]) == (None, "")
    assert count(path) == 4
    with opened(path) as connection:
        digest, signature = connection.execute("SELECT digest, signature FROM pages").fetchone()
        assert story(1).split()[:5] == (read(connection, digest) or "").split()[1:6]
        assert b"about" in signature
    # From now on nothing is analysed, and the log still says which text it was.
    monkeypatch.setattr("scrapy_simdedup.deduplicator.analyse", lambda *_: pytest.fail("again"))
    before = texts_of(path)
    for settings_ in (STORE, {}, STORE):
        assert crawl(settings_) == ["revisit", "duplicate", "skipped", "skipped"]
        assert texts_of(path) == before
    with opened(path) as connection:
        logged = connection.execute(
            "SELECT url FROM decisions WHERE run > 3 AND text IS NULL"
        ).fetchall()
    assert logged == []


def test_a_text_that_is_gone_is_stored_again(tmp_path):
    path = tmp_path / "index.db"
    with Deduplicator(path, STORE) as dedup:
        dedup.check("kept", html=page(story(1)))
    with opened(path) as connection:
        connection.execute("DELETE FROM texts")
        connection.commit()
    with Deduplicator(path, STORE) as dedup:
        assert dedup.check("kept", html=page(story(1))).status == "revisit"
    assert count(path) == 1


visits = st.tuples(
    st.just("visit"),
    st.sampled_from(URLS),
    st.sampled_from(BODIES),
    st.sampled_from([*[OVERRIDES[0]] * 3, *OVERRIDES[1:]]),
    st.booleans(),
)
others = st.tuples(st.sampled_from(["confirm", "release", "run"]), st.integers(0, 7))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(visits, visits, visits, others), min_size=4, max_size=24))
def test_verdicts_do_not_depend_on_it(tmp_path_factory, steps):
    folder = tmp_path_factory.mktemp("twins")
    logs = []
    for settings_ in ({}, STORE):
        path = folder / f"{len(logs)}.db"
        said: list[Any] = []
        claims: list[Any] = []
        dedup = Deduplicator(path, {**SETTINGS, **settings_})
        for kind, *step in steps:
            if kind == "visit":
                url, body, override, confirm = step
                config = dedup.config.override(override)
                source = Source((body,))
                subject = dedup.page(url, (url,), source.digest)
                judged = dedup.recall(subject, config, confirm=confirm) or dedup.judge(
                    subject, analyse(source, dedup.recipe(config)), config, confirm=confirm
                )
                said.append((asdict(judged.verdict), judged.claim))
                claims += [judged.claim] if judged.claim and not confirm else []
            elif kind == "run":
                claims.clear()
                dedup.close()
                dedup = Deduplicator(path, {**SETTINGS, **settings_})
            elif claims:
                claim = claims.pop(step[0] % len(claims))
                (dedup.confirm if kind == "confirm" else dedup.release)([claim])
        dedup.close()
        with opened(path) as connection:
            said += connection.execute(
                "SELECT run, url, status, reason, original, distance, resemblance, terms"
                " FROM decisions ORDER BY id"
            ).fetchall()
            said += connection.execute("SELECT * FROM bands ORDER BY band, key, page").fetchall()
            lacking = connection.execute(
                "SELECT count(*) FROM decisions WHERE text IS NULL"
                " UNION ALL SELECT count(*) FROM pages WHERE digest NOT IN"
                " (SELECT digest FROM texts)"
            ).fetchall()
        assert wrong(checked(path)) == {}
        logs.append(said)
    # And with it, each decision and each page has its text.
    assert lacking == [(0,), (0,)]
    assert logs[0] == logs[1]


def test_a_crawl_stores_texts_from_its_workers(crawl, site):
    bodies = {
        "/a": page(story(1)),
        "/b": page(story(1), template="wire"),
        "/c": page(chinese(1)),
        "/short": page("Nothing to tell."),
    }
    for path, body in bodies.items():
        site.html(path, body)
    site.html("/", page(story(9), extra=linked(bodies)))
    settings_ = {
        **STORE,
        "SIMDEDUP_WORKERS": 1,
        "SIMDEDUP_TIMEOUT": 60,
        "SIMDEDUP_ITEM_FIELDS": {"text": "text", "key": "url"},
        "SIMDEDUP_ITEM_ACTION": "tag",
        "CONCURRENT_REQUESTS": 1,
    }
    first = crawl(settings=settings_)
    assert (first.exit_code, first.stat("errors")) == (0, 0)
    found = {urlsplit(url).path: text for url, text in texts_of(first.index).items()}
    assert found.keys() == {"/", *bodies}
    with opened(first.index) as connection:
        of = {
            (row[0], urlsplit(row[1]).path): read(connection, row[2])
            for row in connection.execute("SELECT kind, url, text FROM decisions")
        }
    # An item's text is its field, a page's what was extracted from it.
    assert of["item", "/a"] == bodies["/a"]
    expected = analyse(Source((bodies["/b"],)), Recipe(store_text=True))
    assert expected.text is not None
    assert of["page", "/b"] == unpack(expected.text)
    assert chinese(1).split("\n")[0] in (of["page", "/c"] or "")
    assert "Nothing to tell." in (of["page", "/short"] or "")
    again = crawl(settings=settings_)
    assert again.stat("errors") == 0
    with opened(again.index) as connection:
        # Copies and skipped pages are logged again, and were not analysed for that.
        rows = connection.execute("SELECT url, text IS NULL FROM decisions WHERE run = 2")
        logged = {(urlsplit(url).path, lacking) for url, lacking in rows.fetchall()}
    assert logged in ({("/short", 0), ("/a", 0)}, {("/short", 0), ("/b", 0)})
    assert wrong(checked(again.index)) == {}


@pytest.fixture
def index(tmp_path):
    path = tmp_path / "index.db"
    with Deduplicator(path, STORE) as dedup:
        for number in range(4):
            dedup.check(f"https://a.example/{number}", text=story(number))
            dedup.check(f"https://b.example/{number}", text=reworded(story(number), 0.02))
    return path


OF_PAGES = "digest IN (SELECT digest FROM pages WHERE id < 3)"
DAMAGES = {
    "unreadable": (f"UPDATE texts SET text = substr(text, 2) WHERE {OF_PAGES}", {"texts": 2}, 6),
    "no bytes": ("UPDATE texts SET text = 'text'", {"texts": 8}, 0),
    "of nobody": (
        "INSERT INTO texts VALUES (x'00', x'00'), (x'01', x'789c030000000001')",
        {"texts": 1, "texts of nobody": 2},
        8,
    ),
    "gone": (f"DELETE FROM texts WHERE {OF_PAGES}", {"texts of decisions": 2}, 6),
    "all gone": ("DROP TABLE texts", {"tables": 1, "texts of decisions": 8}, 0),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_check_finds_what_is_wrong_with_texts_and_repairs_it(index, damage):
    statements, found, left = DAMAGES[damage]
    changed(index, statements)
    assert wrong(checked(index)) == (found if damage != "all gone" else {"tables": 1})
    report = checked(index, mend=True)
    assert (wrong(report), report.sound) == (found, True)
    assert wrong(checked(index)) == {}
    assert count(index) == left
    # What is judged is as before.
    with Deduplicator(index, STORE) as dedup:
        for number in range(4):
            copy = dedup.check(f"https://c.example/{number}", text=reworded(story(number), 0.03))
            assert copy.original == f"https://a.example/{number}"
            again = dedup.check(f"https://a.example/{number}", text=story(number))
            assert again.status == "revisit"
    assert wrong(checked(index)) == {}


def test_the_command_says_so(index):
    changed(index, DAMAGES["unreadable"][0])
    ran = simdedup(index.parent, "check", "--index", index)
    assert (ran.returncode, ran.stderr) == (1, "")
    assert "8 texts" in ran.stdout
    assert "2 cannot be read" in ran.stdout
    with opened(index) as connection:
        ((digest,),) = connection.execute("SELECT digest FROM pages WHERE id = 1").fetchall()
        assert read(connection, digest) is None
