"""What Spark's own log of a run says: how much was shuffled, and how long the longest task took."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from figures import Figures


def from_log(folder: Path, pages: int) -> Figures:
    """Return figures of all tasks of a run, by its event log."""
    shuffled = spilled = longest = most = 0
    for end in _tasks(folder):
        metrics, info = end["Task Metrics"], end["Task Info"]
        shuffled += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
        spilled += metrics["Disk Bytes Spilled"]
        longest = max(longest, info["Finish Time"] - info["Launch Time"])
        most = max(most, metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"])
    return {
        "shuffle_bytes_per_page": shuffled / pages,
        "spilled_bytes_per_page": spilled / pages,
        "longest_task_s": longest / 1000,
        "largest_task_mb": most / 1e6,
    }


def _tasks(folder: Path) -> Iterator[dict[str, Any]]:
    for path in folder.iterdir():
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                event = json.loads(line)
                if event["Event"] == "SparkListenerTaskEnd" and event.get("Task Metrics"):
                    yield event
