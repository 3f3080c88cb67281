"""Boxes, arrows and words as SVG, legible on light pages and on dark ones."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

# Of each colour: on light pages, on dark ones.
COLOURS = {
    "ink": ("#2b2f36", "#e4e6ea"),
    "faint": ("#6b7280", "#9aa3b0"),
    "blue": ("#1f6fd0", "#5aa2f2"),
    "orange": ("#b94f14", "#f0905a"),
    "green": ("#167a56", "#46c595"),
}

_SHEET = """
text { font: 14px system-ui, sans-serif; fill: var(--ink); }
.small { font-size: 12px; } .bold { font-weight: 600; } .head { font-size: 16px; font-weight: 600; }
.line { fill: none; stroke-width: 1.6; }
.box { stroke-width: 1.6; }
.ink { stroke: var(--ink); } .faint { stroke: var(--faint); } .blue { stroke: var(--blue); }
.orange { stroke: var(--orange); } .green { stroke: var(--green); }
.box.ink, .box.faint { fill: var(--faint); fill-opacity: 0.08; }
.box.blue { fill: var(--blue); fill-opacity: 0.12; }
.box.orange { fill: var(--orange); fill-opacity: 0.12; }
.box.green { fill: var(--green); fill-opacity: 0.12; }
text.faint { fill: var(--faint); stroke: none; } text.blue { fill: var(--blue); stroke: none; }
text.orange { fill: var(--orange); stroke: none; } text.green { fill: var(--green); stroke: none; }
text.ink { stroke: none; }
"""


def picture(width: int, height: int, title: str, parts: Iterable[str]) -> str:
    """Return an SVG file; ``title`` is what a screen reader says."""
    light, dark = (
        " ".join(f"--{name}: {pair[at]};" for name, pair in COLOURS.items()) for at in (0, 1)
    )
    heads = "".join(_arrow_head(name) for name in COLOURS)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>\nsvg {{ {light} }}",
            f"@media (prefers-color-scheme: dark) {{ svg {{ {dark} }} }}{_SHEET}</style>",
            f"<defs>{heads}</defs>",
            *parts,
            "</svg>",
            "",
        ]
    )


def _arrow_head(colour: str) -> str:
    return (
        f'<marker id="to-{colour}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7"'
        f' markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="var(--{colour})"/></marker>'
    )


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "middle") -> str:
    """Return words on one line, centred on ``x`` unless ``anchor`` says otherwise."""
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(words)}</text>'


def box(
    x: float, y: float, width: float, height: float, head: str, *lines: str, colour: str = "ink"
) -> str:
    """Return a box with a bold line and small ones below it; ``x``, ``y`` is its left top."""
    middle = x + width / 2
    top = y + height / 2 - 8 * len(lines) + 5
    words = [text(middle, top, head, "bold")]
    words += [text(middle, top + 17 * at, line, "small") for at, line in enumerate(lines, 1)]
    shape = (
        f'<rect class="box {colour}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
        ' rx="7"/>'
    )
    return shape + "".join(words)


def arrow(path: str, colour: str = "ink", *, dashed: bool = False) -> str:
    """Return an arrow along an SVG path."""
    dashes = ' stroke-dasharray="5 4"' if dashed else ""
    return f'<path class="line {colour}" d="{path}"{dashes} marker-end="url(#to-{colour})"/>'


def line(path: str, colour: str = "ink", extra: str = "") -> str:
    """Return a line along an SVG path."""
    return f'<path class="line {colour}" d="{path}" {extra}/>'
