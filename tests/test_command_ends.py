"""How ``scrapy simdedup`` ends: exit codes, closed pipes, full disks, narrow screens, Ctrl-C."""

from __future__ import annotations

import argparse
import fcntl
import io
import json
import os
import pty
import re
import shlex
import signal
import sqlite3
import struct
import subprocess
import sys
import termios
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from scrapy.cmdline import ScrapyArgumentParser
from scrapy.exceptions import UsageError
from scrapy.settings import Settings

from archives import compressed, response
from scrapy_simdedup import Deduplicator
from scrapy_simdedup.crawl.command import Command
from test_command import environment, lines, write_lines
from texts import chinese, page, story

ODD = "https://a.example/\u706f\u5854-\xe9-\U0001f525-\u2028-\xdf"
SIMDEDUP = [sys.executable, "-m", "scrapy", "simdedup"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages, an index of them whose URLs no narrow encoding has, and a copy of each page."""
    folder = tmp_path_factory.mktemp("ends")
    rows = [{"url": f"{ODD}{at}", "html": page(story(at))} for at in range(6)]
    rows += [
        {"url": f"{ODD}{at}/copy", "html": page(story(at), template="wire")} for at in range(6)
    ]
    write_lines(folder / "pages.jsonl", rows)
    (folder / "crawl.warc.gz").write_bytes(
        compressed(response(row["url"], row["html"].encode()) for row in rows)
    )
    with Deduplicator(folder / "i.db", spider="news") as dedup:
        for row in rows:
            dedup.check(row["url"], html=row["html"])
    (folder / "a.txt").write_text(chinese(1), encoding="utf-8")
    return folder


# What each command is called with to write to standard output.
CALLS = {
    "scan": ["scan", "pages.jsonl", "--index", "new.db"],
    "scan of an archive": ["scan", "crawl.warc.gz", "--index", "new.db"],
    "export": ["export", "--index", "i.db"],
    "export as CSV": ["export", "--index", "i.db", "--format", "csv"],
    "explain": ["explain", "a.txt", "a.txt"],
    "explain URLs": ["explain", f"{ODD}0", f"{ODD}0/copy", "--index", "i.db"],
    "explain as JSON": ["explain", f"{ODD}0", f"{ODD}1", "--index", "i.db", "--json"],
    "tune": ["tune", "--index", "i.db"],
    "check": ["check", "--index", "i.db"],
}


def call(*arguments: str) -> int:
    """Run the command in this process, as ``scrapy`` does, and return its exit code."""
    command = Command()
    command.settings = Settings()
    parser = ScrapyArgumentParser(prog="scrapy")
    command.add_options(parser)
    opts, rest = parser.parse_known_args(arguments)
    command.process_options(rest, opts)
    command.run(rest, opts)
    return command.exitcode


@pytest.fixture
def place(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with links to the pages and a copy of the index."""
    for name in ("pages.jsonl", "crawl.warc.gz", "a.txt"):
        (tmp_path / name).symlink_to(folder / name)
    (tmp_path / "i.db").write_bytes((folder / "i.db").read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("encoding", ["ascii", "cp936", "cp1252"])
def test_a_narrow_screen_gets_escapes(
    name: str, encoding: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = io.BytesIO()
    wide, narrow = io.BytesIO(), io.TextIOWrapper(screen, encoding=encoding)
    monkeypatch.setattr(sys, "stdout", narrow)
    assert call(*CALLS[name]) == 0
    (place / "new.db").unlink(missing_ok=True)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(wide, encoding="utf-8"))
    assert call(*CALLS[name]) == 0
    data = screen.getvalue()
    shown = data.decode(encoding)
    if name in ("scan", "scan of an archive", "export", "explain as JSON"):
        # Still JSON, and the same.
        assert data.isascii()
        both = [[{**row, "time": ""} for row in lines(each)] for each in (shown, wide.getvalue())]
        assert both[0] == both[1]
    if name != "explain":
        assert name in ("check", "tune") or ODD in wide.getvalue().decode() or "JSON" in name
        assert "\\U0001f525" in shown or "\\ud83d\\udd25" in shown or name in ("check", "tune")


def run(place: Path, arguments: list[str], redirect: str) -> tuple[int, str, str]:
    """Run the command in a shell with its output redirected; return what it said and its code."""
    script = f'"$@" {redirect}; echo "code ${{PIPESTATUS[0]}}" >&2'
    ran = subprocess.run(
        ["bash", "-c", script, "bash", *SIMDEDUP, *arguments],
        cwd=place,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    said, _, code = ran.stderr.rpartition("code ")
    assert "Traceback" not in said
    assert "Exception ignored" not in said
    return int(code), ran.stdout, said


# In a process of its own each: what the interpreter does at its end belongs to it.
@pytest.mark.parametrize("name", [name for name in CALLS if " " not in name])
def test_a_pipe_that_ends_early(name: str, place: Path) -> None:
    code, out, said = run(place, CALLS[name], "| head -c 1")
    assert len(out) == 1
    # What fits into the pipe is written before it is closed.
    assert code in (0, 141)
    assert "rror" not in said


@pytest.mark.parametrize(
    ("redirect", "why"), [(">&-", "it is closed"), ("> /dev/full", "No space left on device")]
)
@pytest.mark.parametrize("name", ["scan", "export as CSV", "tune"])
def test_output_that_takes_nothing(name: str, redirect: str, why: str, place: Path) -> None:
    code, _, said = run(place, CALLS[name], redirect)
    assert code == 1
    assert said.splitlines()[-1] == f"scrapy simdedup: cannot write standard output: {why}"


@pytest.mark.parametrize("name", CALLS)
def test_a_full_disk_is_an_error_in_words(
    name: str, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert call(*CALLS[name]) == 1
    monkeypatch.setattr(sys, "stdout", None)
    assert call(*CALLS[name]) == 1
    start = "scrapy simdedup: cannot write standard output: "
    assert capsys.readouterr().err.splitlines()[-2:] == [
        f"{start}No space left on device",
        f"{start}it is closed",
    ]


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ("/dev/full", "No space left on device"),
        ("i.db/out.jsonl", "Not a directory"),
        (".", "Is a directory"),
        ("/proc/nowhere/out.jsonl", "No such file or directory"),
    ],
)
def test_a_file_that_cannot_be_written(
    output: str, why: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in (["export", "--format", "jsonl"], ["scan", "pages.jsonl"]):
        assert call(*arguments, "--index", "i.db", "--output", output) == 1
        assert capsys.readouterr().err == f"scrapy simdedup: cannot write {output}: {why}\n"


def test_without_standard_error_nothing_strays_into_the_output(place: Path) -> None:
    """A worker, too, must do without it."""
    arguments = [*CALLS["scan"], "-s", "SIMDEDUP_WORKERS=1"]
    code, out, said = run(place, arguments, "2>&-")
    assert (code, said) == (0, "")
    assert [each["status"] for each in lines(out)] == ["unique"] * 6 + ["duplicate"] * 6
    code, out, _ = run(place, ["export", "--index", "nowhere.db"], "2>&-")
    assert (code, out) == (1, "")


def slow(html: str) -> str:
    """Stand in for an extractor that takes its time."""
    time.sleep(0.2)
    return story(zlib.crc32(html.encode()))


@pytest.fixture
def terminal() -> Iterator[tuple[int, list[bytes]]]:
    """A terminal of 100 columns: a descriptor to write to, and what was written so far."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 25, 100, 0, 0))
    seen: list[bytes] = []

    def read() -> None:
        while True:
            try:
                seen.append(os.read(ours, 1 << 16))
            except OSError:
                return

    reader = threading.Thread(target=read)
    reader.start()
    yield theirs, seen
    os.close(theirs)
    reader.join()
    os.close(ours)


SLOW = ["-s", "SIMDEDUP_EXTRACTOR=test_command_ends.slow", "-s", "SIMDEDUP_WORKERS=0"]


@pytest.mark.parametrize("output", [["--output", "out.jsonl"], []])
def test_a_bar_on_a_terminal(
    output: list[str], place: Path, terminal: tuple[int, list[bytes]]
) -> None:
    screen, seen = terminal
    with (place / "stdout").open("wb") as out:
        ran = subprocess.run(
            [*SIMDEDUP, *CALLS["scan of an archive"], *output, *SLOW],
            cwd=place,
            env={**environment(), "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=out,
            stderr=screen,
            timeout=60,
        )
    assert ran.returncode == 0
    said = b"".join(seen).decode()
    bars = re.findall(r" *(\d+)%\|.*?\| (\d+) pages \[00:\d\d<(00:\d\d|\?), \d+ pages/s\]", said)
    assert bars
    shares, counts = ([int(bar[at]) for bar in bars] for at in (0, 1))
    assert shares == sorted(shares)
    assert counts == sorted(counts)
    # It gets on while the last pages are judged, which are read long before.
    assert 8 < counts[-1] <= 12
    # It is gone when all is done.
    assert said.replace("\r", "\n").strip().splitlines()[-1].endswith("12 unique")


def test_no_bar_where_rows_go_to_the_screen(place: Path, terminal: tuple[int, list[bytes]]) -> None:
    screen, seen = terminal
    subprocess.run(
        [*SIMDEDUP, *CALLS["scan"], *SLOW],
        cwd=place,
        env={**environment(), "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=screen,
        stderr=screen,
        timeout=60,
        check=True,
    )
    rows = b"".join(seen).decode().split("\r\n")
    assert [json.loads(row)["status"] for row in rows[:12]] == ["unique"] * 12
    assert rows[12:] == ["12 pages: 12 unique", ""]


def test_ctrl_c(place: Path) -> None:
    """The whole group gets it, workers too, as from a terminal; what was judged is kept."""
    os.mkfifo(place / "endless.jsonl")
    with (
        subprocess.Popen(
            [*SIMDEDUP, "scan", "endless.jsonl", "--index", "new.db", "-s", "SIMDEDUP_WORKERS=1"],
            cwd=place,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as ran,
        (place / "endless.jsonl").open("w") as pages,
    ):
        for at in range(20):
            row = {"url": f"https://a.example/{at}", "html": page(story(at))}
            pages.write(json.dumps(row) + "\n")
        pages.flush()
        # All but the four that are read ahead are judged, and then it waits for a page for ever.
        until = time.monotonic() + 60
        while not (place / "new.db").exists() or _decisions(place / "new.db") < 16:
            assert time.monotonic() < until
            time.sleep(0.05)
        # A signal just before it begins to wait would wake nobody.
        time.sleep(0.5)
        os.killpg(ran.pid, signal.SIGINT)
        out, said = ran.communicate(timeout=60)
    assert ran.returncode == 130
    assert said == "scrapy simdedup: interrupted\n"
    assert len(lines(out)) == _decisions(place / "new.db") == 16
    assert call("check", "--index", "new.db") == 0


def _decisions(path: Path) -> int:
    try:
        with sqlite3.connect(path) as connection:
            return int(connection.execute("SELECT count(*) FROM decisions").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


@pytest.mark.parametrize(
    ("given", "near"), [("expalin", "explain"), ("exprot", "export"), ("Scan", "scan"), ("x", None)]
)
def test_an_unknown_subcommand_is_told_the_nearest(
    given: str, near: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        call(given)
    assert ended.value.code == 2
    said = capsys.readouterr().err
    hint = f", did you mean {near}?" if near else ""
    assert f"there is no subcommand {given}{hint} (there are scan, export," in said


def subparsers() -> dict[str, argparse.ArgumentParser]:
    command = Command()
    command.settings = Settings()
    parser = argparse.ArgumentParser(conflict_handler="resolve")
    command.add_options(parser)
    (action,) = (each for each in parser._actions if isinstance(each, argparse._SubParsersAction))
    found = dict(action.choices)
    (nested,) = (
        each for each in found["idf"]._actions if isinstance(each, argparse._SubParsersAction)
    )
    return {**found, **{f"idf {name}": each for name, each in nested.choices.items()}}


def test_every_help_has_an_example_that_can_be_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    parsers = subparsers()
    assert len(parsers) > 6
    for name, parser in parsers.items():
        if name == "idf":
            continue
        shown = parser.format_help()
        (example,) = re.findall(r"^example: (scrapy simdedup .*)$", shown, re.MULTILINE)
        assert example.startswith(f"scrapy simdedup {name} ")
        assert shown.startswith(f"usage: scrapy simdedup {name} ")
        described = shown.partition("\n\n")[2].partition("\n\n")[0]
        assert max(map(len, described.splitlines())) <= 70
        # It is a call that the parser takes.
        parser.parse_args(shlex.split(example)[2 + len(name.split()) :])


def test_a_bare_call_lists_the_subcommands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError):
        call()
    parser = argparse.ArgumentParser(conflict_handler="resolve")
    command = Command()
    command.settings = Settings()
    command.add_options(parser)
    shown = parser.format_help()
    for name in command.syntax().partition(">")[0].strip("<").split("|"):
        assert re.search(rf"^    {name} +\w", shown, re.MULTILINE), name
    assert shown.index("    scan ") < shown.index("Global Options")


BROKEN = 'SIMDEDUP_MIN_TERMS = "many"\nSIMDEDUP_INDX = "x"\n'


def test_in_a_project_with_bad_settings(place: Path) -> None:
    (place / "scrapy.cfg").write_text("[settings]\ndefault = bad.settings\n")
    (place / "bad").mkdir()
    (place / "bad" / "__init__.py").touch()
    (place / "bad" / "settings.py").write_text(BROKEN)
    # What needs no settings does not mind them.
    code, out, _ = run(place, ["export", "--index", "i.db", "--run", "1"], "")
    assert (code, len(lines(out))) == (0, 12)
    code, out, said = run(place, CALLS["scan"], "")
    assert (code, out) == (1, "")
    assert "unknown setting SIMDEDUP_INDX: SIMDEDUP_INDEX?" in said
    assert "SIMDEDUP_MIN_TERMS is 'many'" in said
    (place / "bad" / "settings.py").write_text("")
    # The index of a spider has no name yet; those that are there are named.
    (place / ".scrapy" / "simdedup").mkdir(parents=True)
    (place / ".scrapy" / "simdedup" / "news.db").write_bytes((place / "i.db").read_bytes())
    code, out, said = run(place, ["tune"], "")
    assert (code, out) == (2, "")
    assert f"there is {place}/.scrapy/simdedup/news.db" in said
    (place / "bad" / "settings.py").write_text('SIMDEDUP_INDEX = "news.db"')
    for arguments in (["tune"], ["export"], ["explain", f"{ODD}0", f"{ODD}1"]):
        code, out, _ = run(place, arguments, "")
        assert code == 0
        assert out
