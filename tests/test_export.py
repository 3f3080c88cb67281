"""The log of decisions as CSV and JSON lines."""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scrapy.exceptions import UsageError
from scrapy.settings import Settings

from scrapy_simdedup import Deduplicator, IndexUnusable
from scrapy_simdedup.batch.lines import read_lines
from scrapy_simdedup.commands import export as command
from scrapy_simdedup.logs import export as logs_export
from scrapy_simdedup.logs import parquet
from scrapy_simdedup.logs.export import (
    FIELDS,
    decisions,
    export,
    export_run,
    form_of,
    harmless,
    reading,
    write,
)
from scrapy_simdedup.output import Unwritable, writing
from test_command import simdedup
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
    assert [line[14] for line in lines] == [harmless(cell) for cell in cells]


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


def run(*arguments: object) -> None:
    """Call the subcommand in this process."""
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers())
    opts = parser.parse_args(["export", *map(str, arguments)])
    opts.function(opts, Settings())


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


def test_filters_by_time(index: Path) -> None:
    rows = exported(index)
    # As a log that was written over several days.
    days = [f"2026-05-0{day}T12:00:00.500+00:00" for day in (1, 1, 2, 3, 4)]
    path = index.with_name("days.db")
    path.write_bytes(index.read_bytes())
    with sqlite3.connect(path) as connection:
        connection.executemany(
            "UPDATE decisions SET time = ? WHERE id = ?", zip(days, range(1, 6), strict=True)
        )
    connection.close()
    urls = [each["url"] for each in rows]
    for options, expected in (
        (["--since", "2026-05-02"], urls[2:]),
        (["--until", "2026-05-02"], urls[:3]),
        (["--since", "2026-05-02", "--until", "2026-05-03"], urls[2:4]),
        (
            ["--since", "2026-05-01T12:00:00.500+00:00", "--until", "2026-05-01T12:00:00.500Z"],
            urls[:2],
        ),
        (["--until", "2026-05-01T12:00:00.499"], []),
        (["--since", "2026-05-03T14:00:01+02:00"], urls[4:]),
        (["--since", "2026-05-03T14:00+02:00"], urls[3:]),
    ):
        out = path.with_name("days.jsonl")
        run("--index", path, "--output", out, *options)
        found = [json.loads(line)["url"] for line in out.read_text().splitlines()]
        assert found == expected, options


@pytest.mark.parametrize("time", ["yesterday", "2026-13-01", "9999-12-31", "7d", ""])
def test_times_that_are_none(time: str, index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run("--index", index, "--until", time)
    assert ended.value.code == 2
    assert f"{time!r} is neither a date (2026-05-01) nor a time" in capsys.readouterr().err


def test_nothing_is_sorted_or_held(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows come in the order they lie in, a stride at a time, whatever is asked for."""
    every = exported(index)
    with reading(index) as connection:
        asked: list[str] = []
        connection.set_trace_callback(asked.append)
        passed: list[int] = []
        monkeypatch.setattr(logs_export, "_STRIDE", 2)
        rows = decisions(
            connection, run=2, spider="blog", status="unique", since="2026", passed=passed.append
        )
        assert list(rows) == every[4:]
        assert passed == [2, 2, 1]
        queries = [query for query in asked if "FROM decisions d" in query]
        assert len(queries) == 3
        connection.set_trace_callback(None)
        for query in queries:
            steps = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {query}")]
            assert not [step for step in steps if "TEMP B-TREE" in step or step == "SCAN d"]


def test_what_comes_up_meanwhile_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    with Deduplicator(path) as dedup, reading(path) as connection:
        for number in (1, 2):
            dedup.check(f"https://a.example/{number}", text=story(number))
        rows = decisions(connection)
        first = next(rows)
        dedup.check("https://a.example/3", text=story(3))
        assert [first["url"], *(each["url"] for each in rows)] == [
            "https://a.example/1",
            "https://a.example/2",
        ]
        # No transaction was left open: the writer can fold its log into the file.
        held = decisions(connection)
        next(held)
        with sqlite3.connect(path, isolation_level=None) as other:
            busy, *_ = other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        other.close()
        assert not busy
        assert len(list(held)) == 2


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
    [
        ("a.csv", "csv"),
        ("a.csv.gz", "csv"),
        ("a.b.jsonl", "jsonl"),
        ("a.jsonl.gz", "jsonl"),
        ("a.parquet", "parquet"),
        ("a.parquet.gz", None),
        ("a.txt", None),
    ],
)
def test_the_format_is_in_the_name(name: str, form: str | None) -> None:
    assert form_of(Path("some.csv") / name) == form


def test_each_spider_has_its_file(index: Path, tmp_path: Path) -> None:
    run("--index", index, "--output", tmp_path / "%(name)s" / "log-%(time)s.jsonl")
    names = [path.relative_to(tmp_path).as_posix() for path in sorted(tmp_path.glob("*/*"))]
    assert [re.sub(r"\d", "9", name) for name in names] == [
        f"{spider}/log-9999-99-99T99-99-99.jsonl" for spider in ("blog", "news")
    ]
    counts = [len((tmp_path / name).read_text().splitlines()) for name in names]
    assert counts == [2, 3]
    run("--index", index, "--spider", "news", "--output", tmp_path / "%(name)s.csv")
    run("--index", index, "--run", "2", "--output", tmp_path / "run-%(name)s.csv")
    assert sorted(path.name for path in tmp_path.glob("*.csv")) == ["news.csv", "run-blog.csv"]
    shared = tmp_path / "shared.db"
    for spider in ("a/b", "a_b"):
        Deduplicator(shared, spider=spider).close()
    with pytest.raises(UsageError, match="a/b, a_b share a file name"):
        run("--index", shared, "--output", tmp_path / "%(name)s.csv")
    # A name without any of the two is taken as it is.
    run("--index", index, "--output", tmp_path / "100%.csv")
    assert (tmp_path / "100%.csv").is_file()


@pytest.mark.parametrize(
    "pattern", ["%(spider)s.csv", "%(name)", "%(name)s-%d.csv", "%(time)q.csv"]
)
def test_patterns_that_are_none(pattern: str, index: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no pattern"):
        run("--index", index, "--format", "csv", "--output", tmp_path / pattern)
    assert list(tmp_path.iterdir()) == []


def test_parquet_has_the_rows_with_their_types(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "_GROUP", 2)
    run("--index", index, "--output", tmp_path / "deep" / "log.parquet")
    found = pq.ParquetFile(tmp_path / "deep" / "log.parquet")
    kinds = {field.name: str(field.type) for field in found.schema_arrow}
    assert list(kinds) == list(FIELDS)
    assert kinds["time"] == "timestamp[ms, tz=UTC]"
    assert {name for name, kind in kinds.items() if kind.startswith("int")} == {
        "run",
        "distance",
        "max_distance",
        "terms",
    }
    assert {name for name, kind in kinds.items() if kind == "double"} == {
        "resemblance",
        "containment",
    }
    assert found.num_row_groups == 3
    rows = found.read().to_pylist()
    for each in rows:
        each["time"] = each["time"].isoformat(timespec="milliseconds")
    assert rows == exported(index)
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["log.parquet"]


def test_parquet_takes_what_strangers_write(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    time = "2026-05-01T12:00:00.500+00:00"
    rows = [row(url=value, time=time, distance=3) for value in NASTY]
    assert export(rows, path, "parquet") == len(NASTY)
    assert pq.read_table(path).column("url").to_pylist() == NASTY


def test_parquet_is_whole_or_not_there(index: Path, tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    path.write_bytes(b"what was there")

    def torn() -> Iterator[dict[str, Any]]:
        yield row(time="")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export(torn(), path, "parquet")
    with pytest.raises(Unwritable, match=re.escape(str(path))):
        export([row(time="", distance="far")], path, "parquet")
    assert path.read_bytes() == b"what was there"
    assert [each.name for each in tmp_path.iterdir()] == ["log.parquet"]
    with pytest.raises(UsageError, match="--output"):
        run("--index", index, "--format", "parquet")
    # It would take the place of the device.
    with pytest.raises(Unwritable, match="no regular file"):
        export([], Path(os.devnull), "parquet")
    assert not Path(os.devnull).is_file()


def test_without_the_extra_parquet_is_refused(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(Unwritable, match=r"pip install 'scrapy-simdedup\[parquet\]'"):
        run("--index", index, "--output", tmp_path / "log.parquet")
    assert list(tmp_path.iterdir()) == []


def test_a_run_is_exported_as_parquet(index: Path, tmp_path: Path) -> None:
    path = export_run(index, 1, f"{tmp_path}/%(name)s.parquet", SimpleNamespace(name="news"))
    assert pq.read_table(path).column("status").to_pylist() == ["unique", "duplicate", "skipped"]


BOUNDED = """
import json, resource, sqlite3, sys
from pathlib import Path
from scrapy_simdedup.logs.export import decisions, export, reading

folder, forms = Path(sys.argv[1]), sys.argv[2:]

def exported(index, form):
    with reading(index) as connection:
        return export(decisions(connection), folder / f"out.{form}", form.partition(".")[0])

for form in forms:
    # What is loaded once, and the buffers that it takes.
    exported(folder / "few.db", form)
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (160 << 20),) * 2)
print(json.dumps([exported(folder / "many.db", form) for form in forms]))
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is told by /proc")
def test_a_long_log_takes_no_memory(tmp_path: Path) -> None:
    """As dicts, so many rows would take twice what is allowed."""
    for name, count in (("few", 60_000), ("many", 250_000)):
        Deduplicator(tmp_path / f"{name}.db").close()
        with sqlite3.connect(tmp_path / f"{name}.db") as connection:
            connection.execute(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
                " INSERT INTO decisions (run, time, kind, url, status, nearest, resemblance)"
                " SELECT 1, '2026-05-01T12:00:00.500+00:00', 'page',"
                " 'https://a.example/' || i || hex(randomblob(40)), 'unique',"
                " 'https://b.example/' || i || hex(randomblob(40)), 0.125 FROM n",
                (count,),
            )
        connection.close()
    ran = subprocess.run(
        [sys.executable, "-c", BOUNDED, str(tmp_path), "csv.gz", "parquet"],
        env={**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == [250_000] * 2
    with gzip.open(tmp_path / "out.csv.gz") as lines:
        assert sum(1 for _ in lines) == 250_001
    assert pq.ParquetFile(tmp_path / "out.parquet").metadata.num_rows == 250_000


def test_looking_on_does_not_disturb_a_crawl(tmp_path: Path) -> None:
    """Export, tune and explain beside a writer, and of a copy without what lies beside it."""
    path = tmp_path / "index.db"
    with Deduplicator(path, spider="news") as dedup:
        for number in range(3):
            dedup.check(f"https://a.example/{number}", html=page(story(number)))
        # In the middle of a transaction of its own.
        with dedup.together():
            dedup.check("https://b.example/0", text=story(0))
            calls = (
                ["export", "--index", path],
                ["tune", "--index", path],
                ["explain", "https://a.example/0", "https://a.example/1", "--index", path],
                ["check", "--index", path],
            )
            seen = [simdedup(tmp_path, *arguments) for arguments in calls]
            assert [ran.returncode for ran in seen] == [0] * 4
            assert seen[0].stdout.count("\n") == 3
            assert seen[1].stdout.startswith("3 decisions, ")
            # It went on meanwhile, and is not waited for.
            dedup.check("https://b.example/1", text=story(1))
        assert len(exported(path)) == 5
        copy = tmp_path / "copy" / "index.db"
        copy.parent.mkdir()
        with sqlite3.connect(path) as source, sqlite3.connect(copy) as target:
            source.backup(target)
        source.close()
        target.close()
        # Nothing can be made beside it, as on a read-only medium.
        Path(f"{copy}-shm").mkdir()
        before = copy.read_bytes()
        assert len(exported(copy)) == 5
        assert copy.read_bytes() == before


def test_nothing_of_a_crawl_that_stopped_and_went_on_is_lost(tmp_path: Path) -> None:
    """Its log comes whole out of the index, whatever became of the files of its runs."""
    index, pattern = tmp_path / "index.db", f"{tmp_path}/%(name)s-%(time)s.jsonl"
    spider = SimpleNamespace(name="news")
    logs = []
    for number in (1, 2):
        with Deduplicator(index, spider="news", job="job") as dedup:
            dedup.check(f"https://a.example/{number}", text=story(number))
            dedup.check(f"https://b.example/{number}", text=story(number))
            logs.append(
                export_run(
                    index, dedup.run, pattern.replace("%(time)s", f"%(time)s-{number}"), spider
                )
            )
    # The first one ended in the middle of a line, and something was appended to it.
    torn = logs[0].read_bytes()[:-40]
    logs[0].write_bytes(torn)
    found = list(read_lines(logs[0]))
    assert [each.reason for each in found] == ["no-field", "torn"]
    assert found[1].url == f"{logs[0].name}:2"
    out = tmp_path / "whole.jsonl"
    run("--index", index, "--output", out)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(each["run"], each["status"]) for each in rows] == [
        (1, "unique"),
        (1, "duplicate"),
        (2, "unique"),
        (2, "duplicate"),
    ]
    assert rows[2:] == [json.loads(line) for line in logs[1].read_text().splitlines()]


HOSTILE = [
    '=HYPERLINK("http://bad.example","Look")',
    "+1+1",
    "-2+3|cmd",
    "@SUM(A1:A9)",
    "\ttab",
    "\rreturn",
    'line one\nline two, "quoted"',
    "\0=1",
    "\uff1d1+1",
]


def test_what_strangers_write_runs_in_no_spreadsheet(tmp_path: Path) -> None:
    """From a page's address through the index to both files: harmless in one, itself in both."""
    index = tmp_path / "index.db"
    with Deduplicator(index) as dedup:
        stored = [dedup.page(url).url for url in HOSTILE]
        for at, url in enumerate(HOSTILE):
            dedup.check(url, text=story(at))
            dedup.check(f"{url}/copy", text=story(at))
    with sqlite3.connect(index) as connection:
        # As a spider's name or a reason would be, were it a stranger's.
        connection.execute("UPDATE decisions SET reason = original")
    connection.close()
    for name in ("log.csv", "log.jsonl"):
        run("--index", index, "--output", tmp_path / name)
    data = (tmp_path / "log.csv").read_bytes()
    assert b"\0" not in data
    head, *cells = parsed(data.decode("utf-8"))
    assert {len(row) for row in cells} == {len(FIELDS)}
    for row in cells:
        for name, cell in zip(head, row, strict=True):
            if name not in ("distance", "max_distance"):
                assert not re.match(r"[=+\-@\t\r\n\uff1d]", cell), (name, cell)
    rows = [json.loads(line) for line in (tmp_path / "log.jsonl").read_bytes().split(b"\n")[:-1]]
    assert [each["original"] for each in rows[1::2]] == stored
    assert rows == exported(index)
    assert [row[head.index("url")].lstrip("'") for row in cells[::2]] == [
        url.lstrip("'") for url in stored
    ]
