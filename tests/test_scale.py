"""docs/scale.md says what its command prints, and the formulas do what they say."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[1]

sys.path.insert(0, str(PROJECT / "benchmarks"))

import scale  # noqa: E402

DOCUMENT = PROJECT / "docs" / "scale.md"


def test_the_document_is_what_the_command_prints(tmp_path, capsys):
    copy = tmp_path / "scale.md"
    shutil.copy(DOCUMENT, copy)
    scale.main(["--update", str(copy)])
    assert copy.read_text(encoding="utf-8") == DOCUMENT.read_text(encoding="utf-8")
    for name in scale.CONSTANTS:
        assert f"`{name}`" in capsys.readouterr().out or f"`{name}`" in copy.read_text()


def test_the_formulas():
    known = {name: constant.value for name, constant in scale.CONSTANTS.items()}
    known |= {"redis_bytes": 1000.0, "redis_per_second": 500.0, "trip_ms": 1.0}
    known |= {"redis_recognise_trips": 1.0, "redis_judge_trips": 2.0, "redis_confirm_trips": 0.5}
    known |= {"redis_memory": 64e9, "sqlite_bytes": 1200.0, "sqlite_ms": 1.0, "disk_ms": 0.1}
    known |= {"spark_per_second": 100.0, "scan_per_second": 125.0, "spark_cores": 2.0}
    known |= {"cores": 100.0, "analyse_ms": 15.0}
    small, large = 10**6, 10**8
    assert scale.lookups(small) == pytest.approx(
        {"width": 16, "ranges": 4, "rows": 61.04, "sketch_ranges": 16, "meet": 2.37e-9}, rel=1e-2
    )
    assert (scale.lookups(large)["width"], scale.lookups(large)["ranges"]) == (32, 66)
    found = scale.sqlite(large, known)
    assert (found["bytes"], found["touched"]) == (1.2e11, 66 + 16 + 22)
    assert found["disk_hours"] == pytest.approx(large * 104 * 0.1 / 3.6e6)
    assert scale.redis(large, known) == {
        "bytes": 1e11,
        "servers": 2,
        "hours": pytest.approx(1e8 / 1000 / 3600),
        "trips": 3.5e8,
        "waiting": pytest.approx(3.5e8 / 3.6e6),
    }
    assert scale.redis(large, {**known, "redis_judge_trips": None})["trips"] is None
    assert scale.spark(large, known)["hours"] == pytest.approx(1e8 * 0.019 / 100 / 3600)
    assert scale.spark(large, {**known, "spark_per_second": None})["core_hours"] is None


def test_its_figures_are_those_of_the_performance_page():
    """What is measured stands in one other place; both tell the same."""
    told = (PROJECT / "docs" / "performance.md").read_text(encoding="utf-8")
    known = {name: constant.value for name, constant in scale.CONSTANTS.items()}
    large = next(line for line in told.splitlines() if line.startswith("| 10 million |"))
    cells = [cell.strip() for cell in large.split("|")]
    assert {f"{known['sqlite_ms']}", f"{known['sqlite_bytes']}"} <= set(cells)
    crawls = [line for line in told.splitlines() if line.startswith("| first crawl      |")]
    assert any(f" {known['analyse_ms']:.2f} |" in line for line in crawls)
