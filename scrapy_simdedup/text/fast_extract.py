"""HTML to main text with resiliparse, which is faster than trafilatura and less exact.

Consent notices go and doubts hold as with trafilatura.
"""

from __future__ import annotations

from typing import Any

from scrapy_simdedup.text.doubt import (
    CONSENT_PLACES,
    LONGEST_NOTICE,
    SURE,
    doubt,
    drop_consent_notices,
    says_consent,
)
from scrapy_simdedup.text.extract import Extract
from scrapy_simdedup.text.normalise import clean

# What of a page is main text. The rest is as trafilatura is told: no comments, and no numbers
# before the items of lists, which differ where an item is left out.
_OPTIONS: dict[str, Any] = {
    "main_content": True,
    "alt_texts": False,
    "list_bullets": False,
    "comments": False,
    "post_meta": False,
}

# Extraction takes time with the square of the nesting; no page that people read is so deep.
_DEEPEST = 600
_TOO_DEEP = " > ".join("*" * _DEEPEST)

# Finds every element that ``says_consent`` finds, and some others, in the time of a glance.
_SOME_NOTICE = "{}:is({})".format(
    f":is({', '.join(CONSENT_PLACES)})",
    ", ".join(
        f'[{name}*="{word}" i]'
        for name in ("id", "class")
        for word in (
            *("cookie", "consent", "gdpr", "onetrust", "didomi"),
            *("usercentrics", "truste", "privacy"),
        )
    ),
)
# Each element of a result is searched for anew: beyond so many a walk through the page is faster.
_FEW = 8


def fast_extract(html: str) -> Extract:
    """Extract the main text of a decoded page with resiliparse, which must be installed."""
    from resiliparse.extract.html2text import extract_plain_text
    from resiliparse.parse.html import HTMLTree

    html = clean(html)
    tree: Any = HTMLTree.parse(html)
    if tree.document.query_selector(_TOO_DEEP) is not None:
        return Extract("")
    _drop_consent_notices(tree)
    text = extract_plain_text(tree, **_OPTIONS).strip()
    if not text or len(text) > SURE:
        return Extract(text)
    # Doubts are about short texts, and look at a tree of lxml's.
    from trafilatura.utils import load_html

    other = load_html(html)
    if other is None:
        return Extract(text)
    drop_consent_notices(other)
    return Extract(text, doubt(other, text))


def _drop_consent_notices(tree: Any) -> None:
    """Take out what ``drop_consent_notices`` takes out of a tree of lxml's."""
    for element in _some_notices(tree):
        if not says_consent(element.id, element.class_name):
            continue
        if element.query_selector("article, main, h1") is not None:
            continue
        if len(element.text) <= LONGEST_NOTICE:
            element.decompose()


def _some_notices(tree: Any) -> list[Any]:
    found = tree.document.query_selector_all(_SOME_NOTICE)
    if len(found) <= _FEW or tree.body is None:
        return list(found[:_FEW])
    from resiliparse.parse.html import traverse_dom

    elements: list[Any] = []
    traverse_dom(tree.body, lambda at: elements.append(at.node), elements_only=True)
    return [element for element in elements if element.tag in CONSENT_PLACES]
