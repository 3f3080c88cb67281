"""``scrapy simdedup`` as it is run from a shell."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from scrapy_simdedup.batch import lines as batch_lines
from scrapy_simdedup.batch import read as batch_read
from scrapy_simdedup.batch.lines import read_lines
from scrapy_simdedup.batch.record import Unreadable
from texts import chinese, page, reworded, story

SCAN_FIELDS = ["url", "status", "original", "distance", "resemblance", "method", "reason"]


def environment() -> dict[str, str]:
    left_out = {"SCRAPY_SETTINGS_MODULE", "PYTHONUNBUFFERED"}
    return {name: value for name, value in os.environ.items() if name not in left_out}


def simdedup(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "scrapy", "simdedup", *map(str, arguments)],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def lines(data: str | bytes) -> list[dict[str, Any]]:
    text = data.decode("utf-8") if isinstance(data, bytes) else data
    return [json.loads(line) for line in text.split("\n") if line]


def write_lines(path: Path, rows: list[Any]) -> None:
    data = b"".join(
        each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n" for each in rows
    )
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of pages whose names do not sort as their folders do."""
    folder = tmp_path / "site"
    (folder / "b").mkdir(parents=True)
    (folder / "a.html").write_text(page(story(1)), encoding="utf-8")
    (folder / "b.html").write_bytes(page(chinese(1)).replace("utf-8", "gbk").encode("gbk"))
    (folder / "b" / "copy.htm").write_text(page(story(1), template="wire"), encoding="utf-8")
    (folder / "b" / "note.txt").write_text(reworded(story(1), 0.04), encoding="utf-8")
    (folder / "c.html").write_text("<html><body></body></html>")
    (folder / "logo.png").write_bytes(b"\x89PNG\r\n")
    return folder


def test_scan_of_a_folder(site: Path, tmp_path: Path) -> None:
    ran = simdedup(tmp_path, "scan", "site", "--index", "new/i.db", "--output", "out/o.jsonl")
    assert (ran.returncode, ran.stdout) == (0, "")
    assert "6 pages" in ran.stderr
    assert "2 duplicate" in ran.stderr
    found = lines((tmp_path / "out" / "o.jsonl").read_bytes())
    assert all(list(each) == SCAN_FIELDS for each in found)
    assert [(each["url"], each["status"], each["original"], each["reason"]) for each in found] == [
        ("a.html", "unique", None, None),
        ("b.html", "unique", None, None),
        ("b/copy.htm", "duplicate", "a.html", None),
        ("b/note.txt", "duplicate", "a.html", None),
        ("c.html", "skipped", None, "no-text"),
        ("logo.png", "skipped", None, "not-html"),
    ]
    assert found[2]["resemblance"] > 0.9
    assert isinstance(found[2]["distance"], int)
    assert (tmp_path / "new" / "i.db").is_file()


def test_a_second_scan_revisits(site: Path, tmp_path: Path) -> None:
    assert simdedup(tmp_path, "scan", site, "--index", "i.db").returncode == 0
    # From another place, by a relative path: the same files are the same pages.
    ran = simdedup(site, "scan", ".", "--index", tmp_path / "i.db")
    assert [each["status"] for each in lines(ran.stdout)] == [
        "revisit",
        "revisit",
        "duplicate",
        "duplicate",
        "skipped",
        "skipped",
    ]


ROWS = [
    {"url": "https://a.example/1", "html": page(story(1))},
    {"url": "https://a.example/2", "text": story(2), "title": "left alone"},
    b"\n",
    b'{"url": "https://a.example/torn", "te\n',
    ["no", "object"],
    {"text": story(3)},
    {"url": 5, "text": story(3)},
    {"url": "https://a.example/none", "html": None},
    {"url": "https://b.example/1", "text": story(1)},
    {"url": "https://a.example/1", "html": page(story(1))},
    b"[" * 100_000 + b"\n",
    b'{"url": "https://a.example/last", "text": "tor',
]
FOUND = [
    ("https://a.example/1", "unique", None),
    ("https://a.example/2", "unique", None),
    (":4", "skipped", "not-json"),
    (":5", "skipped", "no-url"),
    (":6", "skipped", "no-url"),
    (":7", "skipped", "no-url"),
    ("https://a.example/none", "skipped", "no-field"),
    ("https://b.example/1", "duplicate", None),
    ("https://a.example/1", "revisit", None),
    (":11", "skipped", "not-json"),
    (":12", "skipped", "torn"),
]


@pytest.mark.parametrize("name", ["pages.jsonl", "pages.jsonl.gz"])
def test_scan_of_json_lines(name: str, tmp_path: Path) -> None:
    write_lines(tmp_path / name, ROWS)
    ran = simdedup(tmp_path, "scan", name, "--index", "i.db")
    assert ran.returncode == 0
    found = [(each["url"], each["status"], each["reason"]) for each in lines(ran.stdout)]
    assert found == [
        (f"{name}{url}" if url.startswith(":") else url, status, reason)
        for url, status, reason in FOUND
    ]


def test_a_torn_compressed_file_gives_what_it_holds(tmp_path: Path) -> None:
    rows = [{"url": f"https://a.example/{at}", "text": story(at)} for at in range(40)]
    write_lines(tmp_path / "pages.jsonl.gz", rows)
    data = (tmp_path / "pages.jsonl.gz").read_bytes()
    (tmp_path / "pages.jsonl.gz").write_bytes(data[: len(data) // 2])
    ran = simdedup(tmp_path, "scan", "pages.jsonl.gz", "--index", "i.db")
    assert "Traceback" not in ran.stderr
    assert "pages.jsonl.gz" in ran.stdout.splitlines()[-1] + ran.stderr
    assert lines(ran.stdout)[0] == dict.fromkeys(SCAN_FIELDS) | {
        "url": "https://a.example/0",
        "status": "unique",
    }


def test_a_line_that_is_too_long_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_lines, "MOST_BYTES", 2000)
    rows = [{"url": f"https://a.example/{at}", "text": "x" * 900 * at} for at in range(5)]
    for name in ("pages.jsonl", "pages.jsonl.gz"):
        write_lines(tmp_path / name, rows)
        found = [(each.url[-1], each.reason) for each in read_lines(tmp_path / name)]
        assert found == [
            ("0", None),
            ("1", None),
            ("2", None),
            ("4", "too-large"),
            ("5", "too-large"),
        ]


def test_how_far_lines_are_read_is_told(tmp_path: Path) -> None:
    # Longer than several of gzip's buffers also when it is compressed.
    rows = [{"url": f"{at}", "text": os.urandom(2000).hex()} for at in range(400)]
    for name in ("pages.jsonl", "pages.jsonl.gz"):
        write_lines(tmp_path / name, rows)
        sizes = [each.size for each in read_lines(tmp_path / name)]
        assert sum(sizes) == (tmp_path / name).stat().st_size
        assert sum(size > 0 for size in sizes) > 2
    os.mkfifo(tmp_path / "pipe.jsonl")
    data = (tmp_path / "pages.jsonl").read_bytes()
    writer = threading.Thread(target=(tmp_path / "pipe.jsonl").write_bytes, args=(data,))
    writer.start()
    assert len(list(read_lines(tmp_path / "pipe.jsonl"))) == 400
    writer.join()


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of a folder is left out, one that was named is an error."""
    folder = tmp_path / "site"
    folder.mkdir()
    for name in ("a.html", "gone.html"):
        (folder / name).write_text(page(story(1)))
    (folder / "large.txt").write_bytes(b"x" * 3000)
    monkeypatch.setattr(batch_read, "MOST_BYTES", 2900)
    # Gone between the list and the reading.
    monkeypatch.setattr(batch_read, "_files", lambda _: ["a.html", "gone.html", "large.txt"])
    (folder / "gone.html").unlink()
    found = [(each.url, each.reason) for each in batch_read.read(folder)]
    assert found == [("a.html", None), ("gone.html", "unreadable"), ("large.txt", "too-large")]
    for name in ("gone.html", "gone.jsonl", "gone.warc"):
        with pytest.raises(Unreadable, match=f"cannot read {tmp_path / name}: No such file"):
            list(batch_read.read(tmp_path / name))


def test_a_url_with_half_an_emoji_does_not_stop_a_scan(tmp_path: Path) -> None:
    rows = [
        {"url": "https://a.example/\ud83d", "text": story(1)},
        {"url": "https://a.example/2", "text": story(2) + "\ud83d\0"},
    ]
    write_lines(tmp_path / "pages.jsonl", rows)
    ran = simdedup(tmp_path, "scan", "pages.jsonl", "--index", "i.db", "--output", "o.jsonl")
    assert (ran.returncode, "Traceback" in ran.stderr) == (0, False)
    found = lines((tmp_path / "o.jsonl").read_bytes())
    assert [each["status"] for each in found] == ["unique", "unique"]


def test_a_file_name_that_is_no_utf8_does_not_stop_a_scan(tmp_path: Path) -> None:
    folder = tmp_path / "site"
    folder.mkdir()
    try:
        Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.html")).write_text(page(story(1)))
    except OSError:
        pytest.skip("this file system takes no such names")
    (folder / "other.html").write_text(page(story(2)))
    ran = simdedup(tmp_path, "scan", "site", "--index", "i.db", "--output", "o.jsonl")
    assert (ran.returncode, "Traceback" in ran.stderr) == (0, False)
    found = lines((tmp_path / "o.jsonl").read_bytes())
    assert [each["status"] for each in found] == ["unique", "unique"]


@pytest.mark.parametrize("place", [0, 4])
def test_settings_are_heeded_on_either_side_of_the_subcommand(place: int, tmp_path: Path) -> None:
    write_lines(tmp_path / "pages.jsonl", [{"url": "https://a.example/", "text": story(1)}])
    arguments = ["scan", "pages.jsonl", "--index", "i.db"]
    arguments[place:place] = ["-s", "SIMDEDUP_MIN_TERMS=5000"]
    ran = simdedup(tmp_path, *arguments)
    assert [each["reason"] for each in lines(ran.stdout)] == ["too-short"]


def test_a_bad_setting_stops_with_name_value_and_range(site: Path, tmp_path: Path) -> None:
    ran = simdedup(tmp_path, "scan", site, "--index", "i.db", "-s", "SIMDEDUP_MIN_TERMS=abc")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "SIMDEDUP_MIN_TERMS is 'abc'" in ran.stderr
    assert "0 to 10000" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert not (tmp_path / "i.db").exists()


def test_an_unknown_setting_is_named(tmp_path: Path) -> None:
    write_lines(tmp_path / "pages.jsonl", [])
    ran = simdedup(tmp_path, "scan", "pages.jsonl", "--index", "i.db", "-s", "SIMDEDUP_MIN_TERM=3")
    assert ran.returncode == 0
    assert "SIMDEDUP_MIN_TERM: SIMDEDUP_MIN_TERMS?" in ran.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["scan", "site", "nowhere", "--index", "i.db"], "there is no nowhere"),
        (["scan", "site"], "--index"),
        (["scan", "site", "--index", "i.db", "-s", "SIMDEDUP_MIN_TERMS"], "NAME=VALUE"),
        (["export", "--index", "i.db", "--output", "out.txt"], "--format"),
        (["export", "--index", "i.db", "--status", "copies"], "copies"),
        (["explode"], "explode"),
        ([], "scan"),
    ],
)
def test_wrong_calls_end_with_exit_code_2(
    arguments: list[str], said: str, site: Path, tmp_path: Path
) -> None:
    ran = simdedup(tmp_path, *arguments)
    assert ran.returncode == 2
    assert said in ran.stderr + ran.stdout
    assert "Traceback" not in ran.stderr
    assert not (tmp_path / "i.db").exists()
    assert not (tmp_path / "out.txt").exists()


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        (["scan", "site"], "text.db"),
        (["scan", "site"], "site"),
        (["export"], "text.db"),
        (["export"], "missing.db"),
    ],
)
def test_unusable_indexes_end_with_exit_code_1(
    arguments: list[str], place: str, site: Path, tmp_path: Path
) -> None:
    (tmp_path / "text.db").write_text("no index " * 200)
    ran = simdedup(tmp_path, *arguments, "--index", place)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert str(tmp_path / place) in ran.stderr
    assert "Traceback" not in ran.stderr
    assert (tmp_path / "text.db").read_text() == "no index " * 200


@pytest.fixture(scope="module")
def scanned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an index of a scan of JSON lines."""
    folder = tmp_path_factory.mktemp("scanned")
    write_lines(folder / "pages.jsonl", [*ROWS, b"\n", {"url": "=1+1", "text": story(8)}])
    assert simdedup(folder, "scan", "pages.jsonl", "--index", "i.db").returncode == 0
    return folder


def test_export_as_json_lines(scanned: Path) -> None:
    ran = simdedup(scanned, "export", "--index", "i.db")
    found = lines(ran.stdout)
    # The unchanged revisit is counted in its row and adds nothing to the log.
    assert [each["url"] for each in found if each["status"] == "unique"] == [
        "https://a.example/1",
        "https://a.example/2",
        "=1+1",
    ]
    assert len(found) == len(FOUND)
    assert f"{len(FOUND)} decisions" in ran.stderr
    assert {each["spider"] for each in found} == {"scan"}


def test_export_as_csv(scanned: Path) -> None:
    ran = simdedup(scanned, "export", "--index", "i.db", "--output", "out.csv")
    assert (ran.returncode, ran.stdout) == (0, "")
    with (scanned / "out.csv").open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file, strict=True))
    assert len(found) == len(FOUND)
    assert [each["url"] for each in found][-1] == "'=1+1"
    shown = simdedup(scanned, "export", "--index", "i.db", "--format", "csv")
    assert list(csv.DictReader(io.StringIO(shown.stdout))) == found


def test_export_of_one_status(scanned: Path) -> None:
    ran = simdedup(
        scanned, "export", "--index", "i.db", "--status", "duplicate", "--output", "o.jsonl.gz"
    )
    assert "1 decisions" in ran.stderr
    found = lines(gzip.decompress((scanned / "o.jsonl.gz").read_bytes()))
    assert [(each["url"], each["original"]) for each in found] == [
        ("https://b.example/1", "https://a.example/1")
    ]
    assert lines(simdedup(scanned, "export", "--index", "i.db", "--run", "7").stdout) == []
    assert lines(simdedup(scanned, "export", "--index", "i.db", "--spider", "news").stdout) == []


def test_scrapy_lists_the_command(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "scrapy"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "simdedup " in ran.stdout


@pytest.mark.parametrize("pages", [3, 600])
def test_a_reader_that_has_enough_is_no_error(pages: int, tmp_path: Path) -> None:
    # Few lines fit the buffer and meet the closed pipe at exit, many do while they are written.
    rows = [{"url": f"https://a.example/{at}" + "x" * 100, "text": "short"} for at in range(pages)]
    write_lines(tmp_path / "pages.jsonl", rows)
    command = [sys.executable, "-m", "scrapy", "simdedup", "scan", "pages.jsonl", "--index", "i.db"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as ran:
        assert ran.stdout is not None
        assert ran.stderr is not None
        ran.stdout.close()
        said = ran.stderr.read()
    assert "Traceback" not in said
    assert "BrokenPipeError" not in said


def test_nothing_from_jieba_or_the_log_on_either_stream(tmp_path: Path) -> None:
    write_lines(tmp_path / "pages.jsonl", [{"url": "https://a.example/", "text": chinese(1)}])
    ran = simdedup(tmp_path, "scan", "pages.jsonl", "--index", "i.db")
    assert len(lines(ran.stdout)) == 1
    assert ran.stderr == "1 page: 1 unique\n"


def test_loading_the_command_loads_nothing_heavy() -> None:
    code = """
import sys
import scrapy_simdedup.crawl.command
heavy = {"numpy", "trafilatura", "jieba", "sqlite_utils", "regex", "tqdm", "tldextract"}
print(sorted(heavy & sys.modules.keys()))
"""
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert ran.stdout == "[]\n"


def test_the_decisions_of_a_scan_do_not_depend_on_its_workers(tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    for number in range(24):
        text = story(number % 8) if number % 3 else chinese(number % 8)
        (folder / f"{number:02}.html").write_text(
            page(text, template=("plain", "wire")[number % 2])
        )
    outputs = []
    for workers in (0, 1, 3):
        output = tmp_path / f"{workers}.jsonl"
        options = ["--output", output, "-s", f"SIMDEDUP_WORKERS={workers}"]
        simdedup(tmp_path, "scan", folder, "--index", tmp_path / f"{workers}.db", *options)
        outputs.append(output.read_bytes())
    assert outputs[0] == outputs[1] == outputs[2]
    assert b'"duplicate"' in outputs[0]
