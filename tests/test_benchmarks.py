"""The quality benchmark: its scorer, and a run from end to end on a few made-up pages."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from texts import page, reworded, story

PROJECT = Path(__file__).resolve().parents[1]
BENCHMARKS = PROJECT / "benchmarks"
SCORE = PROJECT.parent / "shared" / "tools" / "score.py"

sys.path.insert(0, str(BENCHMARKS))

from scoring import Decision, Pairs, score  # noqa: E402


def write_set(folder: Path, pages: dict[str, str], labels: list[tuple[str, str, str]]) -> None:
    (folder / "pages").mkdir(parents=True)
    for name, html in pages.items():
        (folder / "pages" / name).write_text(html, encoding="utf-8")
    write_pairs(folder / "pairs.tsv", labels)


def write_pairs(path: Path, labels: list[tuple[str, str, str]]) -> None:
    rows = ["a\tb\tlabel\thow", *("\t".join((*row, "made-up")) for row in labels)]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Three stories, each verbatim and slightly reworded on another site; and two unrelated."""
    root = tmp_path / "corpus"
    pages: dict[str, str] = {}
    labels = []
    for seed in range(3):
        text = story(seed)
        versions = [page(text), page(text, template="wire")]
        versions.append(page(reworded(text, 0.03), template="wire"))
        names = [f"{seed}-{number}.html" for number in range(3)]
        pages.update(zip(names, versions, strict=True))
        labels += [(names[a], names[b], "duplicate") for a, b in ((0, 1), (0, 2), (1, 2))]
    write_set(root / "copies", pages, labels)
    write_set(root / "apart", {f"{seed}.html": page(story(seed)) for seed in (7, 8)}, [])
    judged = root / "human-judged"
    judged.mkdir()
    pairs: list[tuple[float, str, str]] = [
        (3, story(1), reworded(story(1), 0.02)),
        (1, story(2), story(3)),
        (0.5, story(4), story(5)),
    ]
    (judged / "pairs.jsonl").write_text(
        "".join(json.dumps({"grade": g, "text_a": a, "text_b": b}) + "\n" for g, a, b in pairs)
    )
    return root


def quality(*arguments: str | Path) -> str:
    """Run the benchmark and return what it printed."""
    command = [sys.executable, BENCHMARKS / "quality.py", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_a_run_prints_and_writes_the_product_row(corpus, tmp_path):
    raw, written, docs = tmp_path / "raw.json", tmp_path / "tables.md", tmp_path / "docs.md"
    docs.write_text(
        "before\n<!-- tables: begin -->\nold\n<!-- tables: end -->\nbetween\n"
        "<!-- pairs: begin --><!-- pairs: end -->\nafter\n"
    )
    files = ["--json", raw, "--markdown", written, "--update", docs]
    printed = quality("--corpus", corpus, "--no-peers", *files)
    assert re.search(
        r"^\| scrapy-simdedup, default settings +\| +1\.0000 \| +1\.000 copies \|"
        r" +0 \| +1\.000 / 1\.000 \|$",
        printed,
        re.MULTILINE,
    ), printed
    row: dict[str, Any] = json.loads(raw.read_text())["Labelled pages"]
    found = row["scrapy-simdedup, default settings"]["copies"]
    assert (found["pages"], found["hit"], found["missed"], found["false"]) == (9, 6, 0, 0)
    assert "1 duplicates, 1 distinct, 1 ambiguous" in printed
    assert written.read_text() == printed
    text = docs.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
    assert "### Labelled pages" in text.partition("between")[0]
    assert "### Pairs judged by people" in text.partition("between")[2]


def test_sets_and_seeds_can_be_chosen(corpus):
    printed = quality("--corpus", corpus, "--sets", "copies", "--no-tables", "--seeds", "1")
    assert "apart" not in printed
    assert "Labelled pages" not in printed
    assert re.search(r"^\| copies +\| +1\.0000 \| +1\.0000 \| +0 \|$", printed, re.MULTILINE)


def test_no_labelled_set(tmp_path):
    done = subprocess.run(
        [sys.executable, BENCHMARKS / "quality.py", "--corpus", tmp_path],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "no labelled set" in done.stderr


@pytest.fixture
def decided(tmp_path: Path) -> tuple[list[Decision], Path]:
    """Random decisions on random labels: every branch of the rules is met."""
    pick = random.Random("decisions")
    names = [f"{number:03}.html" for number in range(120)]
    labels = []
    for at, name in enumerate(names):
        others = pick.sample(names[:at], min(at, 3))
        labels += [(other, name, pick.choice(["duplicate", "ambiguous"])) for other in others]
    pairs = tmp_path / "pairs.tsv"
    write_pairs(pairs, labels)
    near = Pairs.read(pairs).near
    decisions: list[Decision] = []
    for at, name in enumerate(names):
        status = pick.choice(["unique", "duplicate", "duplicate", "skipped", "revisit"])
        if status == "duplicate" and at:
            earlier = sorted(other for other in near.get(name, {}) if other < name)
            original = pick.choice(earlier if earlier and pick.random() < 0.7 else names[:at])
            decisions.append(Decision(name, status, original))
        elif status == "skipped":
            decisions.append(Decision(name, status, None, "too-short"))
        else:
            decisions.append(Decision(name, "unique"))
    return decisions, pairs


@pytest.mark.skipif(
    not SCORE.is_file(), reason="the corpus's own scorer is not part of the project"
)
def test_the_scorer_agrees_with_that_of_the_corpus(decided, tmp_path):
    decisions, pairs = decided
    log = tmp_path / "decisions.jsonl"
    log.write_text(
        "".join(
            json.dumps(
                {
                    "url": made.name,
                    "status": made.status,
                    "original": made.original,
                    "reason": made.reason,
                }
            )
            + "\n"
            for made in decisions
        )
    )
    printed = subprocess.run(
        [sys.executable, SCORE, log, pairs], check=True, capture_output=True, text=True
    ).stdout
    found = score(decisions, Pairs.read(pairs))
    assert found.hit
    assert found.missed
    assert found.false
    assert found.skipped
    assert printed.splitlines()[-1] == (
        f"pages {found.pages} recall {found.recall:.4f} precision {found.precision:.4f}"
        f" f1 {found.f1:.4f} false {found.false} missed {found.missed}"
        f" skipped {sum(found.skipped.values())}"
    )


def test_the_scorer_holds_a_filter_to_its_own_originals():
    pairs = Pairs(
        {
            "a": {"b": "duplicate", "c": "duplicate", "d": "ambiguous"},
            "b": {"a": "duplicate", "c": "duplicate"},
            "c": {"a": "duplicate", "b": "duplicate"},
            "d": {"a": "ambiguous"},
        }
    )
    made = [
        Decision("a", "unique"),
        Decision("b", "duplicate", "a"),
        Decision("c", "skipped", None, "too-short"),
        Decision("d", "duplicate", "a"),
        Decision("e", "duplicate", "a"),
    ]
    found = score(made, pairs)
    assert (found.hit, found.missed, found.false) == (1, 1, 1)
    assert found.skipped == {"skipped: too-short": 1}
    assert (found.recall, found.precision, found.f1) == (0.5, 0.5, 0.5)
