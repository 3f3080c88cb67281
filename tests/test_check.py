"""``scrapy simdedup check``: what it finds in real files, and what it repairs."""

from __future__ import annotations

import fcntl
import os
import pty
import sqlite3
import struct
import subprocess
import sys
import termios
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from scrapy_simdedup.analysis import Source, analyse
from scrapy_simdedup.checks import finding, rows
from scrapy_simdedup.checks.whole import Report, check
from scrapy_simdedup.config import Config
from scrapy_simdedup.deduplicator import Deduplicator
from scrapy_simdedup.exceptions import IndexUnusable
from scrapy_simdedup.identity import identity_of
from test_command import environment, simdedup
from texts import story

PAGES = 12


def checked(path: Path, *, mend: bool = False) -> Report:
    def quiet(what: str, total: int | None) -> Any:
        return nullcontext(lambda steps: None)

    return check(path, identity_of(Config()), quiet, mend=mend)


def wrong(report: Report) -> dict[str, int]:
    return {each.what: each.wrong for each in report.findings if each.wrong}


def changed(path: Path, statements: str) -> None:
    connection = sqlite3.connect(path)
    connection.executescript(statements)
    connection.close()


def contents(path: Path) -> dict[str, list[Any]]:
    connection = sqlite3.connect(path)
    connection.text_factory = lambda text: text.decode(errors="replace")
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master")]
    found = {
        name: connection.execute(f"SELECT * FROM {name}").fetchall()
        for name in ("meta", "runs", "pages", "bands", "decisions", "bodies")
        if name in tables
    }
    connection.close()
    return found


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """An index of twelve pages, each with a copy, and two items."""
    path = tmp_path / "index.db"
    with Deduplicator(path, spider="news") as dedup:
        for number in range(PAGES):
            dedup.check(f"https://a.example/{number}", text=story(number))
            dedup.check(f"https://b.example/{number}", text=story(number))
        for number in (1, 2):
            item = dedup.item("https://a.example/", "Review", str(number))
            dedup.judge(item, analysed(dedup, number), confirm=True)
    return path


def analysed(dedup: Deduplicator, number: int) -> Any:
    return analyse(Source(text=(story(number),)), dedup.recipe())


def test_a_sound_index(index):
    before = index.read_bytes()
    ran = simdedup(index.parent, "check", "--index", "index.db")
    # Quiet in a pipe.
    assert (ran.returncode, ran.stderr) == (0, "")
    assert f"{index}: 14 pages, 26 decisions, 1 runs" in ran.stdout
    assert "simhash+sketch" in ran.stdout
    assert "The index is sound." in ran.stdout
    said = ran.stdout.split("\n\n")[1].splitlines()
    assert len(said) == 15
    assert all(line.endswith(" sound") for line in said)
    assert index.read_bytes() == before
    assert simdedup(index.parent, "check", "--index", index, "--repair").returncode == 0
    assert wrong(checked(index)) == {}


DAMAGES = {
    "rows lost": ("DELETE FROM bands WHERE page IN (2, 5)", {"rows of pages": 2}),
    "all rows lost": ("DELETE FROM bands", {"rows of pages": PAGES + 2}),
    "table lost": ("DROP TABLE bands", {"tables": 1, "rows of pages": PAGES + 2}),
    "one row other": (
        "UPDATE bands SET key = key + 1 WHERE page = 3 AND band = 16",
        {"rows of pages": 1},
    ),
    "one row more": ("INSERT INTO bands VALUES (17, 99, 3)", {"rows of pages": 1}),
    "rows swapped": (
        "UPDATE bands SET page = iif(page = 1, 2, 1) WHERE page IN (1, 2) AND band = 32",
        {"rows of pages": 2},
    ),
    "no numbers": ("INSERT INTO bands VALUES ('a', x'01', 'b')", {"rows of no page": 1}),
    "page gone": (
        "DELETE FROM pages WHERE id = 4",
        {"rows of no page": 22, "originals of copies": 1},
    ),
    "rows of no page": ("INSERT INTO bands VALUES (0, 1, 5000)", {"rows of no page": 1}),
    "signature damaged": (
        "UPDATE pages SET signature = substr(signature, 1, length(signature) - 1) WHERE id = 6",
        {"pages": 1},
    ),
    "identities damaged": ("UPDATE pages SET identities = x'010203' WHERE id = 6", {"pages": 1}),
    "address damaged": ("UPDATE pages SET url = CAST(x'FF41' AS TEXT) WHERE id = 6", {"pages": 1}),
    "run that died": ("UPDATE runs SET ended = NULL, status = 'running'", {"runs under way": 1}),
    "claim left open": (
        "UPDATE pages SET confirmed = 0 WHERE id = 7",
        {"open claims": 1},
    ),
    "visit left open": ("UPDATE pages SET previous = seen WHERE id = 7", {"open claims": 1}),
    "run unknown": (
        "UPDATE pages SET seen = 70 WHERE id = 7; UPDATE decisions SET run = 71 WHERE id = 5",
        {"runs that are named": 2},
    ),
    "previous nowhere": (
        "UPDATE pages SET previous = 70 WHERE id = 7",
        {"runs that are named": 1, "open claims": 1},
    ),
    "replaces itself": ("UPDATE pages SET replaces = id WHERE id = 8", {"replaced pages": 1}),
    "replaces another": ("UPDATE pages SET replaces = 2 WHERE id = 8", {"replaced pages": 1}),
    "decision gone": ("DELETE FROM decisions WHERE id = 2", {"known bodies": 1}),
    "views lost": ("DROP VIEW clusters; DROP INDEX pages_open", {"tables": 2}),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_wrong_is_found_and_repaired(index, damage):
    statements, found = DAMAGES[damage]
    if damage == "table lost":
        # Only with repair is there a table to look into.
        changed(index, statements)
        assert wrong(checked(index)) == {"tables": 1}
    else:
        changed(index, statements)
        before = contents(index)
        assert wrong(checked(index)) == found
        assert contents(index) == before
    decisions = len(contents(index)["decisions"])
    pages = len(contents(index)["pages"])
    report = checked(index, mend=True)
    assert wrong(report) == found
    assert report.sound
    again = checked(index)
    assert wrong(again) == {}
    # A claim of a run that died is no page yet.
    assert len(contents(index)["pages"]) == pages - (damage == "claim left open")
    assert len(contents(index)["decisions"]) == decisions
    with Deduplicator(index) as dedup:
        for number in range(PAGES):
            dedup.check(f"https://c.example/{number}", text=story(number))
            dedup.check(f"https://a.example/{number}", text=story(number))
    assert wrong(checked(index)) == {}


def test_the_command_tells_what_it_would_do_and_does_it(index):
    changed(index, DAMAGES["rows lost"][0] + ";" + DAMAGES["page gone"][0])
    ran = simdedup(index.parent, "check", "-s", f"SIMDEDUP_INDEX={index}")
    assert (ran.returncode, ran.stderr) == (1, "")
    assert "2 pages lack 44 and have 0 wrong ones" in ran.stdout
    assert "--repair writes the rows" in ran.stdout
    assert f"3 can be repaired: scrapy simdedup check --index {index} --repair" in ran.stdout
    ran = simdedup(index.parent, "check", "--index", index, "--repair")
    assert ran.returncode == 0
    assert ": repaired" in ran.stdout
    assert "sound now" in ran.stdout
    assert simdedup(index.parent, "check", "--index", index).returncode == 0
    orphans = simdedup(index.parent, "export", "--index", index, "--status", "orphaned")
    assert "https://b.example/3" in orphans.stdout


def test_copies_are_found_again_after_a_repair(index):
    changed(index, "DELETE FROM bands")
    with Deduplicator(index) as dedup:
        assert dedup.check("https://c.example/1", text=story(1) + " On.").status == "unique"
    checked(index, mend=True)
    with Deduplicator(index) as dedup:
        found = dedup.check("https://c.example/2", text=story(2) + " On.")
        assert found.original == "https://a.example/2"
        assert dedup.check("https://a.example/3", text=story(3)).status == "revisit"


def test_repair_is_one_transaction(index, monkeypatch):
    changed(index, "DELETE FROM bands WHERE page = 2; UPDATE runs SET ended = NULL")
    before = contents(index)
    mend = rows.RowCheck.mend

    def failing(self: Any) -> None:
        mend(self)
        raise RuntimeError("no more")

    monkeypatch.setattr(rows.RowCheck, "mend", failing)
    with pytest.raises(RuntimeError):
        checked(index, mend=True)
    assert contents(index) == before


def test_windows_and_chunks_change_nothing(index, monkeypatch):
    for name, size in (("_WINDOW", 5), ("_PAGES", 2), ("_ROWS", 7)):
        monkeypatch.setattr(rows, name, size)
    assert wrong(checked(index)) == {}
    changed(index, "DELETE FROM pages WHERE id IN (1, 14); DELETE FROM bands WHERE page IN (5, 6)")
    changed(index, "INSERT INTO bands VALUES (0, 0, -3), (0, 0, 900), (17, 1, 9)")
    found = {"rows of pages": 3, "rows of no page": 43 + 2, "originals of copies": 1}
    assert wrong(checked(index)) == {**found, "rows of no page": 22 + 21 + 2}
    assert checked(index, mend=True).sound
    assert wrong(checked(index)) == {}


@contextmanager
def live_run(path: Path) -> Iterator[None]:
    """A process that has the index open, and a claim on a page in it."""
    script = """
        import sys
        from scrapy_simdedup.analysis import Source, analyse
        from scrapy_simdedup.deduplicator import Deduplicator
        from texts import story
        with Deduplicator(sys.argv[1]) as dedup:
            dedup.judge(dedup.page("theirs"), analyse(Source(text=(story(77),)), dedup.recipe()))
            print("claimed", flush=True)
            sys.stdin.readline()
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), str(path)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "claimed\n"
        yield
        process.communicate("\n")


def test_beside_a_live_run(index):
    """Its claims are no fault; but nothing is repaired under its feet."""
    changed(index, "DELETE FROM bands WHERE page = 2")
    with live_run(index):
        before = contents(index)
        report = checked(index)
        assert wrong(report) == {"rows of pages": 1}
        assert report.holds["pages"] == PAGES + 3
        ran = simdedup(index.parent, "check", "--index", index, "--repair")
        assert (ran.returncode, ran.stdout) == (2, "")
        assert f"cannot repair {index}: another run is using it" in ran.stderr
        assert contents(index) == before
    assert checked(index, mend=True).sound


def test_a_run_that_ends_during_the_check_is_not_dead(index, monkeypatch):
    from scrapy_simdedup.checks import links

    dedup = Deduplicator(index)
    held = links._is_held

    def end_first(path: Path, lock: str) -> bool:
        dedup.close()
        return held(path, lock)

    monkeypatch.setattr(links, "_is_held", end_first)
    assert wrong(checked(index)) == {}


def test_nobody_mistakes_an_unreadable_page_for_a_failure(index, caplog):
    """A crawl goes on as if the page were not there, and tells of it once."""
    changed(index, "UPDATE pages SET signature = x'0102' WHERE id IN (1, 2)")
    changed(index, "UPDATE pages SET confirmed = 0 WHERE id = 2")
    changed(index, "UPDATE runs SET ended = NULL, status = 'running'")
    with Deduplicator(index) as dedup:
        assert dedup.check("https://c.example/0", text=story(0)).status == "unique"
        assert dedup.check("https://c.example/1", text=story(1)).status == "unique"
        assert dedup.check("https://c.example/2", text=story(2)).original == "https://a.example/2"
    said = [each.getMessage() for each in caplog.records if "damaged" in each.getMessage()]
    assert len(said) == 1
    assert f"scrapy simdedup check --index {index} --repair" in said[0]
    # The claim of the run that died was released with all its rows.
    assert wrong(checked(index)) == {"pages": 1}


def test_indexes_of_tables_are_built_anew(index):
    connection = sqlite3.connect(index)
    connection.execute("PRAGMA writable_schema = ON")
    row = connection.execute("SELECT * FROM sqlite_master WHERE name = 'decisions_run'").fetchone()
    connection.execute("DELETE FROM sqlite_master WHERE name = 'decisions_run'")
    connection.commit()
    connection.close()
    changed(index, "UPDATE decisions SET run = 1 WHERE id = 3; DELETE FROM decisions WHERE id = 1")
    connection = sqlite3.connect(index)
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", row)
    connection.commit()
    connection.close()
    report = checked(index)
    assert list(wrong(report)) == ["the file"]
    assert "in index decisions_run" in report.findings[0].told
    assert checked(index, mend=True).sound
    assert wrong(checked(index)) == {}


def test_an_identity_of_other_packages(index):
    changed(index, "UPDATE meta SET value = json_set(value, '$.stop_words', 'others')")
    ran = simdedup(index.parent, "check", "--index", index)
    assert ran.returncode == 1
    assert "written with another stop_words" in ran.stdout
    assert "cannot be repaired" in ran.stdout
    # Settings are another matter: the file has its own.
    changed(index, "UPDATE meta SET value = json_set(value, '$.methods', json('[\"simhash\"]'))")
    found = wrong(checked(index))
    assert found == {"identity": 1, "rows of pages": PAGES + 2}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("{]", "unusable"),
        ("[]", "names no methods"),
        ('{"methods": ["x"], "bits": 64}', "no method x"),
    ],
)
def test_an_identity_that_makes_no_sense(index, value, said):
    connection = sqlite3.connect(index)
    connection.execute("UPDATE meta SET value = ?", (value,))
    connection.commit()
    connection.close()
    ran = simdedup(index.parent, "check", "--index", index, "--repair")
    assert ran.returncode == 1
    assert said in ran.stdout
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "give --index FILE"),
        (["--index", "nowhere.db"], "there is no index at {folder}/nowhere.db"),
        (["--index", "."], "there is no index at {folder}"),
        (["--index", "text.db"], "{folder}/text.db is no index"),
        (["--index", "other.db"], "{folder}/other.db is an SQLite file of another program"),
        (["--index", "empty.db"], "{folder}/empty.db is empty"),
        (["--index", "newer.db"], "schema 99"),
        (["--index", "index.db", "-s", "SIMDEDUP_MIN_TERMS=x"], "SIMDEDUP_MIN_TERMS is 'x'"),
        (["--index", "index.db", "more"], "unrecognized"),
    ],
)
@pytest.mark.parametrize("repair", [[], ["--repair"]])
def test_what_cannot_be_checked_ends_with_exit_code_2(index, arguments, said, repair):
    folder = index.parent
    (folder / "text.db").write_text("no index " * 200)
    (folder / "empty.db").touch()
    changed(folder / "other.db", "CREATE TABLE theirs (a)")
    (folder / "newer.db").write_bytes(index.read_bytes())
    changed(folder / "newer.db", "PRAGMA user_version = 99")
    before = {path: path.read_bytes() for path in folder.glob("*.db")}
    ran = simdedup(folder, "check", *arguments, *repair)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert said.format(folder=folder) in ran.stderr
    assert "Traceback" not in ran.stderr
    assert {path: path.read_bytes() for path in folder.glob("*.db")} == before


def test_where_nothing_can_be_written_beside_it(index):
    """As on a read-only medium: the file is read as it is, without -wal and -shm."""
    Path(f"{index}-shm").mkdir()
    assert simdedup(index.parent, "check", "--index", index).returncode == 0
    assert simdedup(index.parent, "export", "--index", index).stdout.count("\n") == 26
    ran = simdedup(index.parent, "check", "--index", index, "--repair")
    assert ran.returncode == 2
    assert f"cannot open {index}" in ran.stderr


def on_a_terminal(*arguments: object) -> str:
    """Run a command whose stderr is a terminal, and return what it wrote there."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 25, 80, 0, 0))
    command = [sys.executable, "-m", "scrapy", "simdedup", *map(str, arguments)]
    ran = subprocess.run(
        command, env=environment(), stdout=subprocess.PIPE, stderr=theirs, timeout=60, check=False
    )
    said = os.read(ours, 1 << 16).decode()
    os.close(theirs)
    os.close(ours)
    assert ran.returncode == 0
    return said


def test_progress_on_a_terminal(index):
    said = on_a_terminal("check", "--index", index)
    assert "integrity" in said
    assert "pages:" in said


def test_ctrl_c_while_sqlite_checks(index, monkeypatch):
    def interrupted(what: str, total: int | None) -> Any:
        def step(_: int) -> None:
            raise KeyboardInterrupt

        return nullcontext(step)

    monkeypatch.setattr(finding, "_STEPS", 10)
    with pytest.raises(KeyboardInterrupt):
        check(index, identity_of(Config()), interrupted, mend=False)


def test_no_index_is_made_by_a_check(tmp_path):
    with pytest.raises(IndexUnusable):
        checked(tmp_path / "deep" / "index.db", mend=True)
    assert list(tmp_path.iterdir()) == []


def test_other_methods_and_scopes(tmp_path):
    """Each method's rows are known, and items and sites have bands of their own."""
    settings = {
        "SIMDEDUP_METHODS": ["classic", "piecewise", "keywords"],
        "SIMDEDUP_SCOPE": "site",
        "SIMDEDUP_HASH_BITS": 32,
    }
    path = tmp_path / "index.db"
    with Deduplicator(path, settings) as dedup:
        for number in range(4):
            dedup.check(f"https://{number}.example/", text=story(number))
    assert wrong(checked(path)) == {}
    changed(path, "DELETE FROM bands WHERE page = 2 AND band > 100")
    assert wrong(checked(path, mend=True)) == {"rows of pages": 1}
    assert wrong(checked(path)) == {}


def test_the_readme_lists_all_commands():
    import re

    from scrapy_simdedup.crawl.command import Command

    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `scrapy simdedup (\w+)[^`]*` \|", readme, re.MULTILINE)
    assert sorted(listed) == sorted(re.findall(r"\w+", Command().syntax())[:-1])
