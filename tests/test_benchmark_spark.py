"""What benchmarks/spark.py measures with: Spark's log of a run, and its crowd."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

from spark_log import from_log
from spark_skew import _pages


def test_spark_s_log_of_a_run(tmp_path):
    def task(start: int, end: int, shuffled: int, spilled: int) -> dict[str, object]:
        return {
            "Event": "SparkListenerTaskEnd",
            "Task Info": {"Launch Time": start, "Finish Time": end},
            "Task Metrics": {
                "Shuffle Write Metrics": {"Shuffle Bytes Written": shuffled},
                "Disk Bytes Spilled": spilled,
            },
        }

    events = [
        {"Event": "SparkListenerLogStart"},
        task(1000, 1500, 3_000_000, 0),
        {"Event": "SparkListenerTaskEnd", "Task Info": {}, "Task Metrics": None},
        task(1200, 4200, 1_000_000, 40),
    ]
    (tmp_path / "app-1").write_text("".join(json.dumps(event) + "\n" for event in events))
    assert from_log(tmp_path, 10) == {
        "shuffle_bytes_per_page": 400_000,
        "spilled_bytes_per_page": 4,
        "longest_task_s": 3.0,
        "largest_task_mb": 3.0,
    }


def test_half_of_a_crowd_is_one_text_and_half_varies():
    rows = list(_pages(range(404)))
    assert len({url for url, _ in rows}) == 404
    texts = Counter(text for _, text in rows)
    (_, count), *others = texts.most_common()
    assert count == 200
    assert {each for _, each in others} == {1}
    varied = next(text for _, text in rows[1:2]).split()
    near = [text.split() for text in texts if len(text.split()) == len(varied)]
    alike = [sum(a == b for a, b in zip(varied, words, strict=True)) for words in near]
    assert sum(same >= len(varied) - 4 for same in alike) >= 200
