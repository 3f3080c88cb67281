"""Sweeps: tables of one method each, over its settings; what is missing is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from importlib import import_module
from typing import Any

from product import Variant

from scrapy_simdedup.config import Config, setting_name
from scrapy_simdedup.methods import METHODS

_SETTINGS = {setting_name(each): each for each in fields(Config)}
_SKETCH = "scrapy_simdedup.methods.sketch"


def sweeps() -> tuple[list[tuple[str, list[Variant]]], list[str]]:
    """Return (title, settings to compare) for each sweep, and which sweeps cannot be run."""
    planned = [
        _limits(),
        _simhash(),
        ("piecewise: N segments, m of them equal", _piecewise()),
        *(_keywords(rule) for rule in (2, 3, 4, 5)),
        _shares("SIMDEDUP_NUMBERS"),
        _shares("SIMDEDUP_NAMES"),
    ]
    ready = [(title, [each for each in rows if each.usable]) for title, rows in planned]
    missing = [
        f"no sweep of {title}: not in the installed package" for title, rows in ready if not rows
    ]
    return [each for each in ready if each[1]], missing


def _limits() -> tuple[str, list[Variant]]:
    """Return the default settings with each limit a tenth lower and a tenth higher."""
    rows = [Variant("default")]
    for name in ("SIMDEDUP_MIN_RESEMBLANCE", "SIMDEDUP_MIN_CONTAINMENT", "SIMDEDUP_MIN_TERMS"):
        if name in _SETTINGS:
            value = _SETTINGS[name].metadata["default"]
            rows += [Variant(f"{name} {at}", {name: at}) for at in _around(value)]
    module = import_module(_SKETCH)
    for name in ("_KNOWN_SHARE", "MOST_NEW_PARTS"):
        value = getattr(module, name, None)
        if value is not None:
            around = _around(value) if isinstance(value, float) else (value - 1, value + 1)
            constants = [(f"{name.lstrip('_').lower()} {at}", at) for at in around]
            rows += [Variant(told, {}, {f"{_SKETCH}:{name}": at}) for told, at in constants]
    return "the default's limits, each moved by a tenth (whole numbers by 1 at least)", rows


def _around(value: Any) -> Sequence[Any]:
    if isinstance(value, int):
        step = max(1, round(value / 10))
        return value - step, value + step
    return round(value * 0.9, 4), round(value * 1.1, 4)


def _simhash() -> tuple[str, list[Variant]]:
    rows = []
    off = {"SIMDEDUP_MIN_RESEMBLANCE": 0, "SIMDEDUP_MIN_CONTAINMENT": 0}
    for bits in (3, 6, 8, 10):
        settings = {"SIMDEDUP_METHODS": ["simhash"], "SIMDEDUP_MAX_DISTANCE": bits}
        rows.append(Variant(f"k={bits}, verified", settings))
        rows.append(Variant(f"k={bits}, not verified", {**settings, **off}))
    return "simhash alone: at most k bits", rows


def _piecewise() -> list[Variant]:
    pairs = ((4, 2), (8, 2), (8, 4), (8, 6), (16, 4), (16, 8), (16, 12), (32, 16))
    methods = {"SIMDEDUP_METHODS": ["piecewise"]}
    return [
        Variant(f"N={most}, m={least}", {**methods, "SIMDEDUP_SEGMENTS": (most, least)})
        for most, least in pairs
    ]


def _keywords(rule: int) -> tuple[str, list[Variant]]:
    """Return the sweep of a keyword rule over n, and over a where the rule weighs."""
    rows = []
    for count in (5, 10, 20, 50):
        base = {"SIMDEDUP_METHODS": [f"keywords-{rule}"], "SIMDEDUP_KEYWORDS": count}
        for near in (0.01, 0.03, 0.1, 0.3) if rule in (4, 5) else (None,):
            more = {} if near is None else {"SIMDEDUP_KEYWORD_DISTANCE": near}
            rows.append(Variant(f"n={count}" + (f", a={near}" if more else ""), {**base, **more}))
    if f"keywords-{rule}" not in METHODS:
        rows = []
    return f"keywords-{rule}: n keywords" + (", weights within a" if rule in (4, 5) else ""), rows


def _shares(name: str) -> tuple[str, list[Variant]]:
    rows = [Variant(f"{name} {share}", {name: share}) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    return f"{name}, other settings as by default", [Variant("default"), *rows] * (
        name in _SETTINGS
    )
