"""Doubts about an extraction: wrong text that is the same on many pages must not lose content.

Consent notices are taken out before extraction, since they have won over articles. What is
extracted is doubted when nearly all of it is links, when it is next to nothing of what a
person can read, or when two pages of one template agree in it while most of their prose is
elsewhere and differs: a copy with a doubt is tagged, and never dropped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

# Where a consent notice may be: the words must stand in an id or a class.
_CONSENT = re.compile(
    r"cookie|consent|gdpr|onetrust|didomi|usercentrics|truste|privacy-?(?:banner|notice|overlay)",
    re.IGNORECASE,
)
_CONSENT_HTML = re.compile(
    rf"(?:id|class)\s*=\s*[\"'][^\"'>]*(?:{_CONSENT.pattern})", re.IGNORECASE
)
_CONSENT_PLACES = "//*[self::div or self::section or self::aside or self::dialog or self::form]"
# A container of more characters, or one with an article in it, is no notice.
_LONGEST_NOTICE = 4000

_READABLE = (
    "//text()[not(parent::script or parent::style or parent::noscript or parent::template"
    " or parent::title or ancestor::a)]"
)
_LINKS = "//a//text()"

# An extraction of more characters is an article; measuring costs time.
_SURE = 3000
_LITTLE = 0.1
_MOSTLY_LINKS = 0.6
# A piece of text of so many characters is prose, a shorter one belongs to the frame.
_PROSE = 60


def has_consent_notice(html: str) -> bool:
    """Tell, at little cost, whether a page may have a consent notice to take out."""
    return _CONSENT_HTML.search(html) is not None


def drop_consent_notices(tree: Any) -> None:
    """Take consent notices out of an lxml tree."""
    for element in tree.xpath(_CONSENT_PLACES):
        names = f"{element.get('id', '')} {element.get('class', '')}"
        if element.getparent() is None or not _CONSENT.search(names):
            continue
        if element.xpath("count(.//article | .//main | .//h1)"):
            continue
        if len(element.text_content()) <= _LONGEST_NOTICE:
            element.drop_tree()


@dataclass(frozen=True)
class Doubt:
    """Why an extraction may be the wrong text, and what of the page it left out.

    ``reason`` is ``links``, ``little-text`` or None. Where more prose was left out than taken,
    ``prose`` holds those paragraphs and ``frame`` the page's short texts (menus, labels), by
    which pages of one template know each other; both are empty otherwise.
    """

    reason: str | None = None
    prose: frozenset[str] = frozenset()
    frame: frozenset[str] = frozenset()


def doubt(tree: Any, text: str) -> Doubt:
    """Look at what an extraction made of a page: an lxml tree, and its main text."""
    if not text or len(text) > _SURE:
        return Doubt()
    links = {link for link in map(str.strip, tree.xpath(_LINKS)) if len(link) > 1}
    if sum(len(link) for link in links if link in text) > _MOSTLY_LINKS * len(text):
        return Doubt("links")
    pieces = {" ".join(piece.split()) for piece in tree.xpath(_READABLE)} - {""}
    reason = "little-text" if len(text) < _LITTLE * sum(map(len, pieces)) else None
    taken = _squeezed(text)
    prose = frozenset(
        piece for piece in pieces if len(piece) >= _PROSE and _squeezed(piece)[:_PROSE] not in taken
    )
    if sum(map(len, prose)) <= len(text):
        return Doubt(reason)
    frame = frozenset(piece for piece in pieces | links if len(piece) < _PROSE)
    return Doubt(reason, prose, frame)


def _squeezed(text: str) -> str:
    return "".join(text.split())
