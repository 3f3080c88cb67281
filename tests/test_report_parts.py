"""The report's parts by themselves: advice, close calls, differences, plots, words."""

from __future__ import annotations

import ast
import re
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from in_code import OTHER_REASONS
from logged import copy, decision, fill, near
from scrapy_simdedup.crawl import guard
from scrapy_simdedup.logs.export import reading
from scrapy_simdedup.logs.measures import DISTANCE, RESEMBLANCE, Bins
from scrapy_simdedup.report import diff, meanings
from scrapy_simdedup.report.advice import Answer, limit_right
from scrapy_simdedup.report.close import CloseCalls, close_calls
from scrapy_simdedup.report.counts import Run, Tally
from scrapy_simdedup.report.data import collect
from scrapy_simdedup.report.diff import MOST_TOKENS, difference
from scrapy_simdedup.report.log import host_of, snapshot
from scrapy_simdedup.report.nearness import MEASURES, Histogram
from scrapy_simdedup.report.plots import histogram_plot
from scrapy_simdedup.report.stacks import run_ticks, stacked_plot, time_ticks
from scrapy_simdedup.report.summary import headline
from scrapy_simdedup.report.times import Slice
from scrapy_simdedup.report.words import duration, plural, share, visible
from texts import chinese, reworded, story
from written import code, read, table

Row = dict[str, Any]


# Differences


def sides(left: str, right: str) -> tuple[str, str]:
    """Return what the left and the right column show of two texts."""
    rows = ["", ""]
    for row in difference(left, right).rows:
        for side in (0, 1):
            shown = (piece if isinstance(piece, str) else piece[side] for piece in row)
            rows[side] += "".join(shown) + "\n"
    return rows[0], rows[1]


words = st.lists(
    st.sampled_from(
        ["a", "the", "river", "Brücke", "it's", "老巷子", "สวัสดี", ".", "3.5", "🔥", "\u0301"]
    ),
    max_size=40,
)
spaced = st.tuples(words, st.sampled_from([" ", "\n", "", "\n\n  "])).map(
    lambda drawn: drawn[1].join(drawn[0])
)


@settings(deadline=None)
@given(spaced | st.text(max_size=60), spaced | st.text(max_size=60))
def test_each_side_shows_its_whole_text(left: str, right: str) -> None:
    shown = sides(left, right)
    for side, text in zip(shown, (left, right), strict=True):
        assert "".join(side.split()) == "".join(text.split())


@settings(deadline=None)
@given(spaced)
def test_a_text_does_not_differ_from_itself(text: str) -> None:
    for other in (text, " ".join(text.split()), text.replace(" ", "\n")):
        pieces = [piece for row in difference(text, other).rows for piece in row]
        assert all(isinstance(piece, str) for piece in pieces)


@pytest.mark.parametrize(
    ("left", "right", "rows"),
    [
        ("One two three.", "One 2 three.", [["One", (" two", " 2"), " three."]]),
        ("Same.\n\nOld end.", "Same. New end.", [["Same."], [("Old", "New"), " end."]]),
        ("A b.\n\nC d.", "A x.\n\nC d.", [["A", (" b", " x"), "."], ["C d."]]),
        ("A b. C d.", "A b.\n\nC d.", [["A b."], ["C d."]]),
        ("今天天气好", "今天天气很好", [["今天天气", ("", "很"), "好"]]),
        ("it's 3.5%", "it's 3.6%", [["it's 3.", ("5", "6"), "%"]]),
        ("", "new", [[("", "new")]]),
        ("", "", []),
    ],
)
def test_differences(left: str, right: str, rows: list[Any]) -> None:
    assert difference(left, right).rows == rows


def test_little_words_in_common_are_no_likeness() -> None:
    changed = [row for row in difference(story(1), story(2)).rows for piece in row]
    assert len(changed) < 20


def test_a_reworded_text_keeps_its_paragraphs_side_by_side() -> None:
    text = story(1, 400)
    rows = difference(text, reworded(text, 0.1)).rows
    assert len(rows) == len(text.split("\n\n"))
    assert sum(isinstance(piece, tuple) for row in rows for piece in row) > 10


@pytest.mark.parametrize("text", [story(1, 3 * MOST_TOKENS), chinese(1, 900)])
def test_long_texts_are_cut(text: str) -> None:
    found = difference(text, text)
    assert found.cut
    assert found.rows
    assert len(sides(text, text)[0]) < len(text)


def test_endless_white_space_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diff, "_MOST_CHARACTERS", 100)
    assert sides("a" + " " * 1000 + "b", "a") == ("a\n", "a\n")


# Close calls


def calls_of(path: Path) -> CloseCalls:
    with reading(path) as connection, snapshot(connection, None):
        return close_calls(connection, 10)


def test_the_closest_pages_on_either_side(tmp_path: Path) -> None:
    rows = [
        near("far", "o", 0.1),
        near("parts", "o", 0.4),
        near("numbers", "o", 0.9),
        near("less", "o", 0.25),
        near("contained", "o", 0.9, containment=0.34),
        near("contained", "o", 0.9, containment=0.34),
        decision(url="alone"),
        copy("equal", "o", 1.0),
        copy("just", "o", 0.36),
        copy("address", "o", 0.31, method="same-page"),
        copy("words", "o", 0.01, method="keywords-1"),
    ]
    found = calls_of(fill(tmp_path / "i.db", rows))
    assert [(call.row["url"], call.why) for call in found.calls] == [
        ("contained", "containment 0.34, at least 0.35 asked"),
        ("parts", "alike enough, but with too many parts, numbers or names of its own"),
        ("less", "containment 0.25, at least 0.35 asked"),
        ("just", "containment 0.36, at least 0.35 asked"),
    ]
    assert (found.outside, found.inside) == (2, 1)


def test_each_run_has_limits_of_its_own(tmp_path: Path) -> None:
    rows = [near("kept", "o", 0.55), copy("copy", "o", 0.65)]
    path = fill(tmp_path / "i.db", rows)
    assert not calls_of(path).calls
    fill(path, rows, min_resemblance=0.6)
    found = calls_of(path)
    assert [call.why for call in found.calls] == [
        "resemblance 0.55, at least 0.6 asked",
        "resemblance 0.65, at least 0.6 asked",
    ]
    assert (found.outside, found.inside) == (1, 1)


@pytest.mark.parametrize(
    "given_settings",
    [{"min_resemblance": 0, "min_containment": 0}, {"methods": ["classic"]}],
)
def test_without_verification_bits_are_close(given_settings: Row, tmp_path: Path) -> None:
    method = given_settings.get("methods", ["simhash"])[0]
    rows = [
        *(near(f"kept-{bits}", "o", 0.2, distance=bits) for bits in (4, 5, 9, 30)),
        *(copy(f"copy-{bits}", "o", 0.2, distance=bits, method=method) for bits in (0, 2, 3)),
    ]
    found = calls_of(fill(tmp_path / "i.db", rows, **given_settings))
    assert [call.row["url"] for call in found.calls] == [
        *("kept-4", "kept-5", "kept-9"),
        *("copy-3", "copy-2"),
    ]
    assert found.calls[0].why == "4 bits, 3 allowed"
    assert (found.outside, found.inside) == (2, 1)


def test_methods_that_measure_otherwise_have_no_close_calls(tmp_path: Path) -> None:
    path = fill(tmp_path / "i.db", [near("kept", "o", 0.29)], methods=["keywords", "piecewise"])
    assert not calls_of(path).calls


# Advice


def answer(rows: list[Row], tmp_path: Path, **given_settings: Any) -> Answer:
    path = fill(tmp_path / "i.db", rows, **given_settings)
    with reading(path) as connection:
        report = collect(connection, "i.db", None)
    return limit_right(report.histograms[0], report.calls, report.in_force)


def heap(kind: Any, alike: float, count: int, **values: Any) -> list[Row]:
    return [kind(f"{kind.__name__}-{alike}-{at}", "o", alike, **values) for at in range(count)]


@pytest.mark.parametrize(
    ("rows", "given_settings", "state", "title", "told"),
    [
        ([], {}, "unsure", "Nothing to tell by yet", "No page came near"),
        (heap(copy, 0.9, 20), {}, "unsure", "Few to tell by", "Only 20 pages"),
        (heap(copy, 0.9, 60), {}, "good", "Copies stand apart", "Nothing lies close"),
        (heap(copy, 0.36, 60), {}, "look", "Copies stand apart", "0 kept and 60 copies"),
        (heap(near, 0.1, 60), {}, "good", "No copies found", "Nothing lies close"),
        (heap(near, 0.29, 60), {}, "look", "No copies found", "60 kept and 0 copies"),
        (
            heap(near, 0.12, 40) + heap(copy, 0.83, 40),
            {},
            "good",
            "The limit lies in the gap",
            "Between a resemblance of 0.15 and 0.8 lies no page, and there is the limit, 0.3.",
        ),
        (
            heap(near, 0.12, 40) + heap(near, 0.8, 20) + heap(copy, 0.93, 40),
            {"min_resemblance": 0.9},
            "look",
            "The limit may be off",
            "SIMDEDUP_MIN_RESEMBLANCE = 0.475",
        ),
        (
            [
                *heap(near, 0.05, 25),
                *heap(near, 0.25, 25),
                *heap(copy, 0.4, 25),
                *heap(copy, 0.3, 25),
            ],
            {},
            "look",
            "There is no clear gap",
            "not clearly apart",
        ),
        (
            heap(near, 0.1, 40, distance=28) + heap(copy, 0.8, 40, distance=1),
            {"min_resemblance": 0, "min_containment": 0},
            "good",
            "The limit lies in the gap",
            "Between 1 and 28 bits lies no page",
        ),
        (
            heap(near, 0.1, 40, distance=28, max_distance=40)
            + heap(copy, 0.8, 40, distance=1, max_distance=40),
            {"methods": ["classic"]},
            "look",
            "The limit may be off",
            "the limit, 40, is elsewhere.",
        ),
        (
            heap(near, 0.12, 40) + heap(copy, 0.83, 40),
            {"min_resemblance": 0},
            "good",
            "The limit lies in the gap",
            "Between a containment of 0.15 and 0.8 lies no page, and there is the limit, 0.35.",
        ),
        (
            heap(copy, 0.9, 60),
            {"methods": ["keywords"]},
            "unsure",
            "The log cannot tell",
            "does not measure",
        ),
    ],
)
def test_is_the_limit_right(
    rows: list[Row], given_settings: Row, state: str, title: str, told: str, tmp_path: Path
) -> None:
    found = answer(rows, tmp_path, **given_settings)
    assert (found.state, found.title) == (state, title)
    assert told in found.text
    # The limits of ``classic`` cannot be set.
    assert ("Try" in found.text) == ("SIMDEDUP" in told)


# Plots


@given(
    st.sampled_from(MEASURES),
    st.lists(st.integers(0, 10**6), min_size=130, max_size=130),
    st.lists(st.integers(0, 64), max_size=3, unique=True),
    st.booleans(),
)
def test_histograms_stay_in_their_frame(
    measure: Any, counts: list[int], limits: list[int], decides: bool
) -> None:
    bins = Bins(counts[: measure.bins], counts[-measure.bins :])
    units = [limit * measure.scale // 64 for limit in limits]
    plot = histogram_plot(Histogram(measure, bins, units, decides))
    filled = [count for count in (*bins.kept, *bins.copies) if count]
    assert len(plot.bars) == len(filled)
    for bar in plot.bars:
        assert 0 <= bar.x <= bar.x + bar.width <= 100.001
        assert 0 <= bar.y <= bar.y + bar.height <= plot.height
        assert (bar.y + bar.height <= plot.base) == (bar.kind == "kept")
    for label in (*plot.ticks, *plot.limits):
        assert 0 <= label.at <= 100
    assert all(0 <= level.at <= plot.height for level in plot.levels)
    names = [limit.text for limit in plot.limits if limit.text]
    # One name, that has room on a phone.
    assert len(names) == bool(plot.limits)
    assert all(len(name) < 36 for name in names)


@pytest.mark.parametrize(
    ("measure", "limit", "at"), [(RESEMBLANCE, 3000, 30.0), (MEASURES[2], 3, 400 / 65)]
)
def test_a_limit_is_drawn_between_what_is_near_and_what_is_not(
    measure: Any, limit: int, at: float
) -> None:
    bins = Bins([0] * measure.bins, [0] * measure.bins)
    near_bin, far_bin = (limit, limit + 1) if measure is not RESEMBLANCE else (6, 5)
    bins.copies[near_bin], bins.kept[far_bin] = 1, 1
    plot = histogram_plot(Histogram(measure, bins, [limit], decides=True))
    (line,) = plot.limits
    assert line.at == pytest.approx(at)
    for bar in plot.bars:
        left = bar.x + bar.width <= line.at
        assert left == ((bar.kind == "copies") != measure.rising)
        assert left or bar.x >= line.at
    assert DISTANCE.column == MEASURES[2].column


@given(
    st.lists(st.tuples(*[st.integers(0, 10**6)] * 3), min_size=1, max_size=60),
    st.sampled_from([0.001, 0.5, 1, 60, 7200, 86_400]),
)
def test_stacks_stay_in_their_frame(counts: list[tuple[int, int, int]], width: float) -> None:
    slices = [Slice(at, *each) for at, each in enumerate(counts)]
    for ticks in (run_ticks(slices), time_ticks(slices, width)):
        assert 1 <= len(ticks) <= 11
        assert all(0 <= tick.at <= 100 for tick in ticks)
        plot = stacked_plot("title", slices, lambda each: f"{each.start}", ticks, "slice")
        for bar in plot.bars:
            assert 0 <= bar.x <= bar.x + bar.width <= 100.001
            # Bars of next to nothing can still be seen, so a stack may grow a little.
            assert bar.y >= -2
            assert bar.y + bar.height <= plot.base + 0.001


# Words


@pytest.mark.parametrize(
    ("given_text", "shown"),
    [
        ("https://a.example/ü?燈=1", "https://a.example/ü?燈=1"),
        ("a\u202egpj.exe\0\n", "a<U+202E>gpj.exe<U+0000><U+000A>"),
        ("\ud800\u200b\ufeff\u2066", "<U+D800><U+200B><U+FEFF><U+2066>"),
    ],
)
def test_hidden_characters_are_shown(given_text: str, shown: str) -> None:
    assert visible(given_text) == shown
    assert visible(shown) == shown


@given(st.integers(0, 10**7), st.integers(0, 10**7))
def test_shares_are_never_rounded_to_nothing_or_all(one: int, other: int) -> None:
    part, whole = sorted((one, other))
    shown = share(part, whole)
    assert (shown == "0%") == (part == 0)
    assert (shown == "100%") == (part == whole > 0)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        *((0, "0 s"), (0.02, "20 ms"), (1.94, "1.9 s"), (59.6, "1 min"), (200, "3 min 20 s")),
        *((7260, "2 h 1 min"), (90_000, "1 d 1 h"), (86_400 * 40, "40 d"), (-3, "0 s")),
    ],
)
def test_durations(seconds: float, shown: str) -> None:
    assert duration(timedelta(seconds=seconds)) == shown


def test_numbers_and_their_nouns() -> None:
    assert plural(1, "copy") == "1 copy"
    assert plural(1234, "copy") == "1,234 copies"
    assert plural(0, "page") == "0 pages"


@pytest.mark.parametrize(
    ("counts", "told"),
    [
        ({"unique": 388, "duplicate": 212, "skipped": 9}, "212 of 600 pages were copies"),
        ({"unique": 1, "duplicate": 1}, "1 of 2 pages was a copy"),
        ({"duplicate": 1}, "1 of 1 page was a copy"),
        ({"unique": 2}, "None of 2 pages was a copy"),
        ({"unique": 1}, "The only page was no copy"),
        ({"skipped": 7}, "No page was judged"),
    ],
)
def test_headlines(counts: dict[str, int], told: str) -> None:
    tally = Tally()
    tally.counts.update(counts)
    assert headline("page", tally) == told


def test_a_run_that_died_has_no_length() -> None:
    run = Run(1, "news", None, None, "died", {}, {}, Tally())
    assert run.took is None


@pytest.mark.parametrize(
    ("url", "host"),
    [("https://A.example:8/x", "a.example"), ("pages/a.html", ""), ("http://[", ""), ("", "")],
)
def test_hosts(url: str, host: str) -> None:
    assert host_of(url) == host


@given(
    st.sampled_from(["http://", "https://", "HTTP://", "httpx://", "http:", "//", "x:", ""]),
    st.text("a.@:/?#[\u71c8 ", max_size=12),
)
def test_hosts_in_sql_are_the_same(scheme: str, rest: str) -> None:
    url = scheme + rest
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.execute("CREATE TABLE decisions (url TEXT)")
        with snapshot(connection, None):
            row = connection.execute("SELECT host_of(CAST(? AS BLOB)), host_of(NULL)", (url,))
            assert row.fetchone() == (host_of(url), "")


def test_every_reason_has_its_meaning() -> None:
    rows = table(read("README.md"), "reason in a scan")
    scanned = {name for row in rows for name in re.findall(r"`([a-z-]+)`", row[0])}
    assert len(scanned) > 5
    assert guard.LOGGED | OTHER_REASONS | scanned == meanings.SKIPPED.keys()
    package = Path(guard.__file__).parents[1]
    constants = {
        node.value
        for path in package.rglob("*.py")
        if "report" not in path.relative_to(package).parts
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert meanings.DOUBTFUL.keys() <= constants
    doubts = table(read("README.md"), "reason of a duplicate")
    assert {code(reason) for reason, _ in doubts} == set(meanings.DOUBTFUL)
