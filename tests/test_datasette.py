"""An index in datasette and sqlite-utils: its labels and the ready-made queries."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import yaml
from datasette.app import Datasette
from sqlite_utils import Database

from scrapy_simdedup import Deduplicator
from scrapy_simdedup.analysis import Source, analyse
from scrapy_simdedup.config import Config
from scrapy_simdedup.logs.datasette import metadata
from test_command import simdedup
from texts import page, reworded, story

HIDDEN = {"_sqlite_migrations", "sqlite_sequence"}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs: copies on two hosts, a near miss, skipped pages; items, and an orphan."""
    path = tmp_path_factory.mktemp("index") / "the news.db"
    with Deduplicator(path, spider="news") as dedup:
        dedup.check("https://a.example/1", html=page(story(1)))
        dedup.check("https://b.example/1", html=page(story(1), template="wire"))
        dedup.check("https://b.example?1", text=reworded(story(1), 0.03))
        dedup.check("https://a.example/2", html=page(story(2)))
        dedup.check("https://b.example/short", text="Too little to tell.")
        dedup.check("https://a.example/wraps", text=story(2) + "\n\n" + story(3, 400))
    with Deduplicator(path, {"SIMDEDUP_ACTION": "drop"}, spider="news") as dedup:
        analyses = [analyse(Source(text=(story(number),)), dedup.recipe()) for number in (2, 4)]
        dedup.check("https://c.example/2", text=story(2))
        for number in (4, 5):
            item = dedup.item(f"https://c.example/{number}", "shop.Review", str(number))
            dedup.judge(item, analyses[1], confirm=True)
        lost = dedup.judge(dedup.page("https://c.example/lost"), _analysed(dedup, 6))
        dedup.check("https://d.example/orphan", text=story(6))
        assert lost.claim
        dedup.release([lost.claim])
    return path


def _analysed(dedup: Deduplicator, number: int) -> Any:
    return analyse(Source(text=(story(number),)), dedup.recipe())


@pytest.fixture(scope="module")
def labels(index: Path) -> dict[str, Any]:
    """What the metadata says of the index."""
    loaded: dict[str, Any] = yaml.safe_load(metadata([index]))["databases"]["the news"]
    return loaded


@pytest.fixture
def ask(index: Path, labels: dict[str, Any]) -> Iterator[Any]:
    """A function that runs a ready-made query with sqlite3, as datasette does."""

    def run(query: str, **parameters: str) -> list[dict[str, Any]]:
        sql = labels["queries"][query]["sql"]
        rows = connection.execute(sql, {"run": "", "original": "", **parameters})
        return [dict(row) for row in rows]

    with closing(sqlite3.connect(f"{index.as_uri()}?mode=ro", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        yield run


def test_every_table_and_column_is_described(index, labels):
    with closing(sqlite3.connect(index)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
        there = {
            name: {
                row[0]
                for row in connection.execute("SELECT name FROM pragma_table_info(?)", [name])
            }
            for (name,) in names.fetchall()
        }
    told = labels["tables"]
    assert set(told) == set(there)
    for name in set(there) - HIDDEN:
        assert told[name]["description"]
        assert set(told[name]["columns"]) == there[name], name
        assert told[name].get("label_column", "") in there[name] | {""}


def test_all_queries_run_and_say_what_they_do(labels, ask):
    for name, query in labels["queries"].items():
        assert query["title"], name
        assert query["description"], name
        ask(name)


def test_runs_and_hosts(ask):
    second, first = ask("runs_at_a_glance")
    assert (first["uniques"], first["duplicates"], first["skipped"]) == (3, 2, 1)
    assert first["share"] == 0.4
    assert (second["spider"], second["status"]) == ("news", "finished")
    hosts = {row["host"]: row for row in ask("verdicts_by_host", run="1")}
    assert set(hosts) == {"a.example", "b.example"}
    assert (hosts["b.example"]["duplicates"], hosts["b.example"]["skipped"]) == (2, 1)
    assert {"c.example", "d.example"} < {row["host"] for row in ask("verdicts_by_host")}


def test_clusters_and_copies(ask):
    largest = ask("largest_clusters")[0]
    assert (largest["original"], largest["copies"]) == ("https://a.example/1", 2)
    copies = ask("copies_of", original="https://a.example/1")
    assert [row["url"] for row in copies] == ["https://b.example?1", "https://b.example/1"]
    assert copies[0]["resemblance"] < copies[1]["resemblance"]


def test_near_misses(ask):
    (miss,) = ask("near_misses", run="1")
    assert (miss["url"], miss["nearest"]) == ("https://a.example/wraps", "https://a.example/2")
    assert ask("near_misses") == [miss]


def test_what_a_run_dropped(ask):
    latest = {row["url"]: row for row in ask("dropped")}
    assert {url: row["action"] for url, row in latest.items()} == {
        "https://c.example/2": "drop",
        "https://c.example/5": "drop",
        "https://d.example/orphan": "drop",
    }
    tagged = ask("dropped", run="1")
    assert {row["action"] for row in tagged} == {"tag"} == {Config().action}
    assert latest["https://c.example/5"]["kind"] == "item"
    assert Config().item_action == "drop"


def test_skipped_and_orphaned(ask):
    (skipped,) = ask("skipped", run="1")
    assert (skipped["reason"], skipped["number"]) == ("too-short", 1)
    (orphan,) = ask("to_crawl_again")
    assert (orphan["url"], orphan["original"]) == (
        "https://d.example/orphan",
        "https://c.example/lost",
    )


def test_datasette_serves_it_all(index, labels):
    """Every table, view and query answers; rows of other tables go by their labels."""

    async def visit() -> dict[str, str]:
        served = Datasette([str(index)], metadata=yaml.safe_load(metadata([index])))
        await served.invoke_startup()
        pages = {}
        for place in ("", *labels["tables"], *labels["queries"]):
            answer = await served.client.get(f"/the+news/{place}".rstrip("/"))
            assert answer.status_code == 200, (place, answer.text)
            pages[place] = answer.text
        copies = "/the+news/copies_of.json?original=https://a.example/1&_shape=array"
        assert len((await served.client.get(copies)).json()) == 2
        return pages

    pages = asyncio.run(visit())
    with closing(sqlite3.connect(index)) as connection:
        (started,) = connection.execute("SELECT started FROM runs WHERE id = 2").fetchone()
    assert f'/runs/2">{started}</a>' in unescape(pages["decisions"])
    assert labels["tables"]["decisions"]["columns"]["containment"] in pages["decisions"]
    for name, query in labels["queries"].items():
        assert f"{query['title']}</a>" in pages[""], name
        assert query["title"] in pages[name]
    assert '/decisions">decisions</a>' in pages[""]
    assert "/bodies" not in pages[""]


def test_sqlite_utils_opens_it(index):
    views = Database(index)
    assert [row["copies"] for row in views["clusters"].rows][:2] == [2, 1]
    assert {row["spider"] for row in views["duplicates"].rows} == {"news"}


def test_the_command_names_all_indexes(index, tmp_path):
    other = tmp_path / "shop.db"
    twin = tmp_path / "twin" / "shop.db"
    for path in (other, twin):
        Deduplicator(path).close()
    ran = simdedup(tmp_path, "datasette", "--index", index, other, twin, "--output", "meta.yaml")
    assert ran.returncode == 0, ran.stderr
    assert f"next: datasette '{index}' {other} {twin} --metadata meta.yaml" in ran.stderr
    written = (tmp_path / "meta.yaml").read_text(encoding="utf-8")
    databases = yaml.safe_load(written)["databases"]
    assert list(databases) == ["the news", "shop", "shop_2"]
    served = Datasette([str(path) for path in (index, other, twin)])
    assert set(databases) <= set(served.databases)
    assert databases["shop"]["queries"] == databases["the news"]["queries"]
    printed = simdedup(tmp_path, "datasette", "--index", other)
    assert yaml.safe_load(printed.stdout)["databases"].keys() == {"shop"}


def test_the_command_refuses_what_is_no_index(tmp_path):
    (tmp_path / "notes.db").write_text("no index at all, but a file")
    for name, said in (("none.db", "there is no index"), ("notes.db", "notes.db")):
        ran = simdedup(tmp_path, "datasette", "--index", name, "--output", "meta.yaml")
        assert ran.returncode == 1
        assert said in ran.stderr
    assert not (tmp_path / "meta.yaml").exists()
