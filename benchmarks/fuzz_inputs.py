"""Made-up inputs for the fuzzer: pages that were mutated, and settings of every wrong kind."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from crawl_pages import Writer, made_up

from scrapy_simdedup.config import Config, setting_name

_TAG = re.compile(r"<[^>]{0,200}>")
_ELEMENTS = """
div p span a table tr td ul li article main section h1 b i svg math template noscript script style
select option textarea iframe title body html head meta form frameset plaintext
"""
_NAMES = _ELEMENTS.split()
_QUOTES = ("", '"', "'")
_ODD = [
    *("\0", "\ud83d", "\udc00", "\ufffe", "\u202e", "\u200b", "\ufeff", "\u0301" * 40, "\ufdfa"),
    *("&#0;", "&#xD800;", "&#x110000;", "&lt", "&amp;amp;", "&nbsp;", "<!--", "-->", "<![CDATA["),
    *("]]>", "<?xml version='1.0' encoding='utf-7'?>", "<!DOCTYPE", "</", "<", ">", "'", '"', "="),
    *("ก" * 50, "的" * 50, "ภาษาไทย", "שלום", "ー", "\u1160", "e\u0301", "𝔘𝔫𝔦", "9" * 300),
]


def random_for(*what: object) -> random.Random:
    """Return a generator of its own for this; the same in every process."""
    return random.Random("/".join(map(str, what)))


class Pages:
    """Pages by number: made-up ones, and what several mutations leave of them."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._whole = [page.decode() for page in made_up(30, seed)]
        self._writer = Writer(seed)
        self._mutations: list[Callable[[random.Random, str], str]] = [
            self._splice,
            self._tags,
            self._attributes,
            self._odd,
            self._nest,
            self._cut,
            self._repeat,
            self._untag,
            self._chinese,
        ]

    def one(self, number: int) -> tuple[str, str | bytes]:
        """Return a URL and a page."""
        pick = random_for(self._seed, "page", number)
        html = pick.choice(self._whole)
        for _ in range(pick.randrange(6)):
            html = pick.choice(self._mutations)(pick, html)[:2_000_000]
        url = pick.choice(["https://example.com/", "//u:p@x/", "=", "javascript:", "\0\ud800", ""])
        url += str(pick.randrange(12))
        if pick.random() < 0.4:
            return url, self._bytes(pick, html)
        return url, html

    def _bytes(self, pick: random.Random, html: str) -> bytes:
        encoding = pick.choice(["utf-8", "utf-16", "gbk", "shift_jis", "latin-1", "utf-7"])
        body = bytearray(html.encode(encoding, "replace"))
        for _ in range(pick.choice([0, 1, 10, 1000])):
            if body:
                body[pick.randrange(len(body))] = pick.randrange(256)
        return bytes(body)

    def _place(self, pick: random.Random, html: str) -> int:
        """Return a place for something: between tags, or anywhere."""
        at = pick.randrange(len(html) + 1)
        found = _TAG.search(html, at) if pick.random() < 0.7 else None
        return found.start() if found else at

    def _splice(self, pick: random.Random, html: str) -> str:
        other = pick.choice(self._whole)
        return html[: self._place(pick, html)] + other[self._place(pick, other) :]

    def _tags(self, pick: random.Random, html: str) -> str:
        for _ in range(pick.randrange(1, 40)):
            at = self._place(pick, html)
            tag = f"<{'/' * pick.randrange(2)}{pick.choice(_NAMES)}{' /' * pick.randrange(2)}>"
            html = html[:at] + tag + html[at:]
        return html

    def _attributes(self, pick: random.Random, html: str) -> str:
        def more(tag: re.Match[str]) -> str:
            if pick.random() > 0.1:
                return tag.group()
            name = pick.choice(["class", "id", "name", "content", "href", "style", "a\0b", "x:y"])
            value = pick.choice(["cookie consent", "description", "=1", "9" * 50, *_ODD])
            quote = pick.choice(_QUOTES)
            return f"{tag.group()[:-1]} {name}={quote}{value}>"

        return _TAG.sub(more, html)

    def _odd(self, pick: random.Random, html: str) -> str:
        for _ in range(pick.randrange(1, 60)):
            at = pick.randrange(len(html) + 1)
            html = html[:at] + pick.choice(_ODD) + html[at:]
        return html

    def _nest(self, pick: random.Random, html: str) -> str:
        at, name = self._place(pick, html), pick.choice(_NAMES)
        return html[:at] + f"<{name}>" * pick.choice([10, 300, 3000]) + html[at:]

    def _cut(self, pick: random.Random, html: str) -> str:
        at = pick.randrange(len(html) + 1)
        return html[:at] if pick.random() < 0.7 else html[at:]

    def _repeat(self, pick: random.Random, html: str) -> str:
        start = self._place(pick, html)
        part = html[start : start + pick.randrange(1, 400)]
        return html[:start] + part * pick.choice([2, 50, 500]) + html[start:]

    def _untag(self, pick: random.Random, html: str) -> str:
        return _TAG.sub(lambda tag: "" if pick.random() < 0.3 else tag.group(), html)

    def _chinese(self, pick: random.Random, html: str) -> str:
        at = self._place(pick, html)
        return f"{html[:at]}<p>{self._writer.text(pick, 600, chinese=True)}</p>{html[at:]}"


# What is opened or imported at once is not made up.
_NOT = ("SIMDEDUP_EXTRACTOR", "SIMDEDUP_IDF", "SIMDEDUP_ENABLED", "SIMDEDUP_WORKERS")
_VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 3, 17, 32, 63, 64, 65, 10**30, 0.5, 1.5, -0.1, 1e308),
    *(math.nan, math.inf, -math.inf, "", "0", "1", "true", "tag", "drop", "64", "0.5", "1e9"),
    *("nan", "inf", "auto", "١٢", "\0", "\ud800", "%", "%(spider)s", "%(x)s", "%%", "[", "[1", "{"),
    *("[[200, 3], [0, 8]]", "[[0, 3]]", '["simhash"]', "simhash,sketch", "keywords", "classic"),
    *(b"\xff", b"tag", [], {}, (), set(), [[]], [None], [1, 2], [[0, 3]], [(200, 3), (0, 8)]),
    *([32, 16], [16, 32], [1, 1], (64, 64), ["simhash"], ["sketch", "piecewise"], ["keywords-1"]),
    *({"html": "x"}, {"text": ["a"], "key": "b"}, {"a.B": {"text": "c"}}, {"a": {"b": {"c": 1}}}),
    *({1: 2}, object(), len, "x" * 100_000, "[" * 100_000, 1j, range(3), iter(())),
]


class Settings:
    """Settings by number: any name with any value."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        names = map(setting_name, fields(Config))
        self._names = [name for name in names if name not in _NOT]

    def one(self, pick: random.Random) -> tuple[str, Any]:
        """Return a setting and a value for it."""
        return pick.choice(self._names), self._value(pick, 2)

    def _value(self, pick: random.Random, deep: int) -> Any:
        kind = pick.randrange(8)
        if kind == 0 and deep:
            return [self._value(pick, deep - 1) for _ in range(pick.randrange(4))]
        if kind == 1 and deep:
            return {"text": self._value(pick, deep - 1), "key": self._value(pick, deep - 1)}
        if kind == 2:
            return pick.choice([pick.random(), pick.randrange(100), str(pick.randrange(100))])
        return pick.choice(_VALUES)
