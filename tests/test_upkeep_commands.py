"""``scrapy simdedup stats``, ``remove``, ``prune`` and ``vacuum``, as they are called."""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from scrapy.exceptions import UsageError
from scrapy.settings import Settings

from invariants import wrong_with
from scrapy_simdedup import Deduplicator
from scrapy_simdedup.commands.prune import moment
from scrapy_simdedup.crawl.command import _SUBCOMMANDS, Command
from scrapy_simdedup.logs.export import decisions, reading
from scrapy_simdedup.logs.sides import NotFound, stored_side
from test_command import environment, simdedup
from test_upkeep import METHODS, ask, judged, later  # noqa: F401  (a fixture)
from texts import page, story

PAGES = 6


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """Six pages with a copy each, on two hosts."""
    path = tmp_path / "index.db"
    with Deduplicator(path, spider="news") as dedup:
        for at in range(PAGES):
            dedup.check(f"https://{at % 2}.example/{at}", html=page(story(at)))
            dedup.check(f"https://copy.example/{at}", html=page(story(at), "Copy", "wire"))
        dedup.check("https://copy.example/short", text="Too little.")
    return path


Called = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(capsys) -> Called:
    """Call the command in this process: exit code, output, errors."""

    def run(*arguments: object, **settings: Any) -> tuple[int, str, str]:
        parser = argparse.ArgumentParser()
        command = Command()
        command.settings = Settings(settings)
        command.add_options(parser)
        command.run([], parser.parse_args([str(each) for each in arguments]))
        said = capsys.readouterr()
        return command.exitcode or 0, said.out, said.err

    return run


@pytest.mark.parametrize("module", _SUBCOMMANDS, ids=lambda each: each.__name__.split(".")[-1])
def test_each_subcommand_has_help_with_an_example(module, capsys):
    name = module.__name__.split(".")[-1]
    parser = argparse.ArgumentParser()
    command = Command()
    command.settings = Settings()
    command.add_options(parser)
    told = [name, "build"] if name == "idf" else [name]
    with pytest.raises(SystemExit) as ended:
        parser.parse_args([*told, "--help"])
    assert ended.value.code == 0
    assert f"example: scrapy simdedup {' '.join(told)} " in " ".join(
        capsys.readouterr().out.split()
    )
    assert name in command.syntax()


# remove


def test_removing_by_url(index, call):
    """Unknown ones are named, and the exit code tells (datasketch issues 125 and 138)."""
    one, two = "https://0.example/0", "https://1.example/1"
    copy, nowhere = "https://copy.example/2", "https://nowhere.example/"
    before = ask(index, "SELECT * FROM decisions")
    code, out, err = call("remove", one, two, copy, nowhere, "--dry-run", "--index", index)
    assert (code, out.splitlines()) == (1, [one, two])
    assert "originals to remove: 2; copies of them in the log: 2" in err
    assert ask(index, "SELECT * FROM decisions") == before
    code, out, err = call("remove", one, two, copy, nowhere, "--index", index)
    assert (code, out) == (1, "originals removed: 2; copies of them in the log: 2\n")
    assert err.splitlines() == [
        f"{copy} is no original of this index: it was judged: duplicate of https://0.example/2",
        f"{nowhere} is not in this index",
    ]
    code, out, err = call("remove", one, "--index", index)
    assert (code, out) == (1, "originals removed: 0; copies of them in the log: 0\n")
    assert "was judged: unique; it has been removed since" in err
    assert call("remove", "https://0.example/2", "--index", index)[0] == 0
    assert wrong_with(index, METHODS) == []


def test_what_is_said_of_a_removed_original_afterwards(index, call):
    call("remove", "https://0.example/0", "--index", index)
    with reading(index) as connection:
        (copy,) = (row for row in decisions(connection) if row["url"] == "https://copy.example/0")
        assert (copy["status"], copy["original"]) == ("duplicate", "https://0.example/0")
        assert datetime.fromisoformat(copy["original_removed"]) > datetime.fromisoformat(
            copy["time"]
        )
        with pytest.raises(NotFound, match="unique; it has been removed since"):
            stored_side(connection, "https://0.example/0", "")
        with pytest.raises(NotFound, match=r"example/0, which has been removed since \(20"):
            stored_side(connection, "https://copy.example/0", "")
    code, out, _ = call("check", "--index", index)
    assert (code, out.splitlines()[-1]) == (0, "The index is sound.")
    _, out, _ = call("stats", "--index", index)
    assert "of the duplicates, 1 have lost their original: it was removed" in out


def test_removing_by_host_and_by_run(index, call):
    assert call("remove", "--host", "0.example", "--run", 2, "--index", index)[0] == 1
    code, out, err = call("remove", "--host", ".example", "--dry-run", "--index", index)
    assert (code, len(out.splitlines())) == (0, PAGES)
    code, out, err = call("remove", "--host", "0.example", "--index", index)
    assert (code, out, err) == (0, "originals removed: 3; copies of them in the log: 3\n", "")
    code, out, err = call("remove", "--run", 1, "--index", index)
    assert (code, out) == (0, "originals removed: 3; copies of them in the log: 3\n")
    assert ask(index, "SELECT (SELECT count(*) FROM pages), (SELECT count(*) FROM bands)") == [
        (0, 0)
    ]


def test_beside_a_crawl_whose_claims_are_open(index, call):
    with Deduplicator(index) as crawl:
        claim = judged(crawl, "https://new.example/", story(50)).claim
        judged(crawl, "https://newer.example/", story(50))
        code, out, err = call("remove", "https://new.example/", "--index", index)
        assert (code, out) == (0, "originals removed: 1; copies of them in the log: 0\n")
        assert "1 copies were refused because of pages that were not stored after all" in err
        assert "e.g. https://newer.example/ because of https://new.example/" in err
        assert f"scrapy simdedup export --index {index} --status orphaned" in err
        assert crawl.confirm([claim]).count == 0
    assert wrong_with(index, METHODS) == []


# prune


@pytest.mark.parametrize(
    "given", ["30", "", "a month", "2026-13-01", "-1d", "0001-01-01T00:00+23:00"]
)
def test_ages_and_dates_that_are_none(given):
    with pytest.raises(UsageError, match="--older-than takes"):
        moment(given)


def test_ages_and_dates():
    now = datetime.now(timezone.utc)
    assert abs(now - timedelta(hours=36) - moment("36h")) < timedelta(minutes=1)
    assert moment("2020-02-03") == datetime(2020, 2, 3, tzinfo=timezone.utc)
    assert moment("2020-02-03T04:05Z") == datetime(2020, 2, 3, 4, 5, tzinfo=timezone.utc)
    assert moment("2020-02-03T04:05+02:00") == datetime(2020, 2, 3, 2, 5, tzinfo=timezone.utc)
    with pytest.raises(UsageError, match="is yet to come"):
        moment((now + timedelta(days=1)).isoformat())


def test_pruning(index, call):
    past = "UPDATE {} SET {} = '2020-01-01T00:00:00.000+00:00' WHERE {}"
    ask(index, past.format("runs", "ended", "1"))
    ask(index, past.format("runs", "started", "1"))
    ask(index, past.format("decisions", "time", "id <= 4"))
    with Deduplicator(index) as dedup:
        dedup.check("https://0.example/0", html=page(story(0)))
    arguments = ("prune", "--older-than", "52w", "--decisions", "--index", index)
    code, out, err = call(*arguments, "--dry-run")
    assert (code, err) == (0, "")
    told = re.sub(r"since \S+:\d\d: ", "since then: ", out).splitlines()
    assert told == [
        "originals to prune, which no run has met since then: 5; copies of them in the log: 5",
        "decisions to prune: 4",
    ]
    assert ask(index, "SELECT count(*) FROM pages") == [(PAGES,)]
    code, out, err = call(*arguments)
    told = re.sub(r"since \S+:\d\d: ", "since then: ", out).splitlines()
    assert (code, err) == (0, "")
    assert told == [
        "originals pruned, which no run has met since then: 5; copies of them in the log: 5",
        "decisions pruned: 4",
    ]
    assert ask(index, "SELECT url FROM pages") == [("https://0.example/0",)]
    assert ask(index, "SELECT min(id) FROM decisions") == [(5,)]
    assert wrong_with(index, METHODS) == []
    # That there is nothing to prune is no error.
    assert call(*arguments)[0] == 0


# Exit codes, pipes and terminals


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["remove"], "give URLs, --host or --run"),
        (["prune"], "--older-than"),
        (["prune", "--older-than", "30"], "--older-than takes 12h, 30d, 8w"),
        (["stats"], "give --index FILE"),
    ],
)
def test_wrong_calls_end_with_exit_code_2(tmp_path, arguments, said):
    arguments += ["--index", "i.db"] if arguments != ["stats"] else []
    ran = simdedup(tmp_path, *arguments)
    assert ran.returncode == 2
    assert said in ran.stdout + ran.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments", [["stats"], ["remove", "x"], ["prune", "--older-than", "1d"], ["vacuum"]]
)
def test_unusable_indexes_end_with_exit_code_1(tmp_path, call, arguments):
    (tmp_path / "text.db").write_text("no index " * 200)
    (tmp_path / "empty.db").touch()
    for name in ("text.db", "empty.db", "missing.db"):
        code, out, err = call(*arguments, "--index", tmp_path / name)
        assert (code, out) == (1, "")
        assert err.startswith("scrapy simdedup: ")
        assert str(tmp_path / name) in err
    assert sorted(each.name for each in tmp_path.iterdir()) == ["empty.db", "text.db"]
    assert (tmp_path / "text.db").read_text() == "no index " * 200


def test_an_identity_of_no_use(index, call):
    ask(index, "UPDATE meta SET value = '{}' WHERE key = 'identity'")
    for arguments in (["stats"], ["remove", "x"]):
        code, _, err = call(*arguments, "--index", index)
        assert (code, "its identity is of no use (it names no methods)" in err) == (1, True)


def test_the_index_of_the_settings(index, call):
    code, out, _ = call("stats", SIMDEDUP_INDEX=str(index))
    assert (code, out.splitlines()[0]) == (0, f"{index}: {PAGES} originals, 1 runs")


def test_a_lock_that_is_not_given_back(index, call, monkeypatch):
    monkeypatch.setattr("scrapy_simdedup.index.transactions.LOCK_SECONDS", 0.05)
    with Deduplicator(index) as dedup, dedup._index.write():
        code, out, err = call("remove", "https://0.example/0", "--index", index)
    assert (code, out) == (1, "")
    assert "Another program holds it" in err
    assert ask(index, "SELECT count(*) FROM pages") == [(PAGES,)]


def test_in_a_pipe(index, tmp_path):
    """Quiet, in any encoding, and no complaint when the reader has enough."""
    with Deduplicator(index) as dedup:
        for at in range(300):
            judged(dedup, f"https://example.com/新闻/{at}" + "x" * 300, story(at, 40), confirm=True)
    narrow = {**environment(), "PYTHONIOENCODING": "ascii", "COLUMNS": "80"}
    command = [sys.executable, "-m", "scrapy", "simdedup"]
    remove = [*command, "remove", "--host", "example.com", "--index", str(index), "--dry-run"]
    with subprocess.Popen(
        remove, env=narrow, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as ran:
        assert ran.stdout is not None
        assert ran.stderr is not None
        assert b"\\u65b0\\u95fb" in ran.stdout.readline()
        ran.stdout.close()
        assert ran.stderr.read() == b""
        assert ran.wait() == 141
    stats = subprocess.run(
        [*command, "stats", "--json", "--index", str(index)],
        env=narrow,
        capture_output=True,
        check=True,
    )
    assert stats.stderr == b""
    assert json.loads(stats.stdout)["originals"] > 200


def test_progress_on_a_terminal(index):
    ours, theirs = pty.openpty()
    os.set_blocking(ours, False)
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 25, 80, 0, 0))
    command = [sys.executable, "-m", "scrapy", "simdedup", "remove", "--run", "1", "--index"]
    subprocess.run(
        [*command, str(index)],
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        check=True,
    )
    said = os.read(ours, 1 << 16).decode()
    os.close(theirs)
    os.close(ours)
    assert "pages:" in said
    assert "removing:" in said
