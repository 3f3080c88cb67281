"""Doubts about an extraction: wrong text that is the same on many pages must not lose content.

Consent notices are taken out before extraction, since they have won over articles. What is
extracted is doubted when nearly all of it is links, when it is next to nothing of what a
person can read, or when two pages of one template agree in it while most of their prose is
elsewhere and differs: a copy with a doubt is tagged, and never dropped.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from lxml import etree

# Where a consent notice may be: the words, in lower case, must stand in an id or a class.
_CONSENT = re.compile(
    r"cookie|consent|gdpr|onetrust|didomi|usercentrics|truste|privacy-?(?:banner|notice|overlay)"
)
CONSENT_PLACES = ("div", "section", "aside", "dialog", "form")
# A container of more characters, or one with an article in it, is no notice.
LONGEST_NOTICE = 4000

# Text directly in these is no reader's.
_UNREADABLE = ("script", "style", "noscript", "template", "title")

# An extraction of more characters is an article; measuring costs time.
SURE = 3000
_LITTLE = 0.1
_MOSTLY_LINKS = 0.6
# A piece of text of so many characters is prose, a shorter one belongs to the frame.
_PROSE = 60

# All text nodes of a tree, those in links, and those that no reader sees. In this form libxml2
# walks the tree once; "//*/text()" and the like put many small sets together.
_ALL, _LINKED, _HIDDEN = (
    etree.XPath(path, smart_strings=False)
    for path in ("//text()", "//a//text()", "|".join(f"//{tag}/text()" for tag in _UNREADABLE))
)


def says_consent(*names: str | None) -> bool:
    """Tell whether an element's id and class are those of a consent notice."""
    return _CONSENT.search(" ".join(filter(None, names)).lower()) is not None


def drop_consent_notices(tree: Any) -> None:
    """Take consent notices out of an lxml tree."""
    for element in list(tree.iter(*CONSENT_PLACES)):
        if not says_consent(element.get("id"), element.get("class")) or element.getparent() is None:
            continue
        if next(element.iter("article", "main", "h1"), None) is not None:
            continue
        if len(element.text_content()) <= LONGEST_NOTICE:
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
    if not text or len(text) > SURE:
        return Doubt()
    pieces, links = _readable(tree)
    if sum(len(link) for link in links if link in text) > _MOSTLY_LINKS * len(text):
        return Doubt("links")
    reason = "little-text" if len(text) < _LITTLE * sum(map(len, pieces)) else None
    taken = _squeezed(text)
    prose = frozenset(
        piece for piece in pieces if len(piece) >= _PROSE and _squeezed(piece)[:_PROSE] not in taken
    )
    if sum(map(len, prose)) <= len(text):
        return Doubt(reason)
    frame = frozenset(piece for piece in pieces | links if len(piece) < _PROSE)
    return Doubt(reason, prose, frame)


def _readable(tree: Any) -> tuple[set[str], set[str]]:
    """Return the texts that a reader sees outside of links, and those of the links."""
    linked = Counter(_LINKED(tree))
    texts = Counter(_ALL(tree))
    # By number: what stands in a link may stand elsewhere as well.
    texts.subtract(linked)
    texts.subtract(_HIDDEN(tree))
    pieces = {" ".join(text.split()) for text, count in texts.items() if count > 0}
    return pieces - {""}, {link for link in map(str.strip, linked) if len(link) > 1}


def _squeezed(text: str) -> str:
    return "".join(text.split())
