"""``scrapy simdedup rebuild``: texts signed anew are as if signed for the first time."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_simdedup import Deduplicator, IndexUnusable
from scrapy_simdedup.analysis import Source, analyse
from scrapy_simdedup.batch.rebuild import Rebuilt, rebuild
from scrapy_simdedup.config import Config
from scrapy_simdedup.identity import identity_of
from scrapy_simdedup.index.files import move_aside
from scrapy_simdedup.index.texts import read
from scrapy_simdedup.text import idf
from test_check import changed, checked, contents, live_run, on_a_terminal, wrong
from test_command import simdedup
from test_stored_texts import STORE, opened
from texts import chinese, page, reworded, story


def rebuilt(path: Path, asked: dict[str, Any], **options: Any) -> Rebuilt:
    def quiet(what: str, total: int | None) -> Any:
        return nullcontext(lambda steps: None)

    config = Config.from_settings({"SIMDEDUP_WORKERS": 0, **asked})
    return rebuild(path, config, quiet, **options)


def sound(path: Path, asked: dict[str, Any]) -> bool:
    """Tell whether a check finds nothing, the identity included."""
    from scrapy_simdedup.checks.whole import check

    def quiet(what: str, total: int | None) -> Any:
        return nullcontext(lambda steps: None)

    return check(path, identity_of(Config.from_settings(asked)), quiet, mend=False).sound


DESCRIPTION = "All about the swing bridge, its keepers, and the herring boats that pass below it."


def described(text: str, description: str, template: str = "plain") -> str:
    html = page(text, template=template)
    return html.replace(
        '<meta charset="utf-8">',
        f'<meta charset="utf-8"><meta name="description" content="{description}">',
        1,
    )


# Unrelated texts, so that any settings keep each.
KEPT = [
    page(story(1), title="Reopened"),
    described(story(2), DESCRIPTION, "wire"),
    described(chinese(1), DESCRIPTION.replace("bridge", "gate"), "wire"),
    page(chinese(2), template="wire"),
    page(story(3).replace(". ", ". In Harrow, the 14 boats of May 3 cost 250. ")),
]
# Copies of some of them, and what is none.
ASKED = [
    page(story(1), template="wire"),
    described(story(70), DESCRIPTION, "wire"),
    reworded(story(2), 0.05),
    page(reworded(chinese(1), 0.04)),
    chinese(2)[: len(chinese(2)) // 2],
    page(story(3).replace(". ", ". In Harrow, the 15 boats of May 4 cost 251. ")),
    story(71),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A user dictionary and an IDF table."""
    folder = tmp_path_factory.mktemp("files")
    words = "".join(f"{chinese(1)[at : at + 3]} 7\n" for at in range(0, 90, 9))
    (folder / "words.txt").write_text(
        "".join(line for line in words.splitlines(keepends=True) if "，" not in line),
        encoding="utf-8",
    )
    idf.build([story(number) for number in range(30)], folder / "table.idf.gz")
    return {"USER_DICT": str(folder / "words.txt"), "IDF": str(folder / "table.idf.gz")}


METHODS = ["simhash", "sketch", "classic", "piecewise", *(f"keywords-{n}" for n in range(1, 6))]
shapes = st.fixed_dictionaries(
    {
        "METHODS": st.lists(st.sampled_from(METHODS), min_size=1, max_size=9, unique=True),
        "HASH_BITS": st.sampled_from([64, 32]),
        "KEYWORDS": st.sampled_from([10, 4]),
        "USER_DICT": st.booleans(),
        "IDF": st.booleans(),
    }
)


def settings_of(shape: dict[str, Any], files: dict[str, str]) -> dict[str, Any]:
    values = {**shape, **{name: files[name] if shape[name] else "" for name in files}}
    return {**STORE, **{f"SIMDEDUP_{name}": value for name, value in values.items()}}


def filled(path: Path, asked: dict[str, Any]) -> None:
    with Deduplicator(path, asked) as dedup:
        for number, html in enumerate(KEPT):
            assert dedup.check(f"https://a.example/{number}", html=html).status == "unique"


def judged(path: Path, asked: dict[str, Any]) -> list[Any]:
    with Deduplicator(path, asked) as dedup:
        again = [
            dedup.check(f"https://a.example/{number}", html=html)
            for number, html in enumerate(KEPT)
        ]
        return again + [
            dedup.check(f"https://b.example/{number}", **{_kind(content): content})
            for number, content in enumerate(ASKED)
        ]


def _kind(content: str) -> str:
    return "html" if content.startswith("<") else "text"


@settings(max_examples=15, deadline=None)
@given(before=shapes, after=shapes)
def test_a_rebuilt_index_is_as_one_made_with_these_settings(
    tmp_path_factory: pytest.TempPathFactory,
    files: dict[str, str],
    before: dict[str, Any],
    after: dict[str, Any],
) -> None:
    folder = tmp_path_factory.mktemp("rebuilt")
    old, fresh = folder / "old.db", folder / "fresh.db"
    asked = settings_of(after, files)
    filled(old, settings_of(before, files))
    filled(fresh, asked)
    made = rebuilt(old, asked, output=folder / "new.db")
    assert (made.pages, made.left_out.originals) == (len(KEPT), 0)
    one, other = contents(made.path), contents(fresh)
    for table in ("meta", "pages", "bands", "bodies"):
        assert one[table] == other[table]
    assert sound(made.path, asked)
    assert judged(made.path, asked) == judged(fresh, asked)


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """An index with all that is to be kept: copies, a changed page, an item, open claims."""
    path = tmp_path / "index.db"
    with Deduplicator(path, STORE, spider="news") as dedup:
        for number in range(6):
            dedup.check(f"https://a.example/{number}", html=page(story(number)))
            dedup.check(f"https://b.example/{number}", html=page(story(number), template="wire"))
        dedup.check("https://a.example/5", html=page(story(15)))
        item = dedup.item("https://a.example/", "Review", "1")
        dedup.judge(item, analyse(Source(text=(story(1),)), dedup.recipe()), confirm=True)
        dedup.check("https://a.example/short", text="Too little.")
    dedup = Deduplicator(path, STORE, spider="died")
    changing = dedup.page("https://a.example/4", ("https://a.example/4",))
    for subject, text in (
        (changing, story(14)),
        (dedup.page("https://a.example/open"), story(20)),
    ):
        dedup.judge(subject, analyse(Source(text=(text,)), dedup.recipe()))
    dedup.check("https://b.example/open", text=story(20))
    # As if its process had ended.
    dedup._index._checkpointer.stop()
    dedup._index.connection.close()
    dedup._index._lock.release()
    return path


ASK = {**STORE, "SIMDEDUP_METHODS": ["sketch", "piecewise"], "SIMDEDUP_HASH_BITS": 32}
WORDS = [
    f"-s{name}={value}" for name, value in {**ASK, "SIMDEDUP_METHODS": "sketch,piecewise"}.items()
]


def test_the_refusal_names_it_and_it_keeps_all_but_signatures(index: Path, tmp_path: Path) -> None:
    before = contents(index)
    ran = simdedup(tmp_path, "scan", "nothing.txt", "--index", "index.db", *WORDS)
    (tmp_path / "nothing.txt").touch()
    ran = simdedup(tmp_path, "scan", "nothing.txt", "--index", "index.db", *WORDS)
    assert ran.returncode == 1
    command = f"scrapy simdedup rebuild --index {index}"
    assert f"sign its stored texts anew ({command}, and -s NAME=VALUE" in ran.stderr
    ran = simdedup(tmp_path, "rebuild", "--index", "index.db", *WORDS)
    assert (ran.returncode, ran.stdout) == (0, "")
    (aside,) = tmp_path.glob("index.db.*.bak")
    assert ran.stderr == f"9 pages signed anew: {index}; the old index is {aside}\n"
    # The old one is whole.
    assert contents(aside) == before
    after = contents(index)
    assert after["runs"][:2] == before["runs"]
    ((_, spider, job, started, ended, status, lock, asked, versions),) = after["runs"][2:]
    assert (spider, status, lock) == ("rebuild", "finished", "")
    assert json.loads(asked)["SIMDEDUP_HASH_BITS"] == 32
    assert started <= ended
    assert job != before["runs"][0][2]
    assert "trafilatura" in versions
    for table, apart in (("decisions", ()), ("pages", ("signature",))):
        names = [row[1] for row in _columns(index, table)]
        rows = [
            [
                {n: v for n, v in zip(names, row, strict=True) if n not in apart}
                for row in each[table]
            ]
            for each in (before, after)
        ]
        assert rows[0] == rows[1]
    assert [row[names.index("signature")] for row in before["pages"]] != [
        row[names.index("signature")] for row in after["pages"]
    ]
    assert after["bodies"] == []
    with opened(index) as connection, opened(aside) as old:
        for query in (
            "SELECT * FROM texts ORDER BY digest",
            "SELECT * FROM sqlite_sequence",
            "SELECT type, name, sql FROM sqlite_master ORDER BY name",
            "PRAGMA user_version",
            "PRAGMA application_id",
            "PRAGMA page_size",
        ):
            assert connection.execute(query).fetchall() == old.execute(query).fetchall()
    assert sorted(each.name for each in tmp_path.iterdir() if "lock" not in each.name) == sorted(
        ["index.db", aside.name, "nothing.txt"]
    )
    assert list(tmp_path.glob("*.part*")) == list(tmp_path.glob("*-run-*")) == []
    # What died is released now, and what was an orphan of it is one.
    assert wrong(checked(index)).keys() <= {"identity", "runs under way", "open claims"}
    with Deduplicator(index, ASK) as dedup:
        assert [orphan.url for orphan in dedup.reaped.orphans] == ["https://b.example/open"]
        assert dedup.check("https://a.example/4", html=page(story(4))).status == "revisit"
        copy = dedup.check("https://c.example/5", text=reworded(story(15), 0.03))
        assert copy.original == "https://a.example/5"
        assert dedup.check("https://c.example/6", text=story(5)).status == "unique"
    assert sound(index, ASK)


def _columns(path: Path, table: str) -> list[Any]:
    with opened(path) as connection:
        return connection.execute(f"PRAGMA table_info({table})").fetchall()


def test_another_file_beside_the_old_one(index: Path, tmp_path: Path) -> None:
    before = contents(index)
    new = tmp_path / "deep" / "new.db"
    ran = simdedup(tmp_path, "rebuild", "--index", index, "--output", "deep/new.db", *WORDS)
    assert ran.stderr == f"9 pages signed anew: {new}; the old index is {index}\n"
    assert contents(index) == before
    assert new.stat().st_mode == index.stat().st_mode
    assert not list(tmp_path.glob("*.bak"))
    data = new.read_bytes()
    ran = simdedup(tmp_path, "rebuild", "--index", index, "--output", new, *WORDS)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert f"there is a file at {new} already" in ran.stderr
    assert new.read_bytes() == data
    with Deduplicator(new, ASK) as dedup:
        assert dedup.check("https://a.example/1", html=page(story(1))).status == "revisit"


def test_a_link_is_followed(index: Path, tmp_path: Path) -> None:
    link = tmp_path / "links" / "link.db"
    link.parent.mkdir()
    link.symlink_to(index)
    made = rebuilt(link, ASK)
    assert (made.path, made.old.parent) == (index, tmp_path)
    assert link.is_symlink()
    Deduplicator(link, ASK).close()


@pytest.mark.parametrize("workers", [0, 2])
def test_pages_without_a_text_are_refused_or_left_out(index: Path, workers: int) -> None:
    asked = {**ASK, "SIMDEDUP_WORKERS": workers}
    with Deduplicator(index) as dedup:
        dedup.check("https://a.example/without", text=story(30))
        dedup.check("https://b.example/without", text=story(30))
    before = contents(index)
    with pytest.raises(IndexUnusable, match=r"texts of 7 of its 8 pages; .* --leave-out, and 1 "):
        rebuilt(index, asked)
    changed(index, "UPDATE texts SET text = x'00' WHERE digest = (SELECT digest FROM pages)")
    changed(index, "INSERT INTO texts SELECT digest, x'00' FROM pages WHERE url LIKE '%without'")
    # One that cannot be read is found on the way.
    with pytest.raises(IndexUnusable, match=r"page 1 \(https://a.example/0\) cannot be signed"):
        rebuilt(index, asked)
    changed(index, "DELETE FROM texts WHERE digest IN (SELECT digest FROM pages WHERE id > 8)")
    assert contents(index) == before
    made = rebuilt(index, asked, leave_out=True)
    assert (made.pages, made.left_out.originals, made.left_out.copies) == (6, 2, 2)
    found = {what: count for what, count in wrong(checked(index)).items() if what != "identity"}
    assert found == {"texts": 1}
    with Deduplicator(index, ASK) as dedup:
        # Left out is unknown; and a copy of it stays one in the log.
        assert dedup.check("https://c.example/", html=page(story(0))).status == "unique"
        assert dedup.check("https://a.example/1", html=page(story(1))).status == "revisit"
    with opened(index) as connection:
        rows = connection.execute(
            "SELECT status, original_page, original_removed IS NULL FROM decisions"
            " WHERE url IN ('https://b.example/0', 'https://b.example/without')"
        ).fetchall()
    assert rows == [("duplicate", None, 0)] * 2


def test_copies_of_what_was_never_stored_are_orphans(index: Path, tmp_path: Path) -> None:
    """A page that is left out while its claim is open takes the claim with it."""
    changed(
        index,
        "DELETE FROM texts WHERE digest ="
        " (SELECT digest FROM pages WHERE url = 'https://a.example/open');"
        "UPDATE decisions SET text = NULL WHERE text NOT IN (SELECT digest FROM texts)",
    )
    ran = simdedup(tmp_path, "rebuild", "--index", index, "--leave-out", *WORDS)
    assert "8 pages signed anew, 1 left out" in ran.stderr
    assert "e.g. https://b.example/open because of https://a.example/open" in ran.stderr
    ran = simdedup(tmp_path, "export", "--index", index, "--status", "orphaned")
    assert ran.stdout.count("https://b.example/open") == 1
    with Deduplicator(index, ASK) as dedup:
        assert not dedup.reaped.orphans
    assert sound(index, ASK)


def test_what_cannot_be_rebuilt_is_refused_untouched(index: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain.db"
    with Deduplicator(plain) as dedup:
        dedup.check("https://a.example/", text=story(1))
    (tmp_path / "text.db").write_text("no index " * 999)
    (tmp_path / "empty.db").touch()
    for path, asked, said in (
        (tmp_path / "nowhere.db", {}, f"there is no index at {tmp_path}/nowhere.db"),
        (tmp_path / "text.db", {}, "is no index of scrapy-simdedup"),
        (tmp_path / "empty.db", {}, "is empty"),
        (plain, {}, "texts of 0 of its 1 pages"),
        (index, {"SIMDEDUP_SCOPE": "site"}, "with scope 'index', and .* ask for 'site'"),
        (index, {"SIMDEDUP_EXTRACTOR": "html.unescape"}, "Set SIMDEDUP_EXTRACTOR as it was"),
    ):
        before = path.read_bytes() if path.exists() else None
        with pytest.raises(IndexUnusable, match=said):
            rebuilt(path, asked)
        assert (path.read_bytes() if path.exists() else None) == before
        # And the refusal to open it does not send anybody here.
        if path in (plain, index) and said[0] != "t":
            with pytest.raises(IndexUnusable) as caught:
                Deduplicator(path, asked)
            assert "rebuild" not in str(caught.value)
    with pytest.raises(IndexUnusable) as caught:
        Deduplicator(plain, ASK)
    assert "rebuild" not in str(caught.value)


def test_not_while_a_run_uses_it(index: Path, tmp_path: Path) -> None:
    with live_run(index):
        before = contents(index)
        for output in ([], ["--output", "new.db"]):
            ran = simdedup(tmp_path, "rebuild", "--index", index, *output, *WORDS)
            assert ran.returncode == 1
            assert f"cannot rebuild {index}: another run is using it" in ran.stderr
        assert contents(index) == before
    assert not list(tmp_path.glob("*.part*"))


def test_not_while_another_program_has_it_open(index: Path, monkeypatch: Any) -> None:
    """It would go on in a log that the new file takes for its own."""
    with opened(index) as reader:
        # Reading, as a browser of the file does between two pages.
        reader.execute("SELECT count(*) FROM pages").fetchone()
        for act in (lambda: rebuilt(index, ASK), lambda: move_aside(index)):
            with pytest.raises(IndexUnusable, match="is open in another program"):
                act()
        assert reader.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert not list(index.parent.glob("*.bak"))
    assert not list(index.parent.glob("*.part*"))
    rebuilt(index, ASK)


def test_what_is_written_meanwhile_is_not_lost(index: Path, monkeypatch: Any) -> None:
    """A crawl that begins and ends while the texts are signed."""
    from scrapy_simdedup.batch import rebuild as module

    sign = module._sign

    def crawl_first(*arguments: Any, **options: Any) -> Any:
        with Deduplicator(index, STORE) as dedup:
            assert dedup.check("https://a.example/late", text=story(40)).status == "unique"
        return sign(*arguments, **options)

    monkeypatch.setattr(module, "_sign", crawl_first)
    with pytest.raises(IndexUnusable, match="has been written to meanwhile"):
        rebuilt(index, ASK)
    monkeypatch.undo()
    rebuilt(index, ASK)
    with Deduplicator(index, ASK) as dedup:
        assert dedup.check("https://a.example/late", text=story(40)).status == "revisit"


def test_a_crawl_that_is_under_way_at_the_end_wins(index: Path, monkeypatch: Any) -> None:
    from scrapy_simdedup.batch import rebuild as module

    sign = module._sign
    running: list[Deduplicator] = []

    def crawl(*arguments: Any, **options: Any) -> Any:
        running.append(Deduplicator(index, STORE))
        return sign(*arguments, **options)

    monkeypatch.setattr(module, "_sign", crawl)
    with pytest.raises(IndexUnusable, match="another run is using it"):
        rebuilt(index, ASK)
    with running.pop() as dedup:
        assert dedup.check("https://a.example/1", html=page(story(1))).status == "revisit"
    assert wrong(checked(index)) == {}


def test_a_full_disk_leaves_the_old_index(index: Path, monkeypatch: Any) -> None:
    from scrapy_simdedup.index import schema

    migrate = schema.migrate

    def limited(connection: sqlite3.Connection) -> None:
        migrate(connection)
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")

    monkeypatch.setattr("scrapy_simdedup.batch.rebuild.schema.migrate", limited)
    before = contents(index)
    # All five of the keyword rules need more room than there is.
    asked = {**STORE, "SIMDEDUP_METHODS": "sketch,simhash,piecewise,keywords,classic"}
    with pytest.raises(IndexUnusable, match=f"cannot rebuild {index}, which is as it was: .*full"):
        rebuilt(index, asked)
    assert contents(index) == before
    assert not list(index.parent.glob("*.part*"))
    assert not list(index.parent.glob("*-run-*"))


def test_digests_are_those_of_now(index: Path) -> None:
    """As after an upgrade of Python, whose Unicode may fold a text otherwise."""
    for table, column in (("pages", "digest"), ("texts", "digest"), ("decisions", "text")):
        changed(
            index,
            f"UPDATE {table} SET {column} = CAST(substr({column}, 2) || x'00' AS BLOB)"
            f" WHERE {column} IS NOT NULL",
        )
    with opened(index) as connection:
        texts = {
            number: read(connection, digest)
            for number, digest in connection.execute("SELECT id, text FROM decisions")
        }
    rebuilt(index, ASK)
    with opened(index) as connection:
        for number, digest in connection.execute("SELECT id, text FROM decisions").fetchall():
            assert read(connection, digest) == texts[number]
    with Deduplicator(index, ASK) as dedup:
        assert dedup.check("https://a.example/1", text=_text(index, 1)).status == "revisit"
    assert wrong(checked(index)).keys() <= {"identity"}


def _text(path: Path, number: int) -> str:
    with opened(path) as connection:
        (row,) = connection.execute(
            "SELECT digest FROM pages WHERE url = ?", (f"https://a.example/{number}",)
        ).fetchall()
        return read(connection, row[0]) or ""


STAGES = {
    "copied": "module._Source.copy",
    "half signed": "resign.Resigning._store",
    "signed": "module._publish",
    "two names": "Path.replace",
}
KILLED = """
    import sys
    from contextlib import nullcontext
    from pathlib import Path
    from scrapy_simdedup.batch import rebuild as module, resign
    from scrapy_simdedup.config import Config

    stage, calls = sys.argv[2], 0
    owner, _, name = stage.rpartition(".")
    owner = eval(owner)
    whole = getattr(owner, name)

    def waiting(*arguments):
        global calls
        calls += 1
        after = name == "copy"
        made = whole(*arguments) if after or calls < 4 and name == "_store" else None
        if name != "_store" or calls == 4:
            print("here", flush=True)
            sys.stdin.readline()
        return made

    setattr(owner, name, waiting)
    config = Config.from_settings({
        "SIMDEDUP_WORKERS": 0, "SIMDEDUP_METHODS": "sketch,piecewise", "SIMDEDUP_HASH_BITS": 32,
    })
    module.rebuild(Path(sys.argv[1]), config, lambda *_: nullcontext(lambda steps: None))
"""


@pytest.mark.parametrize("stage", STAGES)
def test_kill_9_leaves_the_old_index(index: Path, tmp_path: Path, stage: str) -> None:
    before = contents(index)
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(KILLED), str(index), STAGES[stage]],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        assert (tmp_path / "index.db.part").exists()
        if stage == "half signed":
            # Nobody else begins with the same meanwhile, or takes the file away.
            for act in (lambda: rebuilt(index, ASK), lambda: move_aside(index)):
                with pytest.raises(IndexUnusable, match="another run is using it"):
                    act()
        os.kill(process.pid, signal.SIGKILL)
    assert contents(index) == before
    with Deduplicator(index, STORE) as dedup:
        assert dedup.check("https://a.example/1", html=page(story(1))).status == "revisit"
    assert wrong(checked(index)) == {}
    # What it has left behind is in nobody's way.
    assert rebuilt(index, ASK).pages == 7
    assert not list(tmp_path.glob("*.part*"))
    with Deduplicator(index, ASK) as dedup:
        assert dedup.check("https://a.example/1", html=page(story(1))).status == "revisit"
    assert sound(index, ASK)


def test_a_bar_on_a_terminal(index: Path) -> None:
    said = on_a_terminal("rebuild", "--index", index, *WORDS)
    assert "pages:" in said
    assert "9 pages signed anew" in said
