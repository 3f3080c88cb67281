"""Figures of a measurement: percentiles, memory, and how they are printed."""

from __future__ import annotations

import platform
import re
import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

Figures = dict[str, float]

# Of several runs the median is told, but of these the worst.
_HIGHEST = ("rss_mb", "rss_own_mb", "false")
_LOWEST = ("recall",)


def percentiles(seconds: Sequence[float], prefix: str = "") -> Figures:
    """Return the 50th, 95th and 99th percentile in milliseconds."""
    found = np.percentile(np.asarray(seconds) * 1e3, [50, 95, 99]).tolist()
    return {f"{prefix}p{at}_ms": value for at, value in zip((50, 95, 99), found, strict=True)}


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of Python and of packages."""
    found = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def noise() -> Figures:
    """Return how long a fixed piece of pure work takes: what is above its median is the machine.

    Its length is about a judgement's.
    """
    took = []
    for _ in range(1000):
        start = time.perf_counter()
        sum(range(40_000))
        took.append(time.perf_counter() - start)
    return percentiles(took)


def memory() -> Figures:
    """Return the most that this process had in memory, and how much of it is its own now.

    In MB. The rest are pages of files, such as the index, that the system can take back.
    Nothing where the system does not tell.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return {}
    kilobytes = dict(re.findall(r"^(\w+):\s+(\d+) kB", status.read_text(), re.MULTILINE))
    return {
        "rss_mb": int(kilobytes["VmHWM"]) / 1024,
        "rss_own_mb": int(kilobytes["RssAnon"]) / 1024,
    }


def merged(runs: Sequence[Mapping[str, float]]) -> Figures:
    """Return the median of each figure over several runs; of recall and memory, the worst."""
    return {name: _merge(name, [run[name] for run in runs]) for name in runs[0]}


def _merge(name: str, values: Sequence[float]) -> float:
    if name in _HIGHEST:
        return max(values)
    return min(values) if name in _LOWEST else statistics.median(values)


def rounded(figures: Mapping[str, float]) -> Figures:
    """Return the figures to five significant digits; whole numbers stay."""
    return {
        name: value if isinstance(value, int) else float(f"{value:.5g}")
        for name, value in figures.items()
    }


def show(title: str, figures: Mapping[str, float]) -> None:
    """Print a contestant's figures, one a line."""
    print(title, flush=True)
    for name, value in figures.items():
        text = f"{value:,}" if isinstance(value, int) else f"{value:,.5g}"
        print(f"  {name:<26} {text:>14}", flush=True)
