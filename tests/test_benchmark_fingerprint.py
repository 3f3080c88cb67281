"""The fingerprint benchmark: a run from end to end, and whether what it times is right."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scrapy_simdedup.analysis import Source, analyse
from texts import chinese, page, story

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"

sys.path.insert(0, str(BENCHMARKS))

from fingerprint_contests import STAGES  # noqa: E402
from fingerprint_texts import RECIPE, made_up  # noqa: E402

SIZES = ("--english", "3", "--chinese", "2", "--repeat", "1")
WAYS = ("normalise", "segment", "weigh", "sign", "sketch", "analyse")

# simhash-pybind's compute, in Python.
STUB = """
def compute(hashes):
    votes = [sum(1 if value >> bit & 1 else -1 for value in hashes) for bit in range(64)]
    return sum((vote > 0) << bit for bit, vote in enumerate(votes))
"""


def fingerprint(tmp_path: Path, *arguments: str | Path) -> tuple[str, dict[str, Any]]:
    """Run the benchmark; return what it printed, and its figures."""
    figures = tmp_path / "figures.json"
    command = [sys.executable, BENCHMARKS / "fingerprint.py", "--json", figures, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8")
    return done.stdout, json.loads(figures.read_text())


def test_the_figures_of_made_up_texts(tmp_path):
    printed, figures = fingerprint(tmp_path, *SIZES, "--pybind-python", tmp_path / "none")
    meta = figures.pop("meta")
    assert {f"{way}_{language}_per_second" for way in WAYS for language in ("en", "zh")} < set(
        figures["product"]
    )
    for name, found in figures.items():
        assert found["per_second"] == found["sign_en_per_second"] > 0, name
        assert all(value > 0 for value in found.values()), name
    assert {key: of["documents"] for key, of in meta["counts"].items()} == {"en": 3, "zh": 2}
    assert all(same == [5, 5] for same in meta["equal_fingerprints"].values())
    assert isinstance(meta["seed"], int)
    assert meta["versions"]["scrapy-simdedup"]
    assert "simhash-pybind: left out, " in printed
    assert "simhash-pybind" not in figures
    assert "scrapy-simdedup: sign weighted terms" in printed
    assert "over_extract" not in printed


@pytest.mark.skipif(os.name == "nt", reason="the interpreter is a shell script")
def test_simhash_pybind_signs_the_same_terms_elsewhere(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "simhash_pybind-0.0.dist-info").mkdir(parents=True)
    (elsewhere / "simhash_pybind-0.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: simhash-pybind\nVersion: 0.0\n"
    )
    (elsewhere / "simhash.py").write_text(STUB)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{elsewhere}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    _, figures = fingerprint(tmp_path, *SIZES, "--pybind-python", python)
    found = figures["simhash-pybind"]
    assert found["per_second"] == found["sign_en_per_second"] > 0
    assert figures["meta"]["equal_fingerprints"]["simhash-pybind"] == [5, 5]
    assert figures["meta"]["versions"]["simhash-pybind"] == "0.0"


def test_pages_are_held_against_extraction(tmp_path):
    corpus = tmp_path / "corpus"
    for name, texts in (("web", [story(1), story(2)]), ("web-zh", [chinese(1)])):
        (corpus / name / "pages").mkdir(parents=True)
        for number, text in enumerate(texts):
            html = page(text)
            (corpus / name / "pages" / f"{number}.html").write_text(html, encoding="utf-8")
    (corpus / "web" / "pages" / "short.html").write_text("<p>Nothing here.</p>", encoding="utf-8")
    printed, figures = fingerprint(tmp_path, *SIZES, "--corpus", corpus)
    counts = figures["meta"]["counts"]
    assert (counts["en"]["documents"], counts["en"]["left_out"]) == (2, 1)
    for name in ("analyse_over_extract", "full_over_extract"):
        assert figures["product"][name] > 0
        assert figures["product"][f"{name}_zh"] > 0
    assert "analyse_over_extract: " in printed
    assert "simhash-pybind: no --pybind-python, left out" in printed
    # An interpreter without simhash-pybind; one language alone.
    chosen = ["--sets", "web-zh", "--pybind-python", sys.executable]
    printed, figures = fingerprint(tmp_path, *SIZES, "--corpus", corpus, *chosen)
    assert set(figures["meta"]["counts"]) == {"zh"}
    assert "simhash-pybind: left out, " in printed


def test_the_stages_give_what_the_package_gives():
    ways = {way.what: way for way in STAGES}
    for batch, again in zip(made_up(2, 2), made_up(2, 2), strict=True):
        assert batch == again
        for document in batch.documents:
            made = {name: way.begin()(way.given(document)) for name, way in ways.items()}
            whole = analyse(Source(text=(document.raw,)), RECIPE)
            assert made["normalise"] == document.text
            assert made["segment"] == document.terms
            assert made["weigh"] == document.weights
            assert made["sign"].to_bytes(8, "little") == whole.signature["simhash"]
            assert made["sketch"] == whole.signature["sketch"]
            assert made["analyse"].signature == whole.signature


def test_no_text(tmp_path):
    done = subprocess.run(
        [sys.executable, BENCHMARKS / "fingerprint.py", "--corpus", tmp_path],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "no text to fingerprint" in done.stderr
