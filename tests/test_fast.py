"""The extra ``fast``: rjieba answers as jieba does, and resiliparse extracts as carefully."""

from __future__ import annotations

import logging
import random
import re
import sys
import time
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jieba
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scrapy_simdedup import ConfigError, Deduplicator
from scrapy_simdedup.analysis import extract_with
from scrapy_simdedup.config import Config
from scrapy_simdedup.identity import identity_of, versions
from scrapy_simdedup.text import chinese, fast_extract, fast_segment
from scrapy_simdedup.text.normalise import normalise
from scrapy_simdedup.text.word_graph import WordGraph
from texts import chinese as chinese_story
from texts import page, story


@lru_cache(maxsize=1)
def of_jieba() -> fast_segment.Cut:
    tokenizer = chinese._load_jieba()
    return lambda run: list(tokenizer.cut(run, HMM=False))


@lru_cache(maxsize=1)
def of_rjieba() -> fast_segment.Cut:
    cut = fast_segment.load(chinese.dictionary_digest())
    assert cut is not None
    return cut


@lru_cache(maxsize=1)
def of_graph() -> fast_segment.Cut:
    tokenizer = chinese._load_jieba()
    return WordGraph(tokenizer.FREQ, tokenizer.total).cut


@lru_cache(maxsize=1)
def words() -> list[str]:
    """Return the words of jieba's dictionary that are all Han."""
    lines = Path(jieba.__file__).with_name("dict.txt").read_text(encoding="utf-8").splitlines()
    found = [line.split(" ")[0] for line in lines]
    return [word for word in found if re.fullmatch("[\u4e00-\u9fd5]+", word)]


# In jieba's own block, behind it, in extensions, compatibility forms, and what is Han besides.
HAN = st.one_of(
    st.characters(min_codepoint=0x4E00, max_codepoint=0x9FD5),
    st.characters(min_codepoint=0x9FD6, max_codepoint=0x9FFF),
    st.characters(min_codepoint=0x3400, max_codepoint=0x4DBF),
    st.characters(min_codepoint=0x20000, max_codepoint=0x2A6DF),
    st.characters(min_codepoint=0x30000, max_codepoint=0x3134A),
    st.characters(min_codepoint=0xF900, max_codepoint=0xFA6D),
    st.sampled_from("々〇〻〡的一是"),
)
WORD = st.builds(lambda at: words()[at % len(words())], st.integers(0, 1 << 20))


@settings(max_examples=400, deadline=None)
@given(st.lists(st.one_of(WORD, WORD, WORD, HAN), max_size=60).map("".join))
@example("㐀𠀀々〇")
@example("圖書館旁邊的氣象站")
def test_all_answer_as_jieba_does(run: str) -> None:
    expected = of_jieba()(run)
    assert of_rjieba()(run) == expected
    assert of_graph()(run) == expected


def test_all_break_ties_as_jieba_does() -> None:
    import rjieba

    # A doubled character and the same once more can be cut in two ways that are equally likely:
    # in long runs the last bits of sums of logarithms decide.
    pick = random.Random("ties")
    doubled = [word + word[0] for word in words() if len(word) == 2 and word[0] == word[1]]
    runs = [
        "".join(pick.choice((pick.choice(doubled), pick.choice(words()))) for _ in range(length))
        for length in range(10, 160)
    ]
    for run in runs:
        assert of_rjieba()(run) == of_graph()(run) == of_jieba()(run)
    assert any(rjieba.cut(run, hmm=False) != of_jieba()(run) for run in runs)


def test_the_probes_are_cut_as_jieba_does() -> None:
    for terms in fast_segment.probes():
        assert of_jieba()("".join(terms)) == terms


def test_the_probes_know_another_total_of_frequencies() -> None:
    import rjieba

    plain = rjieba.Jieba()
    runs = ["".join(terms) for terms in fast_segment.probes()]
    assert [plain.cut(run, hmm=False) for run in runs] != fast_segment.probes()


def test_a_word_of_somebody_else_changes_nothing() -> None:
    import rjieba

    run = "修表师傅住在图书馆旁边"
    before = of_rjieba()(run)
    rjieba.add_word("师傅住在", 10**6, "n")
    try:
        assert rjieba.cut(run, hmm=False) != before
        assert of_rjieba()(run) == before
    finally:
        rjieba.add_word("师傅住在", 0, "n")


def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chinese, "_cuts", {})


def test_rjieba_is_used_where_it_is_installed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fresh(monkeypatch)
    monkeypatch.setattr(chinese, "_load_jieba", lambda: pytest.fail("jieba was loaded"))
    assert chinese.cut("图书馆旁边的气象站") == ["图书馆", "旁边", "的", "气象站"]
    assert chinese.loaded()
    assert caplog.records == []


class Letters:
    """Stand in for a version with another dictionary."""

    def add_word(self, word: str, freq: int, tag: str) -> int:
        return freq

    def cut(self, text: str, hmm: bool = True) -> list[str]:
        return list(text)


class Old(Letters):
    """Stand in for a version without what is called."""

    add_word = None  # type: ignore[assignment]


def shifted() -> Any:
    import rjieba

    class Shifted(Letters):
        def __init__(self) -> None:
            self.real = rjieba.Jieba()

        def add_word(self, word: str, freq: int, tag: str) -> int:
            return int(self.real.add_word(word, freq + 3, tag))

        def cut(self, text: str, hmm: bool = True) -> list[str]:
            return list(self.real.cut(text, hmm=hmm))

    return Shifted


@pytest.mark.parametrize("kind", ["letters", "old", "shifted"])
def test_another_version_is_not_used_silently(
    kind: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made = {"letters": Letters, "old": Old}.get(kind) or shifted()
    fresh(monkeypatch)
    monkeypatch.setitem(sys.modules, "rjieba", SimpleNamespace(Jieba=made))
    for text in ("图书馆旁边的气象站", "渔民修补渔网"):
        assert chinese.cut(text) == of_jieba()(text)
    (told,) = caplog.records
    assert told.levelno == logging.WARNING
    assert "rjieba is not used" in told.getMessage()


def test_with_another_dictionary_jieba_is_asked(caplog: pytest.LogCaptureFixture) -> None:
    assert fast_segment.load("0" * 16) is None
    (told,) = caplog.records
    assert "another dictionary" in told.getMessage()


def test_without_rjieba_jieba_answers_and_nothing_is_said(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fresh(monkeypatch)
    monkeypatch.setitem(sys.modules, "rjieba", None)
    assert chinese.cut("图书馆旁边的气象站") == ["图书馆", "旁边", "的", "气象站"]
    assert caplog.records == []


def test_the_identity_is_the_same_with_rjieba_and_tells_the_extractor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fast = Config.from_settings({"SIMDEDUP_EXTRACTOR": "resiliparse"})
    assert identity_of(fast)["extractor"] == "resiliparse"
    assert {"rjieba", "resiliparse"} <= versions().keys()
    with_it = identity_of(Config())
    monkeypatch.setitem(sys.modules, "rjieba", None)
    assert identity_of(Config()) == with_it


def fast(html: str) -> Any:
    return extract_with(html, "resiliparse")


@pytest.mark.parametrize("template", ["plain", "wire"])
@pytest.mark.parametrize("text", [story(61), chinese_story(61)], ids=["English", "Chinese"])
def test_resiliparse_gives_the_paragraphs_and_no_frame(template: str, text: str) -> None:
    found = fast(page(text, "A quiet day", template, links=["/tides", "/ferries"]))
    assert normalise(found.text).removeprefix("a quiet day ") == normalise(text)
    assert found.doubt.reason is None


def test_copies_are_found_across_templates(tmp_path: Path) -> None:
    with Deduplicator(tmp_path / "index.db", {"SIMDEDUP_EXTRACTOR": "resiliparse"}) as dedup:
        assert dedup.check("https://a.example/", html=page(story(62))).status == "unique"
        copy = dedup.check("https://b.example/", html=page(story(62), template="wire"))
        assert (copy.status, copy.original) == ("duplicate", "https://a.example/")
        assert dedup.check("https://c.example/", html=page(story(63))).status == "unique"


def test_a_missing_resiliparse_is_told_with_the_way_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "resiliparse", None)
    with pytest.raises(ConfigError, match=r"pip install scrapy-simdedup\[fast\]"):
        Config.from_settings({"SIMDEDUP_EXTRACTOR": "resiliparse"})


NOTICE = "We and our partners store small files on your device to count visits. " * 8
# Each is found in a way of its own by the pattern of text/doubt.py.
NOTICES = [
    'div id="cookie-bar"',
    'div class="x CookieLayer"',
    'section class="consent"',
    'aside id="GDPR"',
    'div id="onetrust-banner-sdk"',
    'div id="didomi-host"',
    'div id="usercentrics-root"',
    'div class="truste_overlay"',
    'dialog class="privacybanner"',
    'form class="privacy-notice"',
    'div id="privacy-overlay"',
]


@pytest.mark.parametrize("opening", NOTICES)
@pytest.mark.parametrize("others", [0, 30], ids=["alone", "among many"])
def test_consent_notices_are_taken_out(opening: str, others: int) -> None:
    name = opening.split(maxsplit=1)[0]
    notice = f"<{opening}><p>{NOTICE}</p></{name}>"
    more = f'<div class="cookie">{NOTICE}</div>' * others
    article = "".join(f"<p>{part}</p>" for part in story(64).split("\n\n"))
    html = f"<html><body>{notice}{more}<div>{article}</div></body></html>"
    assert "partners" not in fast(html).text
    assert normalise(story(64)) in normalise(fast(html).text)
    assert extract_with(html, "trafilatura").text.count("partners") == 0


def test_what_only_resembles_a_notice_stays() -> None:
    article = "".join(f"<p>{part}</p>" for part in story(65).split("\n\n"))
    for html in (
        f'<body><div class="cookie-recipes"><h1>Oats</h1>{article}</div></body>',
        f'<body><div class="cookie-recipes">{article * 4}</div></body>',
        f'<body><div class="privacy-blog">{article}</div></body>',
    ):
        assert normalise(story(65).split("\n\n")[0]) in normalise(fast(html).text)


def test_doubts_hold_for_little_text() -> None:
    rest = "".join(f"<p>{part}</p>" for at in range(5) for part in story(70 + at).split("\n\n"))
    found = fast(
        "<html><body><main><article><p>The ferry is late today, says the harbour.</p></article>"
        f'</main><div class="sidebar">{rest}</div></body></html>'
    )
    assert found.text == "The ferry is late today, says the harbour."
    assert found.doubt.reason == "little-text"
    assert found.doubt.prose


def test_doubts_hold_for_links() -> None:
    sentences = [part for part in story(66).split(".") if len(part) > 30]
    links = "".join(f'<p><a href="/{at}">{part}</a></p>' for at, part in enumerate(sentences))
    found = fast(f"<html><body><main><article>{links}</article></main></body></html>")
    assert found.doubt.reason == "links"


def test_doubts_hold_for_other_text(tmp_path: Path) -> None:
    notice = "".join(f"<p>{part}</p>" for part in story(67, 60).split("\n\n"))
    menu = "".join(f"<li><a href='/{name}'>{name}</a></li>" for name in story(68, 60).split()[:20])

    def framed(seed: int) -> str:
        prose = "".join(f"<p>{part}</p>" for part in story(seed, 150).split("\n\n"))
        return (
            f"<html><body><nav><ul>{menu}</ul></nav><main><article>{notice}</article></main>"
            f'<div class="sidebar">{prose}</div></body></html>'
        )

    with Deduplicator(tmp_path / "index.db", {"SIMDEDUP_EXTRACTOR": "resiliparse"}) as dedup:
        assert dedup.check("https://a.example/1", html=framed(80)).status == "unique"
        second = dedup.check("https://a.example/2", html=framed(81))
        assert (second.status, second.reason) == ("duplicate", "other-text")


TEXT = " ".join(story(69).split())
HOSTILE = {
    "empty": "",
    "blank": " \n\t",
    "NUL": page(TEXT.replace(" ", "\0 ", 9)),
    "lone surrogates": page(TEXT.replace("a", "a\ud83d", 9) + "\udc00"),
    "references to nothing": page(TEXT).replace(". ", ".&#0; &#xD800;&#x110000; "),
    "deep": f"<html><body>{'<div>' * 100_000}<p>{TEXT}</p>{'</div>' * 100_000}</body></html>",
    "deep, never closed": f"<html><body>{'<div><b>' * 50_000}{TEXT}",
    "deep lists": "<ul><li>a" * 20_000 + TEXT,
    "deep tables": "<table><tr><td>a" * 20_000 + TEXT,
    "inline tags": f"<article><p>{'<b>oar</b> <i>reef mast</i> ' * 20_000}</p></article>",
    "inline tags, never closed": f"<p>{'<b><i>oar ' * 20_000}",
    "many notices": f"{'<div class=cookie>oar</div>' * 20_000}<p>{TEXT}</p>",
    "notices in notices": f"{'<div class=cookie>' * 590}<p>{TEXT}</p>",
    "many attributes": f"<div {'a=1 ' * 100_000}><p>{TEXT}</p></div>",
    "frames": "<frameset><frame src=a></frameset>",
    "open comment": f"<p>{TEXT}</p>" + "<!--" * 50_000,
    "no HTML": "\x89PNG\r\n\x1a\n" + "\x01\x02" * 5000,
}


@pytest.mark.parametrize("html", HOSTILE.values(), ids=HOSTILE)
def test_hostile_pages_raise_nothing_and_end_soon(html: str) -> None:
    started = time.process_time()
    found = fast(html)
    assert time.process_time() - started < 5
    found.text.encode("utf-8")


def test_broken_characters_do_not_cut_the_text() -> None:
    plain = fast(page(TEXT)).text
    assert TEXT in plain
    assert fast(HOSTILE["NUL"]).text == fast(HOSTILE["lone surrogates"]).text == plain


def test_the_depth_of_ordinary_pages_is_no_reason() -> None:
    at_most = fast_extract._DEEPEST - 10
    html = f"<html><body>{'<div>' * at_most}<p>{TEXT}</p></body></html>"
    assert TEXT in fast(html).text
