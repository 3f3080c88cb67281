"""The geometry of a plot, and of a histogram. Across all is in percent, so that it fits any width.

Down it is in px. Templates draw the SVG.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from scrapy_simdedup.report.nearness import Histogram
from scrapy_simdedup.report.words import number, plural

# Room above the bars, for the limits' names, and below them, for the ticks.
ABOVE, BELOW = 24, 26

_HALF = 104

# From this count on single pages would be lost beside the highest bar.
_LINEAR = 200

_LEAST_BAR = 2.0


@dataclass(frozen=True)
class Bar:
    """A rectangle of a class of colours, with what it stands for."""

    x: float
    width: float
    y: float
    height: float
    kind: str
    title: str


@dataclass(frozen=True)
class Label:
    """A line at a place, and the words that name it; ``anchor`` is of SVG."""

    at: float
    text: str
    anchor: str = "middle"


@dataclass(frozen=True)
class Plot:
    """A plot to draw: bars, lines across with counts, ticks below, and limits.

    ``base`` is the y of the line that the bars stand on; ``log`` tells that their heights grow
    with the logarithm. ``table`` holds the same in numbers, below ``heads``.
    """

    title: str
    height: float
    base: float
    bars: list[Bar]
    levels: list[Label]
    ticks: list[Label]
    limits: list[Label] = field(default_factory=list)
    log: bool = False
    heads: tuple[str, ...] = ()
    table: Sequence[tuple[str, ...]] = ()


def histogram_plot(histogram: Histogram) -> Plot:
    """Draw kept pages upwards and copies downwards, with the limits across both."""
    measure, bins = histogram.measure, histogram.bins
    highest = max(*bins.kept, *bins.copies, 1)
    scale, log = scale_of(highest, _HALF)
    base = ABOVE + _HALF
    # Shares end at 1; of bits each has a bar.
    whole = measure.scale if measure.scale > 1 else measure.bins
    step = 100 * measure.width / whole
    gap = 0.15 * step
    bars, table = [], []
    for place, (kept, copies) in enumerate(zip(bins.kept, bins.copies, strict=True)):
        name = _bin_name(histogram, place)
        x, wide = place * step + gap / 2, step - gap
        if kept:
            high = scale(kept)
            bars.append(Bar(x, wide, base - high, high, "kept", f"{name}: {number(kept)} kept"))
        if copies:
            told = f"{name}: {plural(copies, 'copy')}"
            bars.append(Bar(x, wide, base, scale(copies), "copies", told))
        if kept or copies:
            table.append((name, number(kept), number(copies)))
    levels = [
        Label(base + sign * scale(level), number(level))
        for level in levels_of(highest, log=log)
        for sign in (-1, 1)
    ]
    return Plot(
        f"Kept pages and copies by {measure.column} to the nearest page",
        base + _HALF + BELOW,
        base,
        bars,
        [Label(base, "0"), *levels],
        _axis(histogram),
        _limits(histogram, step),
        log,
        (measure.column, "kept", "copies"),
        table,
    )


def _bin_name(histogram: Histogram, place: int) -> str:
    measure = histogram.measure
    low = place * measure.width
    if measure.scale == 1:
        return plural(low, "bit")
    return f"{low / measure.scale:.2f} to {(low + measure.width) / measure.scale:.2f}"


def _axis(histogram: Histogram) -> list[Label]:
    if histogram.measure.scale > 1:
        return [Label(20 * at, f"{at / 5:g}") for at in range(6)]
    # In the middle of the bar.
    bins = histogram.measure.bins
    return [Label(100 * (bits + 0.5) / bins, str(bits)) for bits in (0, 16, 32, 48, 64)]


def _limits(histogram: Histogram, step: float) -> list[Label]:
    measure = histogram.measure
    if not histogram.decides and measure.rising:
        return []
    found = []
    for limit in histogram.limits:
        # A limit of bits is the last one that is near, so its line is behind it.
        at = step * (limit / measure.width + (not measure.rising))
        found.append(Label(at, "", "start" if at < 50 else "end"))
    if found:
        # Several stand side by side, in the words of the last.
        shown = " to ".join(
            dict.fromkeys(measure.shown(histogram.limits[place]) for place in (0, -1))
        )
        name = f"at {'least' if measure.rising else 'most'} {shown}"
        name += " by length" if len(found) > 1 else ""
        name += "" if histogram.decides else " (simhash)"
        found[-1] = replace(found[-1], text=name)
    return found


def scale_of(
    highest: int, height: float, *, linear: bool = False
) -> tuple[Callable[[int], float], bool]:
    """Return how high a count is drawn, and whether that grows with its logarithm."""
    log = highest > _LINEAR and not linear

    def scale(count: int) -> float:
        part = math.log1p(count) / math.log1p(highest) if log else count / highest
        return max(_LEAST_BAR, height * part)

    return scale, log


def levels_of(highest: int, *, log: bool) -> list[int]:
    """Return some round counts, up to the highest."""
    if log:
        powers = [10**power for power in range(1, len(str(highest)))]
        return powers[:: -(-len(powers) // 3)]
    power = 10 ** (len(str(highest)) - 1)
    step = next(
        factor * power // 10
        for factor in (2, 5, 10, 20, 50, 100)
        if factor * power // 10 and highest // (factor * power // 10) <= 3
    )
    return list(range(step, highest + 1, step))
