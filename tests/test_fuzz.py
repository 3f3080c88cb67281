"""The fuzzer: ten seconds of it, and that it would tell."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

from fuzz import Fuzzer  # noqa: E402
from fuzz_inputs import Pages, Settings, random_for  # noqa: E402

from scrapy_simdedup import ConfigError, Deduplicator, workers  # noqa: E402
from scrapy_simdedup.config import Config  # noqa: E402


def test_ten_seconds_of_pages_and_settings(tmp_path):
    out = tmp_path / "counts.json"
    done = subprocess.run(
        [
            sys.executable,
            BENCHMARKS / "fuzz.py",
            *("--seconds", "10", "--seed", "20260101", "--json", out),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    told = json.loads(out.read_text())
    assert told["failures"] == 0
    counts = told["counts"]
    assert sum(n for name, n in counts.items() if name.startswith("pages/")) > 50
    assert {"pages/unique", "pages/skipped/no-text"} <= set(counts)
    assert counts["settings/refused"] > counts["settings/taken"] > 10
    assert "settings: refused" in done.stdout


def test_inputs_depend_on_the_seed_alone():
    one, same, other = Pages(1), Pages(1), Pages(2)
    assert [one.one(n) for n in range(20)] == [same.one(n) for n in range(20)]
    assert [one.one(n) for n in range(20)] != [other.one(n) for n in range(20)]
    settings = [Settings(1).one(random_for(1, n)) for n in range(50)]
    assert repr(settings) == repr([Settings(1).one(random_for(1, n)) for n in range(50)])
    assert len({name for name, _ in settings}) > 15


def test_it_tells_of_failures(tmp_path, monkeypatch):
    """An analysis that raises, and a setting that raises something else than ConfigError."""
    monkeypatch.setattr(workers, "submit", lambda *a, **_: workers._thread().submit(lambda: 1 / 0))
    fuzzer = Fuzzer(1, tmp_path)
    fuzzer._judge_some(0, Config())
    assert fuzzer.counts["pages", "FAILED"] == 8
    assert "ZeroDivisionError" in fuzzer.failures[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Config, "from_settings", lambda _: 1 / 0)
        fuzzer._config(0)
    assert fuzzer.counts["settings", "FAILED"] == 21


@pytest.mark.parametrize("name", ["SIMDEDUP_INDEX", "SIMDEDUP_EXPORT"])
@pytest.mark.parametrize("value", ["a\0b.csv", "\ud800.csv"])
def test_paths_that_no_file_can_have(name, value):
    with pytest.raises(ConfigError, match=name):
        Config.from_settings({name: value})


def test_a_list_that_is_too_deep():
    for name in ("SIMDEDUP_METHODS", "SIMDEDUP_SEGMENTS", "SIMDEDUP_CALLBACKS"):
        with pytest.raises(ConfigError, match=name):
            Config.from_settings({name: "[" * 100_000})


def test_half_an_emoji_in_a_name_or_a_setting(tmp_path):
    settings = {"SIMDEDUP_CALLBACKS": ["\ud83d"], "SIMDEDUP_TAG_FIELD": "\udc00"}
    with Deduplicator(tmp_path / "index.db", settings, spider="half \ud83d") as dedup:
        row = dedup._index.connection.execute("SELECT spider, settings FROM runs").fetchone()
    assert row[0] == "half "
    assert "\\ud83d" in row[1]


@pytest.mark.slow
def test_half_a_minute_of_the_soak(tmp_path):
    """Every kind of fault has come, nothing is lost, and the index is whole."""
    out = tmp_path / "figures.json"
    done = subprocess.run(
        [
            sys.executable,
            BENCHMARKS / "soak.py",
            *("--minutes", "0.5", "--hurry", "5", "--json", out),
        ],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    told = json.loads(out.read_text())
    assert told["lost texts"] == 0
    assert told["wrong with the index"] == []
    assert min(told["worker killed"], told["checkpoint"], told["crawl killed"]) > 0
    assert told["texts"] > 50
    assert told["told that it was locked"] == 0
