"""``scrapy simdedup idf build``: tables that load, that are refused, and that are equal."""

from __future__ import annotations

import argparse
import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest
from scrapy.exceptions import UsageError
from scrapy.settings import Settings

from scrapy_simdedup.batch.idf import TableUnusable
from scrapy_simdedup.commands import idf as command
from scrapy_simdedup.exceptions import ConfigError
from scrapy_simdedup.output import Unwritable
from scrapy_simdedup.text import idf
from test_command import lines, simdedup
from texts import chinese, page, story


def build(*arguments: object, **settings: Any) -> None:
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers())
    opts = parser.parse_args(["idf", "build", *map(str, arguments)])
    opts.function(opts, Settings(settings))


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    (folder / "deep").mkdir(parents=True)
    for at in range(6):
        (folder / f"{at}.html").write_text(page(story(at)), encoding="utf-8")
    (folder / "deep" / "zh.html").write_text(page(chinese(1)), encoding="utf-8")
    (folder / "deep" / "note.txt").write_text(story(7), encoding="utf-8")
    (folder / "empty.html").write_text("<html><body></body></html>")
    (folder / "logo.png").write_bytes(b"\x89PNG")
    return folder


def test_a_table_counts_main_texts(
    site: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "new" / "news.idf.gz"
    build(site, "--output", path)
    table = idf.load(str(path))
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == f"8 texts, {len(table.idf):,} terms; left out: 1 no-text, 1 not-html\n"
    # In every English text, and the frame of the pages is in none.
    assert table.of("the") == pytest.approx(math.log(9 / 8))
    assert "gazette" not in table.idf
    assert table.of("no such term") == table.rare == pytest.approx(math.log(9))
    assert [each.name for each in path.parent.iterdir()] == ["news.idf.gz"]


def test_two_builds_give_equal_files(site: Path, tmp_path: Path) -> None:
    one, other = tmp_path / "one.idf.gz", tmp_path / "elsewhere" / "other.idf.gz"
    build(site, "--output", one)
    build(site, "--output", other)
    assert one.read_bytes() == other.read_bytes()
    build(site, site / "0.html", "--output", other)
    assert one.read_bytes() != other.read_bytes()


def test_json_lines_give_the_table_of_the_same_texts(site: Path, tmp_path: Path) -> None:
    rows = [
        {"url": path.name, "text" if path.suffix == ".txt" else "html": path.read_text("utf-8")}
        for path in sorted(site.rglob("*"))
        if path.suffix in (".html", ".txt")
    ]
    data = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "pages.jsonl.gz").write_bytes(gzip.compress(data.encode()))
    build(site, "--output", tmp_path / "one.idf.gz")
    build(tmp_path / "pages.jsonl.gz", "--output", tmp_path / "other.idf.gz")
    assert (tmp_path / "one.idf.gz").read_bytes() == (tmp_path / "other.idf.gz").read_bytes()


@pytest.mark.parametrize("texts", [[], [story(1)], [story(1), story(1)]])
def test_texts_that_tell_nothing_make_no_table(texts: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    for at, text in enumerate(texts):
        (folder / f"{at}.txt").write_text(text)
    path = tmp_path / "out.idf.gz"
    path.write_bytes(b"what was there")
    with pytest.raises(TableUnusable, match=f"{len(texts)} texts are too few"):
        build(folder, "--output", path)
    assert path.read_bytes() == b"what was there"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["out.idf.gz", "texts"]


def test_a_table_that_the_settings_name_can_be_made(site: Path, tmp_path: Path) -> None:
    path = tmp_path / "news.idf.gz"
    build(site, "--output", path, SIMDEDUP_IDF=str(path), SIMDEDUP_METHODS=["classic"])
    assert path.is_file()


def shout(html: str) -> str:
    """Stand in for an extractor of a project."""
    if "Story" not in html:
        raise ValueError("no story")
    return "loud loud words"


def test_the_extractor_of_the_settings_is_used(
    site: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (site / "broken.html").write_text("<html>")
    build(site, "--output", tmp_path / "o.gz", SIMDEDUP_EXTRACTOR="test_idf.shout")
    assert idf.load(str(tmp_path / "o.gz")).idf.keys() >= {"loud", "words"}
    assert "8 texts" in capsys.readouterr().err
    with pytest.raises(ConfigError):
        build(site, "--output", tmp_path / "p.gz", SIMDEDUP_EXTRACTOR="no.such")


def test_wrong_calls(site: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no"):
        build(site, tmp_path / "nowhere", "--output", tmp_path / "o.gz")
    with pytest.raises(Unwritable, match="no regular file"):
        build(site, "--output", tmp_path)
    with pytest.raises(Unwritable, match=r"cannot write .*Not a directory"):
        build(site, "--output", site / "0.html" / "o.gz")


def test_an_index_keeps_to_its_table(site: Path, tmp_path: Path) -> None:
    ran = simdedup(tmp_path, "idf", "build", "site", "--output", "one.idf.gz")
    assert (ran.returncode, ran.stdout) == (0, "")
    assert ran.stderr.startswith("8 texts, ")
    build(site / "deep", site / "1.html", site / "2.html", "--output", tmp_path / "two.idf.gz")

    def scan(table: str) -> Any:
        settings = ("-s", "SIMDEDUP_METHODS=classic", "-s", f"SIMDEDUP_IDF={table}")
        return simdedup(tmp_path, "scan", "site", "--index", "i.db", *settings)

    first = scan("one.idf.gz")
    assert first.returncode == 0
    assert [each["status"] for each in lines(first.stdout)].count("unique") == 8
    again = scan("one.idf.gz")
    assert [each["status"] for each in lines(again.stdout)].count("revisit") == 8
    other = scan("two.idf.gz")
    assert (other.returncode, other.stdout) == (1, "")
    assert "was written with idf" in other.stderr
    assert scan("nowhere.idf.gz").returncode == 1


@pytest.mark.parametrize("arguments", [["idf"], ["idf", "burn"], ["idf", "build", "site"]])
def test_calls_that_end_with_exit_code_2(arguments: list[str], site: Path, tmp_path: Path) -> None:
    ran = simdedup(tmp_path, *arguments)
    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr
