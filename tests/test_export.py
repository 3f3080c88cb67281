"""The log of decisions as CSV and JSON lines."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_simdedup import Deduplicator, IndexUnusable
from scrapy_simdedup.logs.export import (
    FIELDS,
    decisions,
    export_run,
    form_of,
    harmless,
    reading,
    write,
    writing,
)
from texts import page, reworded, story

NASTY = [
    "=HYPERLINK(1)",
    "+1",
    "-1+2",
    "@SUM(A1)",
    "\tx",
    "\rx",
    "a\rb",
    "a\nb",
    "a\r\nb",
    "\0=1+1",
    'say "yes", twice',
    "x;y,z",
    "燈塔\u2028é🔥",
    "",
    "'",
]


def row(**values: Any) -> dict[str, Any]:
    return {**dict.fromkeys(FIELDS), **values}


def parsed(data: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(data, newline=""), strict=True))


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_formulas_are_disarmed(start: str) -> None:
    assert harmless(f"{start}1+1") == f"'{start}1+1"
    assert harmless(start) == f"'{start}"
    # A NUL in front would be dropped later and leave the formula.
    assert harmless(f"\0{start}1") == f"'{start}1"


@pytest.mark.parametrize("value", ["a=1", "https://a.example/?b=-1", "'", " ", "", None, -3, 0.5])
def test_what_is_no_formula_stays(value: Any) -> None:
    assert harmless(value) == value


@pytest.mark.parametrize("name", ["out.csv", "deep/er/out.csv.gz"])
def test_csv_parses_back(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    rows = [row(url=value, original=value[::-1], distance=-1, run=1) for value in NASTY]
    with writing(path) as out:
        assert write(rows, out, "csv") == len(NASTY)
    data = path.read_bytes()
    data = gzip.decompress(data) if name.endswith(".gz") else data
    assert b"\0" not in data
    head, *cells = parsed(data.decode("utf-8"))
    assert tuple(head) == FIELDS
    assert cells == [
        ["" if each[name] is None else str(harmless(each[name])) for name in FIELDS]
        for each in rows
    ]
    assert not [
        cell for line in cells for cell in (line[4], line[7]) if re.match(r"[=+\-@\t\r]", cell)
    ]


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz"])
def test_json_lines_come_back_as_they_were(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    rows = [row(url=value, resemblance=0.25, distance=3) for value in NASTY]
    with writing(path) as out:
        assert write(rows, out, "jsonl") == len(NASTY)
    data = path.read_bytes()
    data = gzip.decompress(data) if name.endswith(".gz") else data
    assert [json.loads(line) for line in data.split(b"\n")[:-1]] == rows
    assert data.endswith(b"\n")
    assert "燈塔".encode() in data


@settings(max_examples=80, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=12), min_size=1))
def test_any_cell_survives_csv(cells: list[str]) -> None:
    out = io.StringIO(newline="")
    write([row(url=cell, nearest=cell) for cell in cells], out, "csv")
    lines = parsed(out.getvalue())[1:]
    assert [line[4] for line in lines] == [harmless(cell) for cell in cells]
    assert [line[13] for line in lines] == [harmless(cell) for cell in cells]


def test_rows_are_streamed() -> None:
    out = io.StringIO(newline="")

    def rows() -> Iterator[dict[str, Any]]:
        for number in range(3):
            yield row(url=f"https://a.example/{number}")
            assert f"/{number}" in out.getvalue()

    assert write(rows(), out, "jsonl") == 3


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index with two runs of two spiders."""
    path = tmp_path_factory.mktemp("export") / "index.db"
    with Deduplicator(path, spider="news") as dedup:
        dedup.check("https://user:secret@a.example/1", html=page(story(1)))
        dedup.check("https://b.example/1", html=page(reworded(story(1), 0.03), template="wire"))
        dedup.check("https://a.example/short", text="too short")
    with Deduplicator(path, spider="blog") as dedup:
        dedup.check("https://c.example/1", text=story(1))
        dedup.check("https://c.example/2", text=story(2))
    return path


def exported(path: Path, **filters: Any) -> list[dict[str, Any]]:
    with reading(path) as connection:
        return list(decisions(connection, **filters))


def test_decisions_come_oldest_first_and_explain_themselves(index: Path) -> None:
    rows = exported(index)
    assert all(tuple(each) == FIELDS for each in rows)
    assert [(each["run"], each["spider"], each["url"], each["status"]) for each in rows] == [
        (1, "news", "https://a.example/1", "unique"),
        (1, "news", "https://b.example/1", "duplicate"),
        (1, "news", "https://a.example/short", "skipped"),
        (2, "blog", "https://c.example/1", "duplicate"),
        (2, "blog", "https://c.example/2", "unique"),
    ]
    copy, short = rows[1], rows[2]
    assert copy["original"] == copy["nearest"] == "https://a.example/1"
    assert copy["kind"] == "page"
    assert copy["method"] in ("simhash", "sketch")
    assert copy["max_distance"] == 3
    assert copy["resemblance"] > 0.5
    assert copy["terms"] > 12
    assert (short["reason"], short["original"]) == ("too-short", None)
    assert [each["time"] for each in rows] == sorted(each["time"] for each in rows)
    assert "secret" not in json.dumps(rows)


def test_filters(index: Path) -> None:
    rows = exported(index)
    assert exported(index, run=2) == rows[3:]
    assert exported(index, spider="news") == rows[:3]
    assert exported(index, status="duplicate") == [rows[1], rows[3]]
    assert exported(index, run=1, spider="news", status="duplicate") == [rows[1]]
    assert exported(index, spider="news' OR 1=1 --") == []
    assert exported(index, run=9) == []


def test_an_index_in_use_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    with Deduplicator(path) as dedup:
        dedup.check("https://a.example/1", text=story(1))
        with reading(path) as connection:
            assert [each["status"] for each in decisions(connection)] == ["unique"]
            with pytest.raises(sqlite3.OperationalError, match="readonly"):
                connection.execute("DELETE FROM decisions")
            assert dedup.check("https://b.example/1", text=story(1)).status == "duplicate"


def test_a_missing_index_is_named_and_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    expected = re.escape(f"there is no index at {tmp_path / 'missing.db'}")
    with pytest.raises(IndexUnusable, match=expected), reading(Path("missing.db")):
        pass
    assert list(tmp_path.iterdir()) == []


def foreign(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE decisions (id INTEGER)")
    connection.close()


def newer(path: Path) -> None:
    Deduplicator(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
        connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()


def text_file(path: Path) -> None:
    path.write_text("url,status\n" * 500)


def damaged(path: Path) -> None:
    Deduplicator(path).close()
    path.write_bytes(b"\x13" * 64 + path.read_bytes()[64:])


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("make", [foreign, newer, text_file, damaged, empty])
def test_files_that_are_no_index_are_refused_and_left_alone(
    make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "some file.db"
    make(path)
    before = path.read_bytes()
    monkeypatch.chdir(tmp_path)
    with (
        pytest.raises(IndexUnusable, match=re.escape(str(path))),
        reading(Path("some file.db")) as connection,
    ):
        list(decisions(connection))
    assert path.read_bytes() == before


def test_a_run_is_exported_where_the_setting_says(index: Path, tmp_path: Path) -> None:
    spider = SimpleNamespace(name="news/local")
    path = export_run(index, 1, f"{tmp_path}/new/%(name)s-%(time)s.csv.gz", spider)
    assert re.fullmatch(r"news_local-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.csv\.gz", path.name)
    lines = parsed(gzip.decompress(path.read_bytes()).decode("utf-8"))
    assert [line[5] for line in lines[1:]] == ["unique", "duplicate", "skipped"]


@pytest.mark.parametrize(
    ("name", "form"),
    [("a.csv", "csv"), ("a.csv.gz", "csv"), ("a.b.jsonl", "jsonl"), ("a.jsonl.gz", "jsonl")],
)
def test_the_format_is_in_the_name(name: str, form: str) -> None:
    assert form_of(Path("some.csv") / name) == form
