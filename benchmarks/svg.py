"""A line chart as an SVG file, both axes logarithmic, readable on light and on dark pages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT = 760, 440
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 24, 104, 60
_LEGEND_COLUMN = 330
_MIDDLE = 'text-anchor="middle"'

# Of each line: on light pages, on dark ones, and its dashes, for those who see no colours.
_STYLES = (
    ("#1f6fd0", "#5aa2f2", ""),
    ("#1f6fd0", "#5aa2f2", "6 4"),
    ("#c2561a", "#f0905a", ""),
    ("#167a56", "#46c595", "2 3"),
)

_SHEET = """
text { font: 13px system-ui, sans-serif; fill: #333; }
.title { font-size: 16px; font-weight: 600; }
.axis { stroke: #777; } .grid { stroke: #888; stroke-opacity: 0.3; } .dot { stroke: none; }
polyline { fill: none; stroke-width: 2; stroke-linejoin: round; }
@media (prefers-color-scheme: dark) { text { fill: #ddd; } .axis { stroke: #999; } }
"""

_UNITS = ((1_000_000, " million"), (1_000, " thousand"))


@dataclass(frozen=True)
class Line:
    """A named line through points, both of whose numbers are positive."""

    name: str
    points: Sequence[tuple[float, float]]


class _Axis:
    """Maps values to pixels, by their logarithms."""

    def __init__(self, ticks: Sequence[float], start: float, end: float) -> None:
        self.ticks = ticks
        self._low = math.log10(ticks[0])
        self._scale = (end - start) / max(math.log10(ticks[-1]) - self._low, 1e-9)
        self._start = start

    def at(self, value: float) -> float:
        """Return the pixel of a value."""
        return round(self._start + (math.log10(value) - self._low) * self._scale, 1)


def chart(title: str, x_name: str, y_name: str, lines: Sequence[Line]) -> str:
    """Return the chart as SVG; the first four lines have styles of their own."""
    xs = [x for line in lines for x, _ in line.points]
    ys = [y for line in lines for _, y in line.points]
    x_axis = _Axis(_ticks(min(xs), max(xs), (1,)), _LEFT, _WIDTH - _RIGHT)
    y_axis = _Axis(_ticks(min(ys), max(ys), (1, 2, 5)), _HEIGHT - _BOTTOM, _TOP)
    centre, middle = (_LEFT + _WIDTH - _RIGHT) / 2, (_TOP + _HEIGHT - _BOTTOM) / 2
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{_SHEET}{_colours()}</style>",
        f'<text class="title" x="{_LEFT}" y="28">{escape(title)}</text>',
        *_grid(x_axis, y_axis),
        f'<text {_MIDDLE} x="{centre}" y="{_HEIGHT - 14}">{escape(x_name)}</text>',
        f'<text {_MIDDLE} transform="translate(20 {middle}) rotate(-90)">{escape(y_name)}</text>',
    ]
    for number, line in enumerate(lines):
        parts += _drawn(number, line, x_axis, y_axis)
    return "\n".join([*parts, "</svg>", ""])


def _ticks(low: float, high: float, steps: Sequence[int]) -> list[float]:
    """Return round numbers from one at or below ``low`` to one at or above ``high``."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [float(f"{step}e{decade}") for decade in decades for step in steps]
    first = max((at for at, tick in enumerate(ticks) if tick <= low), default=0)
    last = next((at for at, tick in enumerate(ticks) if tick >= high), len(ticks) - 1)
    return ticks[first : max(last, first + 1) + 1]


def _grid(x_axis: _Axis, y_axis: _Axis) -> list[str]:
    bottom, parts = _HEIGHT - _BOTTOM, []
    for tick in y_axis.ticks:
        at = y_axis.at(tick)
        kind = "axis" if at == bottom else "grid"
        parts.append(f'<path class="{kind}" d="M{_LEFT} {at}H{_WIDTH - _RIGHT}"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{at + 4.5}" text-anchor="end">{tick:g}</text>')
    for tick in x_axis.ticks:
        at = x_axis.at(tick)
        parts.append(f'<path class="axis" d="M{at} {bottom}v5"/>')
        anchor = "end" if tick == x_axis.ticks[-1] else "middle"
        parts.append(
            f'<text x="{at}" y="{bottom + 21}" text-anchor="{anchor}">{_short(tick)}</text>'
        )
    return parts


def _short(value: float) -> str:
    for size, name in _UNITS:
        if value >= size:
            return f"{value / size:g}{name}"
    return f"{value:g}"


def _drawn(number: int, line: Line, x_axis: _Axis, y_axis: _Axis) -> list[str]:
    style = number % len(_STYLES)
    places = [(x_axis.at(x), y_axis.at(y)) for x, y in line.points]
    path = " ".join(f"{x},{y}" for x, y in places)
    dots = [f'<circle class="dot f{style}" cx="{x}" cy="{y}" r="3.5"/>' for x, y in places]
    x, y = _LEFT + number % 2 * _LEGEND_COLUMN, 54 + number // 2 * 22
    return [
        f'<polyline class="s{style}" points="{path}"/>',
        *dots,
        f'<polyline class="s{style}" points="{x},{y} {x + 28},{y}"/>',
        f'<text x="{x + 36}" y="{y + 4.5}">{escape(line.name)}</text>',
    ]


def _colours() -> str:
    light, dark = "", ""
    for number, (on_light, on_dark, dashes) in enumerate(_STYLES):
        dashed = f" stroke-dasharray: {dashes};" if dashes else ""
        light += f".s{number} {{ stroke: {on_light};{dashed} }}\n"
        light += f".f{number} {{ fill: {on_light}; }}\n"
        dark += f".s{number} {{ stroke: {on_dark}; }}\n.f{number} {{ fill: {on_dark}; }}\n"
    return f"{light}@media (prefers-color-scheme: dark) {{\n{dark}}}\n"
