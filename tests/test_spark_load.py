"""From files to a result, from a result to an index: ``scrapy simdedup spark`` and ``load``."""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from scrapy.cmdline import execute

from archives import compressed, response
from scrapy_simdedup.analysis import Source
from scrapy_simdedup.batch import load as loading
from scrapy_simdedup.batch.load import load
from scrapy_simdedup.batch.read import read
from scrapy_simdedup.batch.result import LAYOUT, Result
from scrapy_simdedup.config import Config
from scrapy_simdedup.index.records import unpack
from sparking import FIELDS, by_scan, chain, markup
from test_check import checked, wrong
from test_command import environment, lines, simdedup
from texts import chinese, page, reworded, story


def pages() -> list[tuple[str, Any, Any]]:
    """Return pages of every kind of decision: an archive, and what a crawl finds after it."""
    texts = [*chain(1, 4), story(20, 40), chinese(3), "Too little."]
    rows = []
    for at in range(70):
        text = texts[at % 7]
        if at % 5 == 0:
            text = reworded(text, 0.05, at)
        rows.append((f"https://s{at % 3}.example/{at % 23}", *markup(text, at % 4)))
    return rows


def write_lines(path: Path, rows: list[tuple[str, Any, Any]]) -> None:
    data = "".join(
        json.dumps({"url": url, "html": html, "text": text}) + "\n" for url, html, text in rows
    ).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


@pytest.fixture
def call(capsys: Any) -> Callable[..., tuple[int, str]]:
    """Run the command in this process; return its exit code and its messages."""

    def call(*arguments: object) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            execute(["scrapy", "simdedup", *map(str, arguments)])
        return ended.value.code, capsys.readouterr().err

    return call


@pytest.fixture
def run(spark: Any, call: Callable[..., tuple[int, str]]) -> Callable[..., tuple[int, str]]:
    """The same, in the session of the tests."""

    def run(*arguments: object) -> tuple[int, str]:
        return call(
            *arguments, *(["-s", "SIMDEDUP_TIMEOUT=120"] if arguments[0] == "spark" else [])
        )

    return run


def decisions(folder: Path) -> list[dict[str, Any]]:
    return [{name: row[name] for name in FIELDS} for row in Result(folder).rows("decisions")]


def table(index: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(index)) as connection:
        return connection.execute(query).fetchall()


def kept(index: Path) -> list[tuple[Any, ...]]:
    """Return all that a file holds of its pages, whatever their numbers are."""
    found = table(
        index,
        "SELECT url, space, run, confirmed, identities, body, digest, terms, seen, previous,"
        " visits, signature, id FROM pages ORDER BY id",
    )
    place = {number: at for at, (*_, number) in enumerate(found)}
    bands = Counter(
        (place[page], band, key) for band, key, page in table(index, "SELECT * FROM bands")
    )
    rows = [(*row[:-2], dict(unpack(row[-2]))) for row in found]
    return [rows, sorted(bands.items()), table(index, "SELECT * FROM texts ORDER BY digest")]


def logged(index: Path) -> list[tuple[Any, ...]]:
    found = table(
        index,
        "SELECT d.run, d.kind, d.url, d.status, d.reason, d.original, d.original_removed,"
        " d.distance, d.max_distance, d.resemblance, d.containment, d.method, d.nearest,"
        " d.terms, d.text, p.url"
        " FROM decisions d LEFT JOIN pages p ON p.id = d.original_page ORDER BY d.id",
    )
    bodies = table(
        index,
        "SELECT b.body, b.space, b.rules, d.url, d.status FROM bodies b JOIN decisions d"
        " ON d.id = b.decision ORDER BY b.body",
    )
    return [found, bodies]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_a_crawl_continues_from_an_archive(run, spark, tmp_path, form):
    """The index is the one that a scan would have made, and the next scan finds the same."""
    rows = pages()
    archive, later = rows[:45], rows[45:] + rows[:8]
    result, index, other = tmp_path / "result", tmp_path / "loaded.db", tmp_path / "scanned.db"
    settings: dict[str, str] = {}
    if form == "parquet":
        # Columns of other names, in an order of their own.
        days = [(url, html, text, day) for day, (url, html, text) in enumerate(archive)]
        frame = spark.createDataFrame(
            days[::-1], "address string, html string, main string, day int"
        )
        frame.coalesce(1).write.parquet(str(tmp_path / "pages"))
        inputs = [tmp_path / "pages", "--url", "address", "--text", "main", "--order", "day"]
    else:
        write_lines(tmp_path / "a.jsonl.gz", archive[:20])
        write_lines(tmp_path / "b.jsonl", archive[20:])
        inputs = [tmp_path / "a.jsonl.gz", tmp_path / "b.jsonl"]
        (tmp_path / "words.txt").write_text("\u706f\u5854\u5b88\u671b\u8005 9\n", encoding="utf-8")
        settings = {
            "SIMDEDUP_STORE_TEXT": "1",
            "SIMDEDUP_USER_DICT": str(tmp_path / "words.txt"),
            "SIMDEDUP_MAX_AGE": "30d",
        }
    asked = [word for pair in settings.items() for word in ("-s", "=".join(pair))]
    code, told = run(
        *("spark", "--input", *inputs, "--output", result, "--output-format", form, *asked)
    )
    assert code == 0, told
    assert told.startswith("45 pages: ")
    assert decisions(result) == by_scan(archive, other, settings)
    code, told = run("load", "--input", result, "--index", index)
    assert (code, "45 decisions" in told) == (0, True), told
    assert kept(index) == kept(other)
    assert bool(kept(index)[2]) == bool(settings)
    assert logged(index) == logged(other)
    runs = "SELECT spider, status, settings FROM runs"
    ((spider, status, told),) = table(index, runs)
    assert (spider, status) == ("spark", "finished")
    assert set(settings) <= set(json.loads(told))
    assert not wrong(checked(index))
    assert by_scan(later, index, settings) == by_scan(later, other, settings)
    assert kept(index) == kept(other)
    assert sorted(path.name for path in tmp_path.glob("loaded*")) == ["loaded.db", "loaded.db.lock"]


@pytest.mark.slow
def test_what_spark_reads(run, tmp_path):
    """Folders of pages as scan reads them; what is not there, or is there already, is told."""
    site = tmp_path / "site"
    (site / "b").mkdir(parents=True)
    (site / "a.html").write_text(page(story(1)), encoding="utf-8")
    (site / "b" / "copy.htm").write_text(page(story(1), template="wire"), encoding="utf-8")
    (site / "b-a.txt").write_text(reworded(story(1), 0.04), encoding="utf-8")
    (site / "logo.png").write_bytes(b"\x89PNG\r\n")
    (site / "x.jsonl").write_text('{"url": "https://a.example/", "text": "in a folder"}\n')
    assert (
        simdedup(tmp_path, "scan", "site", "--index", "i.db", "--output", "o.jsonl").returncode == 0
    )
    code, told = run("spark", "--input", site, "--output", tmp_path / "r")
    assert (code, told) == (
        0,
        "5 pages: 2 duplicate, 2 skipped, 1 unique; not judged: 2 not-html; in 2 rounds\n",
    )
    assert decisions(tmp_path / "r") == lines((tmp_path / "o.jsonl").read_bytes())
    table = tmp_path / "r" / "decisions"
    for asked, message in (
        (["--input", site, "--output", tmp_path / "r"], "is there already"),
        (["--input", tmp_path / "nothing"], "there is no"),
        (["--input", site, "--format", "warc"], "there are no warc files"),
        (["--input", table, "--order", "day"], "has no column day; it has order"),
        (["--input", table, "--text", "none"], "has no column html or none"),
        (["--input", table], "the column text is binary"),
        (["--input", site, "--rounds", "0"], "--rounds is at least 1"),
        (["--input", site, "--conf", "spark.x"], "--conf takes NAME=VALUE"),
    ):
        output = [] if "--output" in asked else ["--output", tmp_path / "q"]
        code, told = run("spark", *asked, *output)
        assert (code in (1, 2), message in told) == (True, True), told
        assert not (tmp_path / "q").exists()


@pytest.mark.slow
def test_web_archives(spark, tmp_path):
    """The pages of several files in a folder, in the order of their names, as scan reads them."""
    from scrapy_simdedup.batch.spark.sources import Columns, analysed

    for name, urls in (("2.warc.gz", "cd"), ("1.warc.gz", "ab")):
        responses = [
            response(f"https://a.example/{url}", page(story(ord(url) // 2)).encode())
            for url in urls
        ]
        (tmp_path / name).write_bytes(compressed(responses))
    found = analysed(spark, [str(tmp_path)], "warc", Columns(), Config())
    rows = found.orderBy("place").select("url", "body", "status").collect()
    records = [each for name in ("1", "2") for each in read(tmp_path / f"{name}.warc.gz")]
    assert [each.url[-1] for each in records] == ["a", "b", "c", "d"]
    assert [(row["url"], bytes(row["body"]), row["status"]) for row in rows] == [
        (each.url, Source.of(each.html).digest, None) for each in records
    ]


# A result that was written once, for what needs no Spark


def written(folder: Path, count: int = 3) -> Path:
    """Write a result of a few pages, all unique, as a job would."""
    from scrapy_simdedup.analysis import Recipe, Source, analyse
    from scrapy_simdedup.compare import Rules
    from scrapy_simdedup.config import Config
    from scrapy_simdedup.digests import name_hash
    from scrapy_simdedup.identity import identity_of
    from scrapy_simdedup.index.records import pack

    config = Config()
    rows: dict[str, list[dict[str, Any]]] = {"originals": [], "decisions": []}
    for number in range(1, count + 1):
        source = Source.of(page(story(number)))
        found = analyse(source, Recipe.of(config))
        url = f"https://a.example/{number}"
        common = {"order": number, "url": url, "space": 0, "terms": found.terms}
        blobs = {
            "body": source.digest,
            "digest": found.digest,
            "signature": pack(found.signature),
        }
        rows["originals"].append(
            {**common, "page": number, "identity": name_hash(url), "visits": 1}
            | {name: base64.b64encode(blob).decode() for name, blob in blobs.items()}
        )
        rows["decisions"].append(
            {
                **common,
                "status": "unique",
                "changed": False,
                "body": None,
                **dict.fromkeys(["reason", "original", "original_page", "distance"]),
                **dict.fromkeys(["max_distance", "resemblance", "containment"]),
                **dict.fromkeys(["method", "nearest", "text"]),
            }
        )
    for name, each in rows.items():
        (folder / name).mkdir(parents=True)
        data = "".join(json.dumps(row) + "\n" for row in each).encode()
        (folder / name / "part-00000.json.gz").write_bytes(gzip.compress(data))
    about = {
        "layout": LAYOUT,
        "format": "jsonl",
        "identity": identity_of(config),
        "rules": Rules.of(config).number,
        "settings": "{}",
        "versions": {},
        "pages": {"unique": count},
        "originals": count,
        "texts": 0,
        "rounds": 1,
        "full_keys": 0,
    }
    (folder / "about").mkdir()
    (folder / "about" / "part-00000.txt").write_text(json.dumps(about) + "\n")
    return folder


def test_a_load_that_is_stopped_leaves_no_index(tmp_path, monkeypatch):
    """All or nothing: at whatever transaction it stops, the next load begins anew."""
    monkeypatch.setattr(loading, "_CHUNK", 1)
    result, index = Result(written(tmp_path / "result")), tmp_path / "new" / "i.db"
    for stop in range(1, 6):
        steps = iter(range(stop))

        def stopping(_: int, steps: Any = steps) -> None:
            if next(steps, None) is None:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            load(result, index, stopping)
        assert not index.exists()
    done: list[int] = []
    loaded = load(result, index, done.append)
    assert (loaded.originals, loaded.decisions, done) == (3, 3, [1] * 6)
    assert not wrong(checked(index))
    assert not list(index.parent.glob("*.part*"))
    rows = [(f"https://b.example/{number}", None, story(number)) for number in (1, 2, 3)]
    assert [each["original"] for each in by_scan(rows, index, {})] == [
        f"https://a.example/{number}" for number in (1, 2, 3)
    ]


def test_a_killed_load(tmp_path):
    """Killed with -9 in the middle: no index; and the leftover is in nobody's way."""
    written(tmp_path / "result", 40)
    killed = (
        "import os; from pathlib import Path; from scrapy_simdedup.batch import load, result\n"
        "load._CHUNK = 5\n"
        "load.load(result.Result(Path('result')), Path('i.db'),"
        " lambda _, n=iter(range(9)): next(n, None) is None and os.kill(os.getpid(), 9))\n"
    )
    ran = subprocess.run([sys.executable, "-c", killed], cwd=tmp_path, env=environment())
    assert ran.returncode == -9
    assert (tmp_path / "i.db.part").exists()
    assert not (tmp_path / "i.db").exists()
    ran = simdedup(tmp_path, "load", "--input", "result", "--index", "i.db")
    assert (ran.returncode, ran.stderr) == (0, "40 originals, 40 decisions: i.db\n")
    assert not wrong(checked(tmp_path / "i.db"))


def test_what_load_refuses(call, tmp_path):
    result = written(tmp_path / "result")
    (tmp_path / "there.db").write_bytes(b"mine")

    def refused(code: int, why: str, index: object = tmp_path / "i.db") -> bool:
        found, told = call("load", "--input", result, "--index", index)
        return found == code and bool(re.search(why, told)) and not (tmp_path / "i.db").exists()

    assert refused(1, r"there\.db is there already", tmp_path / "there.db")
    assert (tmp_path / "there.db").read_bytes() == b"mine"
    assert refused(1, "cannot open", tmp_path / "there.db" / "i.db")
    assert refused(2, "load makes a file", "redis://localhost/0")
    (part,) = (result / "decisions").iterdir()
    data = part.read_bytes()
    part.write_bytes(data[:-20])
    assert refused(1, "cannot be read")
    part.unlink()
    assert refused(1, "holds 0 rows, and had 3")
    part.write_bytes(data)
    about = result / "about" / "part-00000.txt"
    text = about.read_text()
    about.write_text(text.replace('"layout": 1', '"layout": 9'))
    assert refused(1, "layout 9")
    about.write_text(text[:-9])
    assert refused(1, "about that cannot be read")
    about.unlink()
    assert refused(1, "the job did not end")


def test_how_load_ends(tmp_path):
    """Without standard error, on a full disk, interrupted: the index is whole, or not there."""
    written(tmp_path / "result", 40)
    load = [sys.executable, "-m", "scrapy", "simdedup", "load", "--input", "result", "--index"]

    def run(script: str, index: str) -> Any:
        return subprocess.run(
            ["bash", "-c", script, "bash", *load, index],
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
        )

    assert run('"$@" 2>&-', "silent.db").returncode == 0
    assert not wrong(checked(tmp_path / "silent.db"))
    full = run('ulimit -f 80; exec "$@"', "full.db")
    assert full.returncode == 1
    assert re.fullmatch(r"scrapy simdedup: cannot \w+( to)? .*full\.db: .*\n", full.stderr)
    os.mkfifo(tmp_path / "result" / "originals" / "part-00001.json.gz")
    with (
        subprocess.Popen(
            [*load, "stopped.db"],
            cwd=tmp_path,
            env=environment(),
            stderr=subprocess.PIPE,
            text=True,
        ) as ran,
        # It reads from the pipe, once that is open.
        (tmp_path / "result" / "originals" / "part-00001.json.gz").open("wb"),
    ):
        ran.send_signal(signal.SIGINT)
        _, said = ran.communicate(timeout=60)
    assert (ran.returncode, said) == (130, "scrapy simdedup: interrupted\n")
    assert sorted(path.name for path in tmp_path.glob("*.db")) == ["silent.db"]


# Without Spark


def test_without_pyspark(tmp_path):
    (tmp_path / "pyspark.py").write_text("raise ImportError('no module named pyspark')\n")
    ran = subprocess.run(
        [sys.executable, "-m", "scrapy", "simdedup", "spark", "--input", "x", "--output", "y"],
        cwd=tmp_path,
        env={**environment(), "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 1
    assert "pip install 'scrapy-simdedup[spark]'" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_without_java(tmp_path):
    pytest.importorskip("pyspark")
    env = {name: value for name, value in environment().items() if name != "JAVA_HOME"}
    ran = subprocess.run(
        [sys.executable, "-m", "scrapy", "simdedup", "spark", "--input", "x", "--output", "y"],
        cwd=tmp_path,
        env={**env, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 1
    assert "Java 17 or newer" in ran.stderr
    assert "Traceback" not in ran.stderr
