"""User dictionaries: read strictly, used by all ways of cutting alike, and each by itself."""

from __future__ import annotations

import json
import logging
import os
import pickle
import random
import re
import sqlite3
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import pytest

from crawling import HERE
from scrapy_simdedup import ConfigError, Deduplicator, IndexUnusable
from scrapy_simdedup.analysis import Recipe, Source, analyse
from scrapy_simdedup.config import Config
from scrapy_simdedup.identity import identity_of
from scrapy_simdedup.index.records import unpack
from scrapy_simdedup.text import chinese, fast_segment, user_dict
from scrapy_simdedup.text.document import Shape
from scrapy_simdedup.text.segment import segment
from scrapy_simdedup.text.user_dict import UserDict
from scrapy_simdedup.text.word_graph import WordGraph
from test_command import environment, simdedup
from test_fast import words
from test_segment import python
from texts import chinese as chinese_story
from texts import page

RUN = "图书馆旁边的气象站"
PLAIN = ["图书馆", "旁边", "的", "气象站"]
LONGER = "图书馆旁边 5 n\n"


def written(path: Path, lines: str | bytes) -> UserDict:
    path.write_bytes(lines if isinstance(lines, bytes) else lines.encode())
    found = Config.from_settings({"SIMDEDUP_USER_DICT": str(path)}).user_dict
    assert found is not None
    return found


def test_lines_as_jieba_reads_them(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    lines = "\ufeff创新办 3 i\r\n\n  云计算 5\n凱特琳 nz\n台中\n龍\uf9fc 0\nEdu Trust认证 2000\n"
    (tmp_path / "words.txt").write_text(lines, encoding="utf-8")
    found, others = user_dict.read(str(tmp_path / "words.txt"))
    # A compatibility form is read as texts are.
    assert found == [("创新办", 3), ("云计算", 5), ("凱特琳", None), ("台中", None), ("龍識", 0)]
    assert others == ["edu trust认证"]
    written(tmp_path / "words.txt", lines)
    (told,) = caplog.records
    assert (told.levelno, "1 words that are not all Han" in told.getMessage()) == (
        logging.WARNING,
        True,
    )


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("云计算 5\n云计算 five 5 n\n", "line 2 of {path} is not a word, a frequency and a tag"),
        ("云计算 -5\n", "line 1 of {path} is not a word"),
        ("云计算 5 6\n", "line 1 of {path} is not a word"),
        ("云计算 5.5\n", "line 1 of {path} is not a word"),
        ("云计算 n 5 n\n", "line 1 of {path} is not a word"),
        ("云计算 99999999999\n", "line 1 of {path} has a frequency above"),
        ("云计算\n" + "云" * 101, "line 2 of {path} has a word of more than 100 characters"),
        ("云计算\n" + "云" * 400, "line 2 of {path} is longer than 1000 bytes"),
        ("云计算 5\n".encode() + "台中\n".encode("gb18030"), "line 2 of {path} is not UTF-8"),
        ("云计算 5\n".encode("utf-16"), "line 1 of {path} is not UTF-8"),
        ("云计算,5,n\n", "{path} holds no word that consists of Han characters"),
        ("", "{path} holds no word"),
        (None, "No such file or directory: '{path}'"),
    ],
)
def test_what_is_no_dictionary_is_refused_with_its_line(
    tmp_path: Path, lines: str | bytes | None, said: str
) -> None:
    path = tmp_path / "words.txt"
    if lines is not None:
        path.write_bytes(lines if isinstance(lines, bytes) else lines.encode())
    with pytest.raises(ConfigError) as caught:
        Config.from_settings({"SIMDEDUP_USER_DICT": str(path)})
    assert said.format(path=path) in str(caught.value)
    assert str(caught.value).startswith(f"SIMDEDUP_USER_DICT is '{path}'")


def test_the_digest_is_that_of_the_words(tmp_path: Path) -> None:
    one = written(tmp_path / "words.txt", "云计算 5 n\n台中\n")
    assert written(tmp_path / "words.txt", "云计算 5\r\n\r\n台中 ns").digest == one.digest
    others = ("云计算 6\n台中\n", "台中\n云计算 5\n", "云计算 5\n", "云计算\n台中\n")
    assert len({written(tmp_path / "words.txt", each).digest for each in (*others, "台中")}) == 5
    assert one.digest not in {written(tmp_path / "words.txt", each).digest for each in others}


def made_up(pick: random.Random, *, taken: bool) -> str:
    """Return a dictionary of words that jieba has and has not, some of them twice."""
    known = [pick.choice(words()) for _ in range(60)]
    joined = [pick.choice(words()) + pick.choice(words()) for _ in range(60)]
    singles = [pick.choice(words())[0] for _ in range(20)]
    frequencies = ["", " 1", " 3", " 40", " 9999", " 2000000"] + [" 0"] * taken
    chosen = pick.choices([*known, *joined, *singles], k=200)
    return "".join(f"{word[:100]}{pick.choice(frequencies)}\n" for word in chosen)


def of_jieba(path: Path) -> fast_segment.Cut:
    tokenizer = chinese._load_jieba()
    tokenizer.load_userdict(str(path))
    return lambda run: list(tokenizer.cut(run, HMM=False))


@pytest.mark.parametrize("taken", [False, True], ids=["words more", "words more and fewer"])
def test_all_cut_as_jieba_does_with_the_same_dictionary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: bool
) -> None:
    pick = random.Random(f"dictionary {taken}")
    lines = made_up(pick, taken=taken)
    given = written(tmp_path / "words.txt", lines)
    expected = of_jieba(tmp_path / "words.txt")
    with_rjieba = chinese._load(given)
    # Taking words away is nothing that rjieba can do.
    graph = getattr(with_rjieba, "__self__", None)
    assert isinstance(graph, WordGraph) == taken
    monkeypatch.setitem(sys.modules, "rjieba", None)
    without = chinese._load(given)
    own = [line.split()[0] for line in lines.splitlines()]
    runs = [
        "".join(pick.choice((pick.choice(own), pick.choice(words()))) for _ in range(length))
        for length in [*range(1, 120), *[3] * 200]
    ]
    assert any(chinese.cut(run) != expected(run) for run in runs)
    for run in runs:
        assert with_rjieba(run) == without(run) == expected(run)


def test_a_version_of_rjieba_that_takes_words_otherwise_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import rjieba

    class Deaf:
        """Takes no words of users, but the one that corrects the total."""

        def __init__(self) -> None:
            self.real = rjieba.Jieba()

        def add_word(self, word: str, freq: int, tag: str) -> int:
            return int(self.real.add_word(word, freq, tag)) if tag else freq

        def cut(self, text: str, hmm: bool = True) -> list[str]:
            return list(self.real.cut(text, hmm=hmm))

    given = written(tmp_path / "words.txt", LONGER)
    monkeypatch.setattr(rjieba, "Jieba", Deaf)
    monkeypatch.setattr(chinese, "_cuts", {})
    assert chinese.cut(RUN, given) == ["图书馆旁边", "的", "气象站"]
    (told,) = caplog.records
    assert "rjieba is not used" in told.getMessage()


def test_each_dictionary_is_by_itself_in_all_threads(tmp_path: Path) -> None:
    """fxsjy/jieba#533: one tokenizer for all, and the second dictionary overwrites the first."""
    one = written(tmp_path / "one.txt", LONGER)
    other = written(tmp_path / "other.txt", "的气象站 9\n图书馆 0\n")
    wanted = {
        None: PLAIN,
        one: ["图书馆旁边", "的", "气象站"],
        other: ["图书", "馆", "旁边", "的气象站"],
    }
    barrier = threading.Barrier(9)
    found: list[tuple[UserDict | None, list[str]]] = []

    def work(given: UserDict | None) -> None:
        barrier.wait()
        found.extend((given, chinese.cut(RUN, given)) for _ in range(20))

    threads = [threading.Thread(target=work, args=(each,)) for each in [*wanted] * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 180
    assert all(terms == wanted[given] for given, terms in found)


def test_nothing_is_said_and_nothing_shared_is_touched(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text(LONGER + "气象 0\n", encoding="utf-8")
    (tmp_path / "shared").mkdir()
    code = f"""
import sys
from scrapy_simdedup.config import Config
from scrapy_simdedup.text.segment import segment
from scrapy_simdedup.text.document import Document
shape = Config.from_settings({{"SIMDEDUP_USER_DICT": "words.txt"}}).shape
assert Document.from_text({RUN!r}, shape=shape).terms == ["图书馆旁边", "的", "气象站"]
assert segment({RUN!r}) == {PLAIN!r}
from jieba import dt, finalseg
assert not dt.initialized and not finalseg.Force_Split_Words
"""
    ran = python(
        f"import os; os.chdir({str(tmp_path)!r})" + code,
        "-W",
        "error",
        SIMDEDUP_CACHE=tmp_path / "cache",
        TMPDIR=tmp_path / "shared",
        PYTHONPYCACHEPREFIX=tmp_path / "code",
    )
    assert (ran.stdout, ran.stderr, ran.returncode) == ("", "", 0)
    assert list((tmp_path / "shared").iterdir()) == []
    # Compiled is jieba's own dictionary alone.
    assert [found.name for found in (tmp_path / "cache").iterdir()] == ["jieba.cache"]


def test_an_index_keeps_to_the_dictionary_it_began_with(tmp_path: Path) -> None:
    given = written(tmp_path / "words.txt", LONGER)
    asked_path = str(tmp_path / "words.txt")
    asked = {"SIMDEDUP_USER_DICT": asked_path, "SIMDEDUP_MAX_AGE": "90d"}
    assert identity_of(Config.from_settings(asked))["user_dict"] == given.digest
    Deduplicator(tmp_path / "index.db").close()
    with pytest.raises(IndexUnusable, match=rf"user_dict '' where .* ask for '{given.digest}'"):
        Deduplicator(tmp_path / "index.db", asked)
    for path, settings, fails in (("own.db", asked, 0), ("index.db", {}, 0), ("own.db", {}, 1)):
        said = [f"-s{name}={value}" for name, value in settings.items()]
        (tmp_path / "a.txt").write_text(chinese_story(1), encoding="utf-8")
        ran = simdedup(tmp_path, "scan", "a.txt", "--index", path, *said)
        assert ran.returncode == fails, ran.stderr
    assert f"user_dict '{given.digest}' where the settings now ask for ''" in ran.stderr
    # Pages beside the index are cut as its newest run cut them, however old that may be by now,
    # and none is judged against one that was cut otherwise.
    explain = ("explain", "a.txt", "a.txt", "--index")
    ran = simdedup(tmp_path, *explain, "own.db")
    assert (ran.returncode, ran.stderr) == (0, "")
    ran = simdedup(tmp_path, *explain, "index.db", "-s", f"SIMDEDUP_USER_DICT={asked_path}")
    assert (ran.returncode, "user_dict" in ran.stderr) == (1, True)


def test_a_file_that_changes_after_the_start_is_no_silent_mixture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chinese, "_cuts", {})
    path = tmp_path / "words.txt"
    path.write_text(LONGER, encoding="utf-8")
    with Deduplicator(tmp_path / "index.db", {"SIMDEDUP_USER_DICT": str(path)}) as dedup:
        path.write_text("的气象站 9\n", encoding="utf-8")
        assert dedup.check("https://a.example/1", text=chinese_story(1)).status == "error"
        path.write_text(LONGER, encoding="utf-8")
        assert dedup.check("https://a.example/1", text=chinese_story(1)).status == "unique"


def test_a_crawl_does_not_start_with_a_bad_dictionary(
    crawl: Any, site: Any, tmp_path: Path
) -> None:
    (tmp_path / "words.txt").write_text("云计算 five 5\n", encoding="utf-8")
    site.html("/", page(chinese_story(1)))
    done = crawl(settings={"SIMDEDUP_USER_DICT": "words.txt"})
    assert done.exit_code == 1
    assert "SIMDEDUP_USER_DICT is 'words.txt' (line 1 of " in done.log
    assert site.asked == []


def test_two_spiders_of_one_process_cut_by_their_own_dictionaries(
    site: Any, tmp_path: Path
) -> None:
    """In workers, which the two share."""
    text = chinese_story(3)
    site.html("/", page(text))
    words_of = [term for term in segment(text) if len(term) > 1]
    dictionaries = {
        "one": "\n".join(run[:4] for run in re.findall("[\u4e00-\u9fd5]{4,}", text)),
        "two": "\n".join(f"{word} 0" for word in words_of[:20]),
    }
    for name, lines in dictionaries.items():
        (tmp_path / f"{name}.txt").write_text(lines, encoding="utf-8")
    script = f"""
        import sys
        sys.path.insert(0, {str(HERE)!r})
        import scrapy
        from scrapy.crawler import CrawlerProcess

        class One(scrapy.Spider):
            name = "one"
            start_urls = [{site.url("/")!r}]
            custom_settings = {{"SIMDEDUP_USER_DICT": "one.txt"}}
            def parse(self, response):
                yield {{"url": response.url}}

        class Two(One):
            name = "two"
            custom_settings = {{"SIMDEDUP_USER_DICT": "two.txt"}}

        process = CrawlerProcess({{
            "ADDONS": {{"scrapy_simdedup.Addon": 500}},
            "SIMDEDUP_INDEX": {str(tmp_path / "%(spider)s.db")!r},
            "SIMDEDUP_WORKERS": 1,
            "SIMDEDUP_TIMEOUT": 60,
            "TELNETCONSOLE_ENABLED": False,
        }})
        process.crawl(One)
        process.crawl(Two)
        process.start()
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        cwd=tmp_path,
        env={**environment(), "PYTHONPATH": str(HERE.parent)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "Traceback" not in done.stderr, done.stderr
    signatures = []
    for name in dictionaries:
        given = Config.from_settings({"SIMDEDUP_USER_DICT": str(tmp_path / f"{name}.txt")})
        expected = analyse(Source((page(text),)), Recipe(shape=Shape(user_dict=given.user_dict)))
        with sqlite3.connect(tmp_path / f"{name}.db") as connection:
            row = connection.execute("SELECT terms, signature FROM pages").fetchone()
            (settings,) = connection.execute("SELECT settings FROM runs").fetchone()
        assert (row[0], unpack(row[1])) == (expected.terms, expected.signature)
        assert str(tmp_path / f"{name}.txt") in json.loads(settings)["SIMDEDUP_USER_DICT"]
        signatures.append(expected.signature["simhash"])
    plain = analyse(Source((page(text),)), Recipe())
    assert len({*signatures, plain.signature["simhash"]}) == 3


def test_a_worker_loads_its_dictionary_before_its_first_page(tmp_path: Path) -> None:
    """That takes seconds on a busy machine, which must not count as work on a page."""
    given = written(tmp_path / "words.txt", LONGER)
    recipe = Recipe(min_terms=1, shape=Shape(user_dict=given))
    with subprocess.Popen(
        [sys.executable, "-m", "scrapy_simdedup.workers"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(HERE.parent)},
    ) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        pickle.dump(recipe, worker.stdin)
        worker.stdin.flush()
        assert pickle.load(worker.stdout) == (False, None)
        Path(given.path).unlink()
        pickle.dump((Source(text=(RUN,)), recipe), worker.stdin)
        worker.stdin.flush()
        failed, analysis = pickle.load(worker.stdout)
        assert not failed, analysis
        # Two words; the third one is a stop word.
        assert analysis.terms == 2
        worker.stdin.close()
