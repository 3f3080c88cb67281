"""Hostile pages by name, made when they are asked for; used by tests, the fuzzer and the soak."""

from __future__ import annotations

import random
from collections.abc import Callable

from texts import chinese, page, story

Page = str | bytes

_ARTICLE = story(77)
_LEDE = _ARTICLE.replace("\n\n", " ")

#: The page that the others hide in something.
ARTICLE = page(_ARTICLE)


def _around(inside: str) -> str:
    """Return a page with an article, and with this in its middle."""
    return page(_ARTICLE).replace("</article>", f"{inside}</article>", 1)


def _alone(inside: str) -> str:
    """Return a page with nothing but this."""
    return f"<html><body><article><p>{inside}</p></article></body></html>"


def _entities() -> str:
    """An entity bomb in an inline DTD, and references to what is no character."""
    levels = "".join(
        f'<!ENTITY l{at} "{"".join(f"&l{at - 1};" for _ in range(10))}">' for at in range(1, 10)
    )
    doctype = f'<!DOCTYPE html [<!ENTITY l0 "lol">{levels}<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    odd = "&#0;&#x110000;&#xD800;&#xDFFF;&#-1;&#99999999999999999999;&#x;&#;&amp&amp;lt;&#x202E;"
    return f"{doctype}<html><body><article><p>{_LEDE}</p><p>&l9; &x; {odd * 5000}</p></article>"


def _controls() -> str:
    every = "".join(map(chr, [*range(32), *range(127, 160), 0xFFFE, 0xFFFF]))
    words = _LEDE.split()
    return _alone(every.join(words))


def _surrogates() -> str:
    return _around("<p>\ud83d \udc00 \udfff\ud800 half an emoji: \ud83d</p>" * 1000)


def _direction() -> str:
    """Zero-width characters within words, overrides, a stack of combining marks."""
    words = ["\u200b\u2060\u200d".join(word) for word in _LEDE.split()]
    marks = "\u202e\u2066\u202a" * 50_000 + "a" + "\u0301" * 200_000
    return f"<html dir=rtl><body><article><p>{' '.join(words)}</p><p>{marks}</p></article>"


def _tables() -> str:
    cell = '<td colspan="9007199254740991" rowspan="-5">cell {}</td>'
    rows = "".join(f"<tr>{cell.format(at) * 3}</tr>" for at in range(300))
    return _around(f'<table><colgroup span="9007199254740991"></colgroup>{rows}</table>')


def _soup() -> str:
    """Tags that nobody closed, in an order that nobody meant, cut off in the middle of one."""
    pick = random.Random("soup")
    names = ["table", "tr", "td", "p", "b", "svg", "math", "select", "template", "form", "frameset"]
    tags = (f"<{'/' * pick.randrange(2)}{pick.choice(names)} a=1>" for _ in range(20_000))
    return f"{_LEDE}<!--<![CDATA[{''.join(tags)}<a href='"


#: What the pages are; each is well above what a real one has of it.
PAGES: dict[str, Callable[[], Page]] = {
    "nested divs": lambda: _alone("<div>" * 100_000 + _LEDE + "</div>" * 100_000),
    "nested lists": lambda: _alone("<ul><li>" * 30_000 + _LEDE),
    "nested inline": lambda: _alone("<span>" * 20_000 + _LEDE),
    "text of 20 MB": lambda: _alone(f"{_LEDE} " * 16_000),
    "attribute of 10 MB": lambda: _around(f'<div class="{"x y " * 2_500_000}">x</div>'),
    "description of 10 MB": lambda: (
        f'<html><meta name=description content="{"d " * 5_000_000}">{_around("")}'
    ),
    "open meta tags": lambda: "<meta " * 15_000 + "<meta x='" * 10_000 + _around(""),
    "many siblings": lambda: _around("<i></i>" * 200_000),
    "entities": _entities,
    "controls": _controls,
    "surrogates": _surrogates,
    "UTF-16 as UTF-8": lambda: page(_ARTICLE).encode("utf-16"),
    "UTF-16 without mark": lambda: page(_ARTICLE).encode("utf-16-le"),
    "GBK as latin-1": lambda: (
        page(chinese(7)).replace("utf-8", "latin-1").encode("gbk", "ignore") * 3
    ),
    "bytes of noise": lambda: random.Random("noise").randbytes(1_000_000),
    "one token for ever": lambda: _around(f"<p>{'again ' * 800_000}</p>"),
    "base64 of 5 MB": lambda: _around(
        f"<p>{random.Random('base64').randbytes(2_500_000).hex()}</p>"
    ),
    "one letter, 5 MB": lambda: _around(f"<p>{'a' * 5_000_000}</p>"),
    "one Han character": lambda: _alone("的" * 1_000_000),
    "Han without end": lambda: _alone("".join(filter(str.isalpha, chinese(3, 3000))) * 15),
    "one ligature": lambda: _alone("\ufdfa" * 300_000),
    "Thai without end": lambda: _alone("ภาษาไทยสวย" * 100_000),
    "direction and zero width": _direction,
    "tables": _tables,
    "tag soup": _soup,
    "nothing but links": lambda: "<html><body>" + '<a href="/x">a link</a> ' * 50_000,
    "consent in consent": lambda: (
        '<div class="cookie">' * 250 + "<p>x</p>" * 20_000 + "</div>" * 250 + _around("")
    ),
    "scripts": lambda: _around("<script>document.write('<p>' + location)</script>" * 20_000),
    "nothing": lambda: "",
    "open comment": lambda: f"<html><body><!-- {_LEDE * 1000}",
    "XML": lambda: f'<?xml version="1.0" encoding="UCS-4"?>{_around("")}',
}

#: Texts that are hostile without any markup.
TEXTS: dict[str, Callable[[], str]] = {
    "piled marks": lambda: f"{_LEDE} a{chr(0x301) * 400_000}{chr(0x316) * 400_000}",
    "one ligature": lambda: "\ufdfa" * 1_000_000,
    "one Han character": lambda: "的" * 5_000_000,
    "surrogates": lambda: "\ud83d" * 5_000_000 + _LEDE,
    "NUL": lambda: "\0".join(_LEDE),
    "one word": lambda: "a" * 10_000_000,
    "capitals": lambda: "Aa " * 1_000_000,
    "digits": lambda: "1" * 2_000_000,
}

#: Pages that may take longer than any patience: with workers they are stopped.
SLOW: dict[str, Callable[[], Page]] = {
    "bold and italic pairs": lambda: _alone("<b>bold</b> <i>italic</i> " * 20_000),
    "many attributes": lambda: _around(f"<p {' '.join(f'a{n}=1' for n in range(100_000))}>x</p>"),
    "piled marks": lambda: _alone(TEXTS["piled marks"]()),
}
