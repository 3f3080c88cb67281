"""The geometry of what was decided slice by slice: copies, kept pages and the rest in stacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

from scrapy_simdedup.report.plots import ABOVE, BELOW, Bar, Label, Plot, levels_of, scale_of
from scrapy_simdedup.report.times import WIDTHS, Slice
from scrapy_simdedup.report.words import duration, number

_STACK = 170
_KINDS = ("copies", "kept", "other")


def stacked_plot(
    title: str, slices: Sequence[Slice], name: Callable[[Slice], str], ticks: list[Label], head: str
) -> Plot:
    """Draw copies, kept pages and the rest of each slice on top of each other."""
    highest = max(sum(_counts(each)) for each in slices)
    scale, _ = scale_of(highest, _STACK, linear=True)
    base = ABOVE + _STACK
    step = 100 / len(slices)
    # Few slices make no walls.
    width = min(0.85 * step, 12.0)
    bars, table = [], []
    for place, each in enumerate(slices):
        called = name(each)
        x, y = (place + 0.5) * step - width / 2, float(base)
        for kind, count in zip(_KINDS, _counts(each), strict=True):
            if count:
                high = scale(count)
                y -= high
                bars.append(Bar(x, width, y, high, kind, f"{called}: {number(count)} {kind}"))
        if any(_counts(each)):
            table.append((called, *map(number, _counts(each))))
    levels = [Label(base - scale(level), number(level)) for level in levels_of(highest, log=False)]
    return Plot(
        title,
        base + BELOW,
        base,
        bars,
        [Label(base, "0"), *levels],
        ticks,
        heads=(head, *_KINDS),
        table=table,
    )


def run_ticks(slices: Sequence[Slice]) -> list[Label]:
    """Return the numbers of some runs, below their bars."""
    every = -(-len(slices) // 10)
    step = 100 / len(slices)
    return [
        Label((at + 0.5) * step, f"{each.start:g}")
        for at, each in enumerate(slices)
        if not at % every
    ]


def time_ticks(slices: Sequence[Slice], width: float) -> list[Label]:
    """Return times since the beginning of a run, round ones, at most six."""
    round_ones = (each / width for each in WIDTHS)
    whole_bars = (round(bars) for bars in round_ones if abs(bars - round(bars)) < 1e-6)
    every = next((bars for bars in whole_bars if bars and len(slices) / bars <= 5), len(slices))
    step = 100 / len(slices)
    return [
        Label(at * step, duration(timedelta(seconds=at * width)), "start" if not at else "middle")
        for at in range(0, len(slices) + 1, every)
    ]


def _counts(each: Slice) -> tuple[int, int, int]:
    return each.copies, each.kept, each.other
