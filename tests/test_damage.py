"""Index files that are damaged, foreign, half made, or in an impossible place; and power cuts."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import pytest

from crawling import linked
from scrapy_simdedup.checks.whole import Report, check
from scrapy_simdedup.config import Config
from scrapy_simdedup.deduplicator import Deduplicator
from scrapy_simdedup.exceptions import IndexUnusable
from scrapy_simdedup.identity import identity_of
from scrapy_simdedup.index import schema
from scrapy_simdedup.index.damage import is_damage
from scrapy_simdedup.index.files import move_aside
from scrapy_simdedup.index.texts import read
from test_command import simdedup
from texts import page, reworded, story

DATA = Path(__file__).parent / "data"


def checked(path: Path) -> Report:
    def quiet(what: str, total: int | None) -> Any:
        return nullcontext(lambda steps: None)

    return check(path, identity_of(Config()), quiet, mend=False)


def wrong(path: Path) -> dict[str, int]:
    return {each.what: each.wrong for each in checked(path).findings if each.wrong}


def make(path: Path, pages: int = 30) -> bytes:
    with Deduplicator(path) as dedup:
        for number in range(pages):
            dedup.check(f"https://a.example/{number}", text=story(number))
    return path.read_bytes()


def root_page(path: Path, table: str) -> tuple[int, int]:
    """Return where in the file a table begins, and how long a page of the file is."""
    connection = sqlite3.connect(path)
    (root,) = connection.execute(
        "SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)
    ).fetchone()
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    connection.close()
    return (root - 1) * size, size


def spoil(path: Path, at: int, length: int) -> bytes:
    """Overwrite part of a file with garbage, and return what it then holds."""
    with path.open("r+b") as file:
        file.seek(at)
        file.write(random.Random(at).randbytes(length))
    return path.read_bytes()


# Damaged files


@pytest.mark.parametrize("share", [0.01, 0.3, 0.5, 0.9])
def test_a_truncated_file_is_refused_untouched(tmp_path, share):
    path = tmp_path / "index.db"
    whole = make(path)
    path.write_bytes(whole[: int(share * len(whole))])
    before = path.read_bytes()
    with pytest.raises(IndexUnusable) as error:
        Deduplicator(path)
    said = str(error.value)
    assert str(path) in said
    assert "left untouched" in said
    assert "aside" in said
    for repair in ([], ["--repair"]):
        ran = simdedup(tmp_path, "check", "--index", path, *repair)
        assert ran.returncode in (1, 2)
        assert str(path) in ran.stdout + ran.stderr
        assert "Traceback" not in ran.stderr
    assert path.read_bytes() == before


def test_a_file_that_lacks_its_last_bytes(tmp_path):
    """SQLite takes them for zeros until it needs them; the check finds it."""
    path = tmp_path / "index.db"
    whole = make(path)
    path.write_bytes(whole[:-700])
    assert next(iter(wrong(path))) == "the file"


@pytest.mark.parametrize(("at", "length"), [(0, 64), (0, 16), (16, 84), (0, 4096)])
def test_a_garbled_beginning_is_refused_untouched(tmp_path, at, length):
    path = tmp_path / "index.db"
    make(path)
    before = spoil(path, at, length)
    with pytest.raises(IndexUnusable) as error:
        Deduplicator(path)
    assert str(path) in str(error.value)
    assert "aside" in str(error.value)
    ran = simdedup(tmp_path, "check", "--index", path, "--repair")
    assert ran.returncode in (1, 2)
    assert str(path) in ran.stderr
    assert "Traceback" not in ran.stderr
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "table", ["meta", "runs", "pages", "bands", "decisions", "bodies", "texts"]
)
def test_garbage_in_the_middle_is_found_by_check(tmp_path, table):
    path = tmp_path / "index.db"
    make(path)
    before = spoil(path, *root_page(path, table))
    for repair in ([], ["--repair"]):
        ran = simdedup(tmp_path, "check", "--index", path, *repair)
        assert ran.returncode == 1
        assert f"{path} cannot be repaired. Bring back a backup" in ran.stdout
        assert f"sqlite3 {path} .recover" in ran.stdout
        assert "Traceback" not in ran.stderr
    assert path.read_bytes() == before


@pytest.mark.parametrize("table", ["meta", "runs", "pages"])
def test_damage_that_shows_at_the_start_names_path_and_remedy(tmp_path, table):
    path = tmp_path / "index.db"
    make(path)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE runs SET ended = NULL")
        connection.execute("UPDATE pages SET confirmed = 0")
    connection.close()
    before = spoil(path, *root_page(path, table))
    with pytest.raises(IndexUnusable) as error:
        Deduplicator(path)
    assert f"{path} is damaged" in str(error.value)
    assert f"scrapy simdedup check --index {path}" in str(error.value)
    # The lock and the file were given back, and the run that could not begin is none.
    assert not list(tmp_path.glob("*-run-*"))
    if table == "meta":
        assert path.read_bytes() == before


@pytest.mark.parametrize("share", [0.2, 0.4, 0.6, 0.8])
def test_garbage_anywhere_never_raises_anything_else(tmp_path, share):
    """Whatever a damaged file makes of a page, it is a verdict, or SQLite's error."""
    path = tmp_path / "index.db"
    size = len(make(path))
    spoil(path, int(size * share), 6000)
    met = []
    try:
        with Deduplicator(path) as dedup:
            for number in range(60):
                try:
                    dedup.check(f"https://b.example/{number}", text=reworded(story(number), 0.02))
                except sqlite3.DatabaseError as error:
                    met.append(error)
    except (IndexUnusable, sqlite3.DatabaseError) as error:
        met.append(error)
    assert all(is_damage(error) for error in met)
    ran = simdedup(tmp_path, "check", "--index", path)
    assert ran.returncode == 1
    assert "Traceback" not in ran.stderr


@pytest.mark.slow
@pytest.mark.parametrize("table", ["bands", "decisions", "pages"])
def test_a_crawl_goes_on_with_a_damaged_index(crawl, site, table):
    """One clear error with the path and what to do, stats, and all the items."""
    paths = [f"/{number}" for number in range(20)]
    for number, path in enumerate(paths):
        site.html(path, page(story(number)))
    site.html("/", page("", extra=linked(paths)))
    first = crawl(plan={"/": ["links"]})
    assert len(first.scraped) == 20
    spoil(first.index, *root_page(first.index, table))
    for number, path in enumerate(paths):
        site.html(path, page(reworded(story(number), 0.02)))
    done = crawl(plan={"/": ["links"]})
    assert done.exit_code == 0
    assert len(done.scraped) == 20
    assert "Traceback" not in done.log
    errors = [line for line in done.log.splitlines() if "] ERROR" in line]
    assert len(errors) == 1, errors
    assert f"{done.index} is damaged" in errors[0]
    assert f"scrapy simdedup check --index {done.index}" in errors[0]
    assert done.stat("pages/error") > 0
    assert done.stat("index/damaged") > 0
    assert not list(done.index.parent.glob("*-run-*"))


@pytest.mark.slow
def test_a_crawl_does_not_start_with_a_file_that_is_damaged_at_its_head(crawl, site):
    site.html("/", page(story(1)))
    index = crawl().index
    before = spoil(index, 0, 64)
    done = crawl()
    assert done.exit_code == 1
    assert f"scrapy-simdedup cannot start: {index} is no index" in done.log
    assert index.read_bytes() == before


# Files of others, and other schemas


def test_a_file_that_lost_a_table_is_refused(tmp_path):
    path = tmp_path / "index.db"
    make(path)
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE bands")
    connection.close()
    with pytest.raises(IndexUnusable) as error:
        Deduplicator(path)
    assert f"{path} is damaged: it has no table bands" in str(error.value)
    assert f"scrapy simdedup check --index {path}" in str(error.value)
    with pytest.raises(IndexUnusable, match="no table bands"), schema_reading(path):
        pass
    assert simdedup(tmp_path, "check", "--index", path, "--repair").returncode == 0
    with Deduplicator(path) as dedup:
        found = dedup.check("https://b.example/1", text=reworded(story(1), 0.02))
        assert found.original == "https://a.example/1"


def schema_reading(path: Path) -> Any:
    from scrapy_simdedup.logs.export import reading

    return reading(path)


def test_an_identity_that_cannot_be_read(tmp_path):
    path = tmp_path / "index.db"
    make(path, 1)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE meta SET value = '{oh'")
    connection.close()
    with pytest.raises(IndexUnusable, match="identity cannot be read") as error:
        Deduplicator(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("step", ["the mode", "the owner", "the record of migrations"])
def test_a_file_whose_making_was_cut_short_is_made_now(tmp_path, step):
    path = tmp_path / "index.db"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    if step != "the mode":
        connection.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
    if step == "the record of migrations":
        from sqlite_utils import Database

        schema.migrations.ensure_migrations_table(Database(connection, execute_plugins=False))
    connection.close()
    ran = simdedup(tmp_path, "check", "--index", path)
    assert ran.returncode == 2
    assert f"{path} is empty" in ran.stderr
    make(path, 3)
    assert wrong(path) == {}


@pytest.mark.parametrize("statement", range(1, 24, 2))
def test_a_process_killed_in_the_migration(tmp_path, statement):
    """It dies before one of the statements that make a new file; the next one makes it whole."""
    path = tmp_path / "index.db"
    script = f"""
        import os, signal, sqlite3
        from scrapy_simdedup.deduplicator import Deduplicator
        from scrapy_simdedup.index import schema, sqlite

        migrate = schema.migrate

        def dying(connection):
            seen = []
            def trace(statement):
                seen.append(statement)
                if len(seen) == {statement}:
                    os.kill(os.getpid(), signal.SIGKILL)
            connection.set_trace_callback(trace)
            migrate(connection)
            connection.set_trace_callback(None)

        schema.migrate = dying
        Deduplicator({str(path)!r}).close()
    """
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], timeout=60, check=False)
    assert ran.returncode == -signal.SIGKILL
    make(path, 3)
    assert wrong(path) == {}


def test_tables_without_a_schema_number_are_refused(tmp_path):
    path = tmp_path / "index.db"
    make(path, 1)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 0")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(IndexUnusable, match="half made") as error:
        Deduplicator(path)
    assert str(path) in str(error.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize("number", range(1, schema.SCHEMA + 1))
def test_an_index_of_each_schema_opens_and_finds_its_pages(tmp_path, monkeypatch, number):
    """A stored file, made by tests/data/make_index.py when that schema was the newest."""
    path = tmp_path / "index.db"
    shutil.copy(DATA / f"index-schema-{number}.db", path)
    with sqlite3.connect(path) as connection:
        (value,) = connection.execute("SELECT value FROM meta WHERE key = 'identity'").fetchone()
    connection.close()
    # What the stop words and jieba's dictionary are by now is not what is tested here.
    import json

    recorded = json.loads(value)
    monkeypatch.setattr("scrapy_simdedup.deduplicator.identity_of", lambda _: recorded)
    with Deduplicator(path) as dedup:
        assert dedup.originals() == 4
        for page_number in (1, 2):
            url = f"https://a.example/{page_number}"
            copy = dedup.check("https://c.example/", html=page(reworded(story(page_number), 0.02)))
            assert (copy.status, copy.original) == ("duplicate", url)
            assert dedup.check(url, html=page(story(page_number))).status == "revisit"
        changed = dedup.check("https://c.example/", text=story(4))
        assert changed.original == "https://a.example/3"
        assert dedup.check("https://c.example/", text=story(3)).status == "unique"
    ran = simdedup(tmp_path, "export", "--index", path, "--run", "1")
    assert ran.stdout.count("\n") == 9
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT url, text FROM decisions WHERE run = 1")
        texts = {url: read(connection, digest) for url, digest in rows.fetchall()}
        assert texts["https://b.example/short"] == "Too little to tell."
        assert None not in texts.values()
        assert connection.execute("PRAGMA user_version").fetchone() == (schema.SCHEMA,)
    connection.close()
    assert {each.what for each in checked(path).findings if each.wrong} <= {"identity"}


# Places


@pytest.mark.parametrize(
    "place",
    ["/dev/full", "/dev/null", "/dev/full/index.db", "/proc/index.db", "/sys/index.db"],
)
def test_places_that_take_no_file(place):
    path = Path(place)
    with pytest.raises(IndexUnusable) as error:
        Deduplicator(path)
    assert place in str(error.value)
    assert "SIMDEDUP_INDEX" in str(error.value)
    assert not path.with_name(f"{path.name}.lock").exists()


def test_links_to_nothing(tmp_path):
    """On a disk that is not mounted, say: a new index in its place would know of nothing."""
    link, folder, loop = (tmp_path / name for name in ("link.db", "folder", "loop.db"))
    link.symlink_to(tmp_path / "gone" / "index.db")
    folder.symlink_to(tmp_path / "gone")
    loop.symlink_to(loop)
    for path in (link, folder / "index.db", loop):
        with pytest.raises(IndexUnusable) as error:
            Deduplicator(path)
        assert str(tmp_path) in str(error.value)
        assert "is a link to" in str(error.value)
    assert {each.name for each in tmp_path.iterdir()} == {"link.db", "folder", "loop.db"}


def test_a_link_is_the_file_it_leads_to(tmp_path):
    """Runs that use one file by two names know of each other."""
    (tmp_path / "real").mkdir()
    path = tmp_path / "real" / "index.db"
    make(path, 2)
    link = tmp_path / "link.db"
    link.symlink_to(path)
    with Deduplicator(link) as one:
        claim = one.judge(one.page("https://b.example/"), analysed(one, 7)).claim
        assert claim is not None
        with Deduplicator(path) as two:
            found = two.check("https://c.example/", text=story(7))
            assert found.original == "https://b.example/"
            assert wrong(link) == {}
        with pytest.raises(IndexUnusable, match="another run is using it"):
            move_aside(link)
        one.confirm([claim])
    assert {each.name for each in tmp_path.iterdir()} == {"link.db", "real"}
    assert wrong(path) == {}


def test_a_file_system_without_wal(tmp_path, monkeypatch, caplog):
    """SQLite without locks knows no shared memory either, as many a network share does not."""
    connect = sqlite3.connect

    def lockless(place: Any, **options: Any) -> sqlite3.Connection:
        place = place if str(place).startswith("file:") else Path(place).absolute().as_uri()
        mark = "&" if "?" in place else "?"
        return connect(f"{place}{mark}vfs=unix-none", **{**options, "uri": True})

    monkeypatch.setattr(sqlite3, "connect", lockless)
    path = tmp_path / "index.db"
    for status in ("unique", "revisit"):
        with Deduplicator(path) as dedup:
            for number in range(5):
                url = f"https://a.example/{number}"
                assert dedup.check(url, text=story(number)).status == status
            assert dedup.check("https://b.example/", text=story(1)).status == "duplicate"
    assert "without WAL" in caplog.text
    assert str(path) in caplog.text
    assert not path.with_name("index.db-wal").exists()
    monkeypatch.undo()
    assert wrong(path) == {}


def analysed(dedup: Deduplicator, number: int) -> Any:
    from scrapy_simdedup.analysis import Source, analyse

    return analyse(Source(text=(story(number),)), dedup.recipe())


def test_a_read_only_mount(tmp_path):
    """The tests run as root, whom permissions do not stop; a mount does, where one may be made."""
    folder = tmp_path / "mounted"
    folder.mkdir()
    make(folder / "index.db")
    python = f"{sys.executable} -m scrapy simdedup"
    script = f"""
        set -e
        mount --bind {folder} {folder}
        mount -o remount,bind,ro {folder}
        echo mounted
        set +e
        {python} check --index {folder}/index.db | tail -1
        {python} export --index {folder}/index.db | wc -l
        {python} stats --index {folder}/index.db | head -1
        {python} check --repair --index {folder}/index.db 2>&1
        echo exit $?
        {python} scan {folder} --index {folder}/index.db 2>&1
        echo exit $?
    """
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare")
    ran = subprocess.run(
        ["unshare", "--mount", "sh", "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=tmp_path,
    )
    if "mounted" not in ran.stdout:
        pytest.skip(f"no mounts here: {ran.stderr}")
    said = ran.stdout.splitlines()
    assert said[1:3] == ["The index is sound.", "30"]
    assert said.pop(3) == f"{folder}/index.db: 30 originals, 1 runs"
    assert f"cannot open {folder}/index.db" in said[3]
    assert said[4] == "exit 2"
    assert f"{folder} is no folder that can be written to" in said[5]
    assert said[6] == "exit 1"


# Power cuts


WRITER = """
    import os, signal, sys
    from scrapy_simdedup.analysis import Source, analyse
    from scrapy_simdedup.deduplicator import Deduplicator
    from texts import story
    dedup = Deduplicator(sys.argv[1])
    for number in range(30, 60):
        analysis = analyse(Source(text=(story(number),)), dedup.recipe())
        judged = dedup.judge(dedup.page(f"https://a.example/{number}"), analysis)
        if number % 4:
            dedup.confirm([judged.claim])
        dedup.check(f"https://b.example/{number}", text=story(number))
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(scope="module", params=["new", "grown"])
def killed(request, tmp_path_factory) -> tuple[Path, int]:
    """A folder with an index whose writer was killed, and how many pages were safe before."""
    folder = tmp_path_factory.mktemp("killed")
    path = folder / "index.db"
    safe = 30 if request.param == "grown" else 0
    if safe:
        make(path, safe)
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(WRITER), str(path)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
        timeout=60,
        check=False,
    )
    assert ran.returncode == -signal.SIGKILL
    assert (folder / "index.db-wal").stat().st_size > 100_000
    return path, safe


def cut(killed: Path, folder: Path, length: int | None) -> Path:
    """Copy an index as a power cut leaves it: of its -wal file a part is on the disk, or none."""
    path = folder / "index.db"
    shutil.copy(killed, path)
    if length is not None:
        Path(f"{path}-wal").write_bytes(Path(f"{killed}-wal").read_bytes()[:length])
    return path


def survives(path: Path, safe: int) -> int:
    """Open an index after a power cut; return how many of the later pages are still there."""
    fresh = not path.stat().st_size or not has_identity(path)
    if not fresh:
        # Nothing but what the next crawl cleans up by itself.
        assert wrong(path).keys() <= {"open claims", "runs under way"}
    with Deduplicator(path) as dedup:
        assert dedup._index.connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        kept = dedup.originals()
        assert safe <= kept <= safe + 23
        for number in range(safe):
            found = dedup.check("https://c.example/", text=reworded(story(number), 0.02))
            assert found.original == f"https://a.example/{number}"
    assert wrong(path) == {}
    return kept - safe


def has_identity(path: Path) -> bool:
    """Tell whether so much of a file is there that anything was stored in it."""
    with closing(sqlite3.connect(path)) as connection:
        try:
            return bool(connection.execute("SELECT count(*) FROM meta").fetchone()[0])
        except sqlite3.OperationalError:
            return False


def test_a_power_cut_that_takes_part_of_the_log(killed, tmp_path):
    path, safe = killed
    whole = Path(f"{path}-wal").stat().st_size
    chance = random.Random(7)
    frame = 2048 + 24
    lengths = [0, 31, 32, 32 + 23, 32 + frame, whole - frame, whole - 1, whole]
    lengths += [chance.randrange(whole) for _ in range(12)]
    survived = []
    for at, length in enumerate(sorted(lengths)):
        folder = tmp_path / str(at)
        folder.mkdir()
        survived.append(survives(cut(path, folder, length), safe))
    # The more of it is left, the more pages are; all of it, all pages that were confirmed.
    assert survived == sorted(survived)
    assert (survived[0], survived[-1]) == (0, 23)


def test_a_power_cut_that_takes_the_log(killed, tmp_path):
    path, safe = killed
    assert survives(cut(path, tmp_path, None), safe) == 0


@pytest.mark.parametrize("seed", range(6))
def test_a_power_cut_that_tears_the_log(killed, tmp_path, seed):
    """Blocks reach the disk in any order: what comes after a torn one does not count."""
    path, safe = killed
    copy = cut(path, tmp_path, Path(f"{path}-wal").stat().st_size)
    log = Path(f"{copy}-wal")
    at = random.Random(seed).randrange(log.stat().st_size - 600)
    spoil(log, at, 512)
    assert 0 <= survives(copy, safe) <= 23


CUT_OFF = """
import os, sqlite3, sys
sys.path.insert(0, sys.argv[1])
from scrapy_simdedup import Deduplicator
from texts import story

path = sys.argv[2]
with Deduplicator(path, {"SIMDEDUP_CACHE_MB": 1}) as dedup:
    for number in range(300):
        dedup.check(str(number), text=story(number))
dedup = Deduplicator(path, {"SIMDEDUP_CACHE_MB": 1})
os.truncate(path, os.path.getsize(path) // 3)
met = 0
for number in range(300):
    try:
        dedup.check(str(number), text=story(number))
    except sqlite3.DatabaseError:
        met += 1
print(met)
"""


def test_a_file_that_is_cut_off_while_it_is_open_is_an_error_and_no_signal(tmp_path):
    arguments = [str(Path(__file__).parent), str(tmp_path / "index.db")]
    done = subprocess.run(
        [sys.executable, "-c", CUT_OFF, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0
