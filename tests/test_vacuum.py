"""``scrapy simdedup vacuum``: it gives space back, or leaves the index as it was."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections import namedtuple
from contextlib import closing
from pathlib import Path

import pytest

from invariants import wrong_with
from scrapy_simdedup import Deduplicator, IndexUnusable
from scrapy_simdedup.index import vacuum as vacuuming
from scrapy_simdedup.index.files import opened
from scrapy_simdedup.index.vacuum import Vacuumed, vacuum
from test_upkeep import METHODS, ask, judged
from test_upkeep_commands import Called, call  # noqa: F401  (a fixture)
from texts import story

KEPT = ("application_id", "user_version", "page_size", "journal_mode")


def vacuumed(path: Path) -> Vacuumed:
    with opened(path, write=True) as connection:
        return vacuum(connection, path)


def holds(path: Path) -> dict[str, list[object]]:
    tables = ("meta", "runs", "pages", "bands", "decisions", "bodies")
    return {name: ask(path, f"SELECT * FROM {name} ORDER BY 1, 2, 3") for name in tables[1:]}


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """An index of which two thirds have been removed."""
    path = tmp_path / "index.db"
    with Deduplicator(path) as dedup:
        for at in range(150):
            judged(dedup, f"https://{at % 3}.example/{at}", story(at, 80), confirm=True)
        dedup.remove(host="0.example")
        dedup.remove(host="1.example")
    return path


def test_what_is_free_is_given_back_and_the_rest_stays(index, call):  # noqa: F811
    before, size = holds(index), index.stat().st_size
    kept = [ask(index, f"PRAGMA {name}") for name in KEPT]
    code, out, err = call("vacuum", "--index", index)
    assert (code, err) == (0, "")
    assert index.stat().st_size < 0.6 * size
    assert out.startswith(f"{index}: {size / 1000:.0f}kB before, ")
    assert "Another program" not in out
    assert holds(index) == before
    assert [ask(index, f"PRAGMA {name}") for name in KEPT] == kept
    assert ask(index, "PRAGMA freelist_count") == [(0,)]
    assert wrong_with(index, METHODS) == []
    with Deduplicator(index) as dedup:
        assert judged(dedup, "https://copy.example/", story(2, 80)).verdict.is_duplicate
        # A number that was used once is never used again.
        assert judged(dedup, "https://new.example/", story(900)).claim.page == 151


def test_not_while_a_crawl_uses_it(index, call):  # noqa: F811
    with Deduplicator(index):
        code, out, err = call("vacuum", "--index", index)
    assert (code, out) == (1, "")
    assert f"cannot vacuum {index}: another run is using it" in err


def test_beside_a_reader(index):
    """Whoever reads goes on with what was; the file shrinks when that is done."""
    size = index.stat().st_size
    with closing(sqlite3.connect(index, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM pages").fetchone() == (50,)
        # It would be waited for.
        with opened(index, write=True) as connection:
            connection.execute("PRAGMA busy_timeout = 1")
            done = vacuuming._checkpoint(connection)
            assert not done
            connection.execute("VACUUM")
            assert vacuuming._checkpoint(connection)
            assert reader.execute("SELECT count(*) FROM bands").fetchone()[0] > 0
        assert reader.execute("SELECT count(*) FROM pages").fetchone() == (50,)
        reader.execute("COMMIT")
    assert vacuumed(index).after < size
    assert wrong_with(index, METHODS) == []


Usage = namedtuple("Usage", "total used free")


@pytest.mark.parametrize("elsewhere", [False, True])
def test_room_is_looked_for_first(index, monkeypatch, tmp_path, elsewhere):
    """Once for the copy that SQLite makes in its temporary folder, once for the -wal file."""
    size = index.stat().st_size
    live = size - 2048 * ask(index, "PRAGMA freelist_count")[0][0]
    temporary = Path("/dev/shm") if elsewhere else tmp_path
    if not temporary.is_dir() or (temporary.stat().st_dev != tmp_path.stat().st_dev) != elsewhere:
        pytest.skip("no other file system here")
    monkeypatch.setattr(vacuuming, "_temporary", lambda: temporary)
    free = {tmp_path: 10 * size, temporary: live // 2 if elsewhere else int(1.9 * live)}
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(0, 0, free[Path(folder)]))
    with pytest.raises(IndexUnusable) as error:
        vacuumed(index)
    said = str(error.value)
    assert f"bytes in {temporary}, where {free[temporary]:,} are free" in said
    assert ("SQLITE_TMPDIR" in said) == (elsewhere or temporary == tmp_path)
    assert index.stat().st_size == size
    free[temporary] = int(1.2 * live) if elsewhere else int(2.2 * live)
    assert vacuumed(index).after < size


def test_killed_half_way(index):
    """Before the commit it is as it was, and after it as it should be."""
    before = holds(index)
    killed = 0
    for steps in (2_000, 20_000, 40_000, 80_000):
        child = os.fork()
        if child == 0:
            try:
                with opened(index, write=True) as connection:
                    connection.set_progress_handler(
                        lambda: os.kill(os.getpid(), signal.SIGKILL), steps
                    )
                    vacuum(connection, index)
            finally:
                os._exit(1)
        killed += os.waitpid(child, 0)[1] == signal.SIGKILL
        assert wrong_with(index, METHODS) == []
        assert holds(index) == before
    assert killed
    Deduplicator(index).close()
    vacuumed(index)
    assert ask(index, "PRAGMA freelist_count") == [(0,)]


SCRIPT = """
    import os, sys
    from pathlib import Path
    from scrapy_simdedup.index import vacuum as vacuuming
    from scrapy_simdedup.index.files import opened

    folder, ask = Path(sys.argv[1]), sys.argv[2]
    seen = set()

    def look():
        for each in os.listdir("/proc/self/fd"):
            try:
                seen.add(os.readlink(f"/proc/self/fd/{each}"))
            except OSError:
                pass

    vacuuming._check_room = vacuuming._check_room if ask else lambda *_: None
    with opened(folder / "index.db", write=True) as connection:
        connection.set_progress_handler(look, 100)
        # So that there is a file at all.
        connection.execute("PRAGMA cache_size = 10")
        print(vacuuming._temporary())
        vacuuming.vacuum(connection, folder / "index.db")
    print([each for each in seen if "etilqs" in each])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_where_sqlite_makes_its_temporary_file(index, tmp_path):
    folder = tmp_path / "temporary"
    folder.mkdir()
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT), tmp_path, "room"],
        env={**os.environ, "SQLITE_TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    place, seen = ran.stdout.splitlines()
    assert place == str(folder)
    assert f"{folder}/etilqs" in seen
    assert list(folder.iterdir()) == []


def test_on_a_disk_that_is_full(index, tmp_path):
    """A real one: it fills up although there seemed to be room."""
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare")
    folder = tmp_path / "mounted"
    folder.mkdir()
    before = holds(index)
    size = index.stat().st_size
    script = f"""
        set -e
        mount -t tmpfs -o size={size + 65_536} tmpfs {folder}
        echo mounted
        cp {index} {folder}/index.db
        set +e
        SQLITE_TMPDIR={tmp_path} {sys.executable} -c "$VACUUM" {folder} "" 2>&1 | tail -1
        cp {folder}/index.db {tmp_path}/after.db
        ls {folder}
    """
    ran = subprocess.run(
        ["unshare", "--mount", "sh", "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        env={**os.environ, "VACUUM": textwrap.dedent(SCRIPT)},
        check=False,
    )
    if "mounted" not in ran.stdout:
        pytest.skip(f"no mounts here: {ran.stderr}")
    said = ran.stdout.splitlines()
    assert f"there is not enough room to vacuum {folder}/index.db" in said[1]
    assert f"in {folder} or in {tmp_path}. It is as it was" in said[1]
    assert said[2:] == ["index.db"]
    assert holds(tmp_path / "after.db") == before
