"""``scrapy simdedup explain``: what it says of two pages, and that a crawl would agree."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

import pytest
from scrapy.exceptions import UsageError
from scrapy.settings import Settings

from archives import compressed, http, record
from scrapy_simdedup import Deduplicator
from scrapy_simdedup.analysis import Source, analyse
from scrapy_simdedup.commands import explain as command
from scrapy_simdedup.exceptions import IndexUnusable
from scrapy_simdedup.logs.sides import NotFound, NotKept
from test_command import simdedup
from texts import chinese, page, reworded, story

TEXT = story(1)
NEAR = reworded(TEXT, 0.1)
WIDE = f"{story(2, 400)}\n\n{TEXT}"
PAGES = {
    "kept": page(TEXT),
    "copy": page(TEXT, template="wire"),
    "near": page(NEAR, template="wire"),
    "wrapped": page(WIDE),
    "far": page(story(3)),
    "tiny": page("Nothing much was said in the village hall."),
    "empty": "<html><body></body></html>",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, html in PAGES.items():
        (tmp_path / f"{name}.html").write_text(html, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Explain:
    """Calls the subcommand in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str, **settings: Any) -> str:
        parser = argparse.ArgumentParser()
        command.add_parser(parser.add_subparsers())
        opts = parser.parse_args(["explain", *arguments])
        values = {f"SIMDEDUP_{name.upper()}": value for name, value in settings.items()}
        opts.function(opts, Settings(values, priority="cmdline"))
        out, self.said = self._capsys.readouterr()
        return out

    def json(self, *arguments: str, **settings: Any) -> dict[str, Any]:
        found = json.loads(self(*arguments, "--json", **settings))
        assert isinstance(found, dict)
        return found


@pytest.fixture
def explain(folder: Path, capsys: pytest.CaptureFixture[str]) -> Explain:
    return Explain(capsys)


def test_a_near_duplicate_is_explained(explain: Explain) -> None:
    shown = explain("kept.html", "near.html")
    assert "B is judged as the new page against A as the kept one." in shown
    rows = dict(re.findall(r"^([\w ]+?)  +(.+)$", shown, re.MULTILINE))
    assert set(rows) >= {
        "characters",
        "terms",
        "distinct terms",
        "keywords of A",
        "keywords of B",
        "text",
        "distance in bits",
        "resemblance",
        "containment of B in A",
        "containment of A in B",
        "new parts of B",
        "shared segments",
        "numbers of B in A",
        "names of B in A",
        "method simhash",
        "method sketch",
        "proposed by",
    }
    assert rows["text"] == "differs"
    assert rows["method sketch"] == "yes"
    assert rows["new parts of B"].split("  ")[0] == "0 of 8"
    assert rows["resemblance"].endswith("at least 0.3")
    assert rows["shared segments"].endswith("(16 of 32)")
    assert "doubtful" not in shown
    assert "\nverdict: duplicate by simhash\n" in shown
    assert re.search(r"^SIMDEDUP_MIN_RESEMBLANCE = 0\.\d+ would keep both$", shown, re.MULTILINE)


@pytest.mark.parametrize("name", ["copy", "near", "wrapped", "far"])
@pytest.mark.parametrize(
    "methods", ["simhash,sketch", "simhash", "piecewise", "keywords", "classic"]
)
def test_a_crawl_agrees(name: str, methods: str, folder: Path, explain: Explain) -> None:
    settings = {"SIMDEDUP_METHODS": methods}
    with Deduplicator(folder / "i.db", settings) as dedup:
        dedup.check("https://a.example/", html=PAGES["kept"])
        verdict = dedup.check("https://b.example/", html=PAGES[name])
    found = explain.json("kept.html", f"{name}.html", methods=methods)
    assert (found["verdict"], found["method"]) == (verdict.status, verdict.method)
    if verdict.resemblance is not None:
        measures = found["measures"]
        assert measures["distance"] == verdict.distance
        assert measures["resemblance"] == pytest.approx(verdict.resemblance, abs=1e-4)
        assert measures["containment"] == pytest.approx(verdict.containment, abs=1e-4)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("near", {}),
        ("near", {"min_resemblance": 0.9}),
        ("wrapped", {}),
        ("copy", {"min_containment": 0.2}),
        ("near", {"methods": "simhash", "min_resemblance": 0.2}),
        ("near", {"methods": "piecewise"}),
        ("copy", {"methods": "piecewise"}),
        ("copy", {"methods": "keywords-4"}),
    ],
)
def test_each_change_changes_the_verdict_and_a_step_less_does_not(
    name: str, settings: dict[str, Any], explain: Explain
) -> None:
    found = explain.json("kept.html", f"{name}.html", **settings)
    for change in found["changes"]:
        short, value = change["setting"].removeprefix("SIMDEDUP_").lower(), change["value"]
        changed = explain.json("kept.html", f"{name}.html", **settings | {short: value})
        assert changed["verdict"] == change["verdict"] != found["verdict"]
        back = 1 if change["verdict"] == "duplicate" else -1
        if short in ("max_distance", "keyword_distance"):
            back = -back
        step: Any = value + back * 0.01 if isinstance(value, float) else None
        step = value + back if isinstance(value, int) else step
        step = [value[0], value[1] + back] if isinstance(value, list) else step
        less = explain.json("kept.html", f"{name}.html", **settings | {short: step})
        assert less["verdict"] == found["verdict"]


def test_one_limit_is_named_that_would_make_a_duplicate(explain: Explain) -> None:
    shown = explain("kept.html", "near.html", min_resemblance=0.9)
    assert "verdict: not a duplicate\n" in shown
    would = r"^SIMDEDUP_MIN_RESEMBLANCE = 0\.\d+ would make it a duplicate$"
    assert re.search(would, shown, re.MULTILINE)
    assert "no single limit would change that" in explain("kept.html", "far.html")


def test_the_guard_on_numbers_and_names_is_told(folder: Path, explain: Explain) -> None:
    for name, number in (("one", "2,417"), ("two", "9,983")):
        text = f"{TEXT}\n\nThe harbour counted {number} boats."
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    assert "duplicate by simhash" in explain("one.txt", "two.txt", methods="simhash")
    shown = explain("one.txt", "two.txt", methods="simhash", numbers=0.5)
    assert "not a duplicate: too many other numbers or names" in shown
    assert "SIMDEDUP_NUMBERS = 0.0 would make it a duplicate" in shown


def test_what_no_method_proposes_is_no_duplicate(explain: Explain) -> None:
    # Both agree, but only the distance proposes here, and it is too narrow.
    found = explain.json("kept.html", "near.html", methods="simhash", max_distance=0)
    assert (found["verdict"], found["proposed_by"]) == ("unique", [])
    assert [change["setting"] for change in found["changes"]] == ["SIMDEDUP_MAX_DISTANCE"]


@pytest.mark.parametrize(("name", "reason"), [("tiny", "too-short"), ("empty", "no-text")])
def test_a_page_that_is_skipped_is_not_judged(name: str, reason: str, explain: Explain) -> None:
    shown = explain("kept.html", f"{name}.html")
    assert f"verdict: not judged (B is skipped: {reason})" in shown
    assert ("SIMDEDUP_MIN_TERMS = " in shown) == (reason == "too-short")
    assert explain.json("kept.html", f"{name}.html")["measures"] is None


def test_min_terms_that_would_have_both_judged(explain: Explain) -> None:
    (change,) = explain.json("kept.html", "tiny.html")["changes"]
    for value, verdict in ((change["value"], "unique"), (change["value"] + 1, "skipped")):
        assert explain.json("kept.html", "tiny.html", min_terms=value)["verdict"] == verdict


def test_a_doubtful_extraction_is_told(folder: Path, explain: Explain) -> None:
    links = "".join(f'<li><a href="/{at}">{story(at, 12)}</a></li>' for at in range(20))
    html = f"<html><body><article><ul>{links}</ul></article></body></html>"
    (folder / "list.html").write_text(html, encoding="utf-8")
    found = explain.json("list.html", "list.html")
    if found["verdict"] == "skipped":
        pytest.skip("this trafilatura extracts no lists of links")
    assert found["new"]["doubt"] == "links"
    assert "tagged and never dropped: links" in explain("list.html", "list.html")


@pytest.fixture
def index(folder: Path) -> str:
    with Deduplicator(folder / "i.db", {"SIMDEDUP_MIN_RESEMBLANCE": 0.95}) as dedup:
        for name in ("kept", "near", "wrapped", "far"):
            assert dedup.check(f"https://a.example/{name}", html=PAGES[name]).status == "unique"
        assert dedup.check("https://a.example/copy", html=PAGES["copy"]).status == "duplicate"
        dedup.check("https://a.example/tiny", html=PAGES["tiny"])
    return "i.db"


def test_a_file_against_an_indexed_page(index: str, explain: Explain) -> None:
    files = explain.json("kept.html", "near.html")
    # Those of the newest run would be others.
    arguments = ("https://a.example/kept", "near.html", "--index", index)
    found = explain.json(*arguments, min_resemblance=0.3)
    same = ("distance", "resemblance", "containment", "new_parts", "numbers", "names")
    assert {name: found["measures"][name] for name in same} == {
        name: files["measures"][name] for name in same
    }
    assert found["measures"]["estimated"] is False
    assert (found["verdict"], found["changes"]) == (files["verdict"], files["changes"])
    assert found["measures"]["containment_of_kept"] is None
    assert found["measures"]["segments"] is None
    assert found["kept"]["distinct_terms"] == files["kept"]["distinct_terms"]
    assert [found["kept"][name] for name in ("characters", "terms", "keywords")] == [None] * 3
    shown = explain(*arguments)
    assert re.search(r"^characters +not stored +\d+$", shown, re.MULTILINE)
    assert re.search(r"^keywords of A +not stored$", shown, re.MULTILINE)


@pytest.mark.parametrize("name", ["near", "wrapped", "far", "kept"])
@pytest.mark.parametrize("stored", ["both", "new"])
def test_an_indexed_new_page_is_judged_by_estimate(
    name: str, stored: str, index: str, explain: Explain
) -> None:
    kept = "https://a.example/kept" if stored == "both" else "kept.html"
    arguments = (kept, f"https://a.example/{name}", "--index", index)
    found = explain.json(*arguments, min_resemblance=0.3)
    files = explain.json("kept.html", f"{name}.html")
    assert found["measures"]["estimated"] is True
    for measure in ("resemblance", "containment"):
        assert found["measures"][measure] == pytest.approx(files["measures"][measure], abs=0.12)
    assert found["measures"]["new_parts"] is None
    assert found["verdict"] == files["verdict"]
    shown = explain(*arguments)
    assert "(estimate)" in shown
    assert ", by estimate" in shown


def test_a_method_that_the_index_does_not_store(index: str, explain: Explain) -> None:
    arguments = ("https://a.example/kept", "near.html", "--index", index)
    found = explain.json(*arguments, methods="classic")
    assert found["methods"] == {"classic": None}
    shown = explain(*arguments, methods="classic")
    assert "not a duplicate, as far as the index stores what it takes" in shown


def test_an_index_that_signs_otherwise_is_refused(index: str, explain: Explain) -> None:
    with pytest.raises(IndexUnusable, match=r"bits 64 .* 32"):
        explain("https://a.example/kept", "near.html", "--index", index, hash_bits=32)


def test_what_is_not_kept_is_said_to_be_so(index: str, explain: Explain) -> None:
    for url, said in (
        ("https://a.example/tiny", "skipped: too-short"),
        ("https://a.example/never", "neither a file nor in the index"),
        ("never.html", "neither a file nor in the index"),
    ):
        with pytest.raises(NotFound, match=said):
            explain(url, "near.html", "--index", index)


def test_what_cannot_be_read(folder: Path, explain: Explain) -> None:
    (folder / "logo.png").write_bytes(b"\x89PNG")
    (folder / "pages.jsonl").write_text('{"url": "none"}\n{"url": "https://a.example/"}\n')
    for name, error, said in (
        ("nowhere.html", NotFound, "no file nowhere.html"),
        ("logo.png", NotFound, "not-html"),
        ("pages.jsonl", UsageError, "give one of them, as pages.jsonl#URL"),
        ("pages.jsonl#https://b.example/", NotFound, "holds no page https://b.example/"),
        ("pages.jsonl#none", NotFound, "no page: no-field"),
        (".", UsageError, "folder"),
        ("https://a.example/kept", UsageError, "--index"),
    ):
        with pytest.raises(error, match=said):
            explain("kept.html", name)


def test_explain_from_a_shell(folder: Path) -> None:
    (folder / "zh.txt").write_text(chinese(1), encoding="utf-8")
    ran = simdedup(folder, "explain", "zh.txt", "zh.txt")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "duplicate by simhash" in ran.stdout
    assert simdedup(folder, "explain", "zh.txt", "nowhere.txt").returncode == 1
    assert simdedup(folder, "explain", "zh.txt").returncode == 2
    bad = simdedup(folder, "explain", "zh.txt", "zh.txt", "-s", "SIMDEDUP_NAMES=5")
    assert (bad.returncode, bad.stdout) == (1, "")


def test_a_page_of_many_in_a_file(folder: Path, explain: Explain) -> None:
    rows = [
        {"url": "https://a.example/1", "html": 7},
        {"url": "https://user:secret@a.example/1", "html": PAGES["near"]},
        {"url": "https://a.example/#2", "text": NEAR},
    ]
    (folder / "pages.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    answers = [http(PAGES["near"].encode()), http(b"", status="HTTP/1.1 404 Not Found")]
    (folder / "crawl.warc.gz").write_bytes(
        compressed(
            record("response", f"https://a.example/{at}", each) for at, each in enumerate(answers)
        )
    )
    expected = explain.json("kept.html", "near.html")
    for name in ("pages.jsonl#https://a.example/1", "crawl.warc.gz#https://a.example/0"):
        found = explain.json("kept.html", name)
        assert found["measures"] == expected["measures"]
        assert found["new"]["name"] != name
    assert explain.json("kept.html", "pages.jsonl#https://a.example/#2")["verdict"] == "duplicate"
    with pytest.raises(NotFound, match="no page: status"):
        explain("crawl.warc.gz#https://a.example/1", "near.html")


def test_a_kept_pair_shows_the_distance_and_the_limit(folder: Path, explain: Explain) -> None:
    """Two texts that look alike and are a bit too far apart for the settings of their crawl."""
    settings = {"SIMDEDUP_METHODS": ["simhash"], "SIMDEDUP_MAX_DISTANCE": 0}
    with Deduplicator(folder / "i.db", settings, spider="news") as dedup:
        for name in ("kept", "near"):
            assert dedup.check(f"https://a.example/{name}", html=PAGES[name]).status == "unique"
    arguments = ("https://a.example/kept", "https://a.example/near", "--index", "i.db")
    found = explain.json(*arguments)
    assert found["measures"]["max_distance"] == 0 < found["measures"]["distance"]
    assert found["verdict"] == "unique"
    shown = explain(*arguments)
    assert "The settings are those of run 1 (news).\n" in shown
    distance = found["measures"]["distance"]
    assert re.search(rf"^distance in bits +{distance} +at most 0 ", shown, re.MULTILINE)
    assert f"SIMDEDUP_MAX_DISTANCE = {distance} would make it a duplicate" in shown
    shown = explain(*arguments, max_distance=distance, max_distnce=1)
    assert "The settings are those of run 1 (news) and -s.\n" in shown
    assert "SIMDEDUP_MAX_DISTNCE: SIMDEDUP_MAX_DISTANCE?" in explain.said
    assert "verdict: duplicate by simhash" in shown
    # Those of a project are not asked, as bad as they may be.
    bad = Settings({"SIMDEDUP_MIN_TERMS": "many"}, priority="project")
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers())
    opts = parser.parse_args(["explain", *arguments])
    opts.function(opts, bad)


def test_a_copy_is_explained_by_the_log(folder: Path, index: str, explain: Explain) -> None:
    for names in (("kept", "copy"), ("copy", "kept")):
        shown = explain(*(f"https://a.example/{name}" for name in names), "--index", index)
        assert "A  https://a.example/kept (kept)\n" in shown
        assert "B  https://a.example/copy (new, from the log)\n" in shown
        assert re.search(r"^distance in bits +\d +at most 3 ", shown, re.MULTILINE)
        # By the settings of the run.
        assert re.search(r"^resemblance +\d\.\d\d +at least 0\.95$", shown, re.MULTILINE)
        assert re.search(r"^judged +20\d\d-\S+, run 1$", shown, re.MULTILINE)
        assert "\nverdict: duplicate by simhash\n" in shown
    # It was held against another page, or the answer cannot be told as an explanation.
    arguments = ("https://a.example/far", "https://a.example/copy", "--index", index)
    for more in ((), ("--json",)):
        with pytest.raises(NotKept, match=r"says of \S+copy: duplicate of \S+kept"):
            explain(*arguments, *more)


def test_several_rows_with_one_url(folder: Path, explain: Explain) -> None:
    url = "https://a.example/list"
    with Deduplicator(folder / "i.db") as dedup:
        for at in range(3):
            analysis = analyse(Source(text=(story(20 + at),)), dedup.recipe())
            dedup.judge(dedup.item(url, "Item", str(at)), analysis, confirm=at < 2)
        dedup.check(url, html=PAGES["kept"])
        shown = explain(url, "row:2", "--index", "i.db")
    # A page comes before items, what is settled before open claims.
    assert f"A  {url} (kept, row 4 of the index, the newest; 3 more have this URL" in shown
    assert f"B  {url} (new, row 2 of the index)" in shown
    assert "verdict: not compared: pages and items" in shown
    assert "no single limit" not in shown
    found = explain.json("row:1", "row:2", "--index", "i.db")
    assert found["verdict"] == "unique"
    assert found["kept"]["row"]["number"] == 1
    with pytest.raises(NotFound, match="row:99 is neither"):
        explain("row:1", "row:99", "--index", "i.db")


def test_an_open_claim_is_told(folder: Path, explain: Explain) -> None:
    with Deduplicator(folder / "i.db") as dedup:
        for name in ("kept", "far"):
            analysis = analyse(Source((PAGES[name],)), dedup.recipe())
            dedup.judge(dedup.page(f"https://a.example/{name}"), analysis)
        shown = explain("https://a.example/kept", "https://a.example/far", "--index", "i.db")
    assert "(kept, row 1 of the index, with an open claim)" in shown


def test_a_rest_that_differs_is_told_as_a_crawl_tells_it(folder: Path, explain: Explain) -> None:
    frame = "<html><body><div class='notice'><p>{}</p></div><aside>{}</aside></body></html>"
    pages = [frame.format(TEXT, f"<p>{story(at, 600)}</p>" * 2) for at in (31, 32)]
    for name, html in zip(("one", "two"), pages, strict=True):
        (folder / f"{name}.html").write_text(html, encoding="utf-8")
    with Deduplicator(folder / "i.db") as dedup:
        dedup.check("one", html=pages[0])
        verdict = dedup.check("two", html=pages[1])
    found = explain.json("one.html", "two.html")
    assert (found["verdict"], found["doubt"]) == (verdict.status, verdict.reason)
    assert verdict.reason == "other-text"
    assert "tagged and never dropped: other-text" in explain("one.html", "two.html")
