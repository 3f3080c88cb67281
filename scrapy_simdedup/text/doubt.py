"""Doubts about an extraction: wrong text that is the same on many pages must not lose content.

Consent notices are taken out before extraction, since they have won over articles. What is
extracted is doubted when nearly all of it is links, or when it is next to nothing of what a
person can read: a copy with a doubt is tagged, and never dropped.
"""

from __future__ import annotations

import re
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


def doubt(tree: Any, text: str) -> str | None:
    """Return why an extraction is doubtful: ``links``, ``little-text``, or None.

    ``tree`` is the page as an lxml tree, ``text`` its main text.
    """
    if not text or len(text) > _SURE:
        return None
    links = {link for link in (piece.strip() for piece in tree.xpath(_LINKS)) if len(link) > 1}
    if sum(len(link) for link in links if link in text) > _MOSTLY_LINKS * len(text):
        return "links"
    readable = sum(len(piece.strip()) for piece in tree.xpath(_READABLE))
    return "little-text" if len(text) < _LITTLE * readable else None
