"""Which items are judged by their own fields, and by which of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scrapy_simdedup import parse


@dataclass(frozen=True)
class ItemRule:
    """How items of one class are judged: fields with HTML, fields with text, field with a key.

    ``item_class`` is the class's dotted path, ``""`` for items of every class.
    """

    item_class: str
    html: tuple[str, ...]
    text: tuple[str, ...]
    key: str


ItemRules = tuple[ItemRule, ...]


def read(value: Any) -> ItemRules:
    """Read ``{"html": ...}``, ``{"text": ..., "key": ...}``, or one such dict a class path."""
    if isinstance(value, str):
        value = json.loads(value)
    if not isinstance(value, Mapping):
        raise TypeError
    if not value:
        return ()
    if value.keys() <= {"html", "text", "key"}:
        return (_rule("", value),)
    return tuple(_rule(str(path), rule) for path, rule in value.items())


def _rule(path: str, rule: Any) -> ItemRule:
    if not isinstance(rule, Mapping) or not rule.keys() <= {"html", "text", "key"}:
        raise ValueError(f"{path or 'rule'}: only html, text and key")
    html, text = (_fields(rule.get(kind, ())) for kind in ("html", "text"))
    if not html and not text:
        raise ValueError("neither html nor text")
    return ItemRule(path, html, text, parse.string(rule.get("key", "")))


def _fields(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else parse.names(value)
