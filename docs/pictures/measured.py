"""Why a limit, and how the sketch sees half an article: drawn from what the code computes."""

from __future__ import annotations

import math
from pathlib import Path

from draw import line, picture, text
from scrapy_simdedup.methods import METHODS
from scrapy_simdedup.methods.base import Limits
from scrapy_simdedup.methods.sketch import (
    MOST_NEW_PARTS,
    PARTS,
    SAMPLE,
    SHINGLE,
    overlap,
    resembles,
)
from scrapy_simdedup.text.document import Document

STORIES = Path(__file__).parents[2] / "example_project" / "newsdemo" / "site" / "stories" / "en"

# The chart of limits: its edges, the widest limit, and powers of ten from bottom to top.
_LEFT, _RIGHT, _TOP, _BOTTOM = 126, 640, 50, 330
_MOST_BITS = 16
_POWERS = {-12: "1 in a trillion", -8: "1 in 100 million", -4: "1 in 10,000", 0: "1", 4: "10,000"}
_SIZES = (
    (10**8, "100 million pages", "orange"),
    (10**6, "1 million pages", "blue"),
    (10**4, "10,000 pages", "green"),
)

# Pixels from the left to a text's first shingle.
_MARGIN = 30


def by_chance(bits: int) -> float:
    """Return how likely two random 64-bit fingerprints are within so many bits."""
    return sum(math.comb(64, each) for each in range(bits + 1)) / 2.0**64


def why_a_limit() -> str:
    """Show how many unrelated pages lie within a limit by chance, for three sizes of an index."""
    parts = [
        text(20, 24, "Unrelated pages within the limit of a page, by chance", "head", "start"),
        text((_LEFT + _RIGHT) / 2, 374, "limit in bits", "small"),
    ]
    for power, label in _POWERS.items():
        at = _y(10.0**power)
        parts.append(line(f"M{_LEFT} {at:g}H{_RIGHT}", "faint", 'stroke-opacity="0.3"'))
        parts.append(text(_LEFT - 8, at + 4, label, "small", "end"))
    parts += [
        text(_x(bits), _BOTTOM + 20, str(bits), "small") for bits in range(0, _MOST_BITS + 1, 2)
    ]
    for size, name, colour in _SIZES:
        places = [(_x(bits), _y(size * by_chance(bits))) for bits in range(_MOST_BITS + 1)]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places if y < _BOTTOM)
        parts.append(line(f"M{path}", colour))
        parts.append(text(_RIGHT + 8, places[-1][1] + 4, name, f"small {colour}", "start"))
    for bits, name in ((3, "3 bits: chance plays no part"), (10, "10 bits: it begins to")):
        parts.append(line(f"M{_x(bits):g} {_TOP}V{_BOTTOM}", "ink", 'stroke-dasharray="4 4"'))
        parts.append(text(_x(bits) + 6, _BOTTOM - 10, name, "small", "start"))
    title = "How many unrelated pages are within a limit by chance, in indexes of three sizes"
    return picture(760, 386, title, parts)


def _x(bits: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * bits / _MOST_BITS


def _y(number: float) -> float:
    low, high = min(_POWERS), max(_POWERS)
    at = min(max(math.log10(number), low), high)
    return _BOTTOM - (_BOTTOM - _TOP) * (at - low) / (high - low)


def half_an_article() -> str:
    """Hold two pages against a kept article: its first half, and one that wraps that half."""
    words = (STORIES / "lighthouse-weather-logs.txt").read_text(encoding="utf-8").split()
    other = (STORIES / "night-walk-maps.txt").read_text(encoding="utf-8").split()
    half, own = words[: len(words) // 2], other[: len(words) // 2]
    kept = Document.from_text(" ".join(words))
    scale = 700 / (len(kept.shingles(SHINGLE)) + 1)
    title = "The kept article, and the sample of it that the index stores"
    parts = _bar(34, title, kept, kept, scale)
    for top, name, page in (
        (142, "Half of it", half),
        (266, "The same half, and as much text of its own", half + own),
    ):
        new = Document.from_text(" ".join(page))
        parts += _bar(top, name, new, kept, scale)
        parts += _found(top, new, kept, scale)
    for x, colour, name in (
        (30, "blue", "in the sample"),
        (150, "orange", "not in it, although it would be if the article had it"),
    ):
        parts.append(line(f"M{x} 378V390", colour, 'style="stroke-width:2"'))
        parts.append(text(x + 8, 389, name, "small", "start"))
    title = "How the sketch compares half an article, and a page that wraps it"
    return picture(760, 404, title, parts)


def _bar(top: float, name: str, page: Document, kept: Document, scale: float) -> list[str]:
    """Draw a text as a bar, with those of its shingles that could be in the kept one's sample."""
    sample = kept.smallest_shingles(SHINGLE, SAMPLE).tolist()
    shingles = page.shingles(SHINGLE).tolist()
    width = len(shingles) * scale
    parts = [
        text(_MARGIN, top, name, "bold", "start"),
        _frame(top + 12, width),
    ]
    hits = [at for at, each in enumerate(shingles) if each in set(sample)]
    misses = [
        at for at, each in enumerate(shingles) if each <= sample[-1] and each not in set(sample)
    ]
    for places, colour in ((hits, "blue"), (misses, "orange")):
        path = "".join(f"M{_MARGIN + at * scale:.1f} {top + 15:g}v24" for at in places)
        if path:
            parts.append(line(path, colour, 'style="stroke-width:1.3"'))
    return parts


def _frame(top: float, width: float) -> str:
    place = f'x="{_MARGIN}" y="{top:g}" width="{width:.1f}" height="30" rx="3"'
    return f'<rect class="box faint" {place}/>'


def _found(top: float, page: Document, kept: Document, scale: float) -> list[str]:
    """Tell what the comparison found, and mark the page's eight parts."""
    shingles = page.shingles(SHINGLE)
    found = overlap(shingles, METHODS["sketch"].sign(kept))
    copy = resembles(found, Limits())
    told = (
        f"resemblance {found.resemblance:.2f}, containment {found.containment:.2f},"
        f" {found.new_parts} of {PARTS} parts new"
    )
    verdict = "a duplicate" if copy else f"unique: more than {MOST_NEW_PARTS} parts are new"
    width = len(shingles) * scale
    ends = (_MARGIN + width * part / PARTS for part in range(1, PARTS))
    return [
        *(line(f"M{x:.1f} {top + 8:g}v38", "ink", 'stroke-opacity="0.45"') for x in ends),
        text(_MARGIN, top + 62, told, "small", "start"),
        text(_MARGIN, top + 80, verdict, f"small bold {'blue' if copy else 'green'}", "start"),
    ]
