"""HTML to main text with trafilatura: navigation, logo, consent and copyright are noise."""

from __future__ import annotations

import codecs
import logging
import re
from dataclasses import dataclass
from html import unescape
from itertools import islice

from w3lib.encoding import html_to_unicode

from scrapy_simdedup.text.doubt import Doubt, doubt, drop_consent_notices
from scrapy_simdedup.text.normalise import clean

_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

# The head of a page is looked through so far, in characters, and so many tags of it: one that
# does not end costs as much as the whole head.
_HEAD = 100_000
_MOST_TAGS = 200
_META_START = re.compile(r"<meta\b", re.IGNORECASE)
_META = re.compile(r"<meta\b(?:\"[^\"]*\"|'[^']*'|[^>\"'])*>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"(?<![\w:-])([\w:-]+)\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s\"'>]+)")

# What trafilatura and its helpers log is about their own heuristics and may quote the page.
_CHATTY = ("trafilatura", "htmldate", "justext")


def decode(body: bytes) -> str:
    """Decode the bytes of a stored page, which came without its Content-Type header.

    A byte order mark decides, then validity as UTF-8 (tools save pages in it and leave the
    old ``meta`` in), then ``meta``, then a guess. Undecodable bytes become U+FFFD.
    """
    if not body.startswith(_MARKS):
        try:
            return body.decode("utf-8")
        except UnicodeDecodeError:
            pass
    return html_to_unicode(None, body, auto_detect_fun=_guess)[1]


def _guess(body: bytes) -> str:
    for encoding in ("gb18030", "cp1252"):
        try:
            body.decode(encoding)
        except UnicodeDecodeError:
            continue
        return encoding
    return "latin-1"


@dataclass(frozen=True)
class Extract:
    """A page's main text, ``""`` where there is none, and what speaks against it."""

    text: str
    doubt: Doubt = Doubt()


def extract(html: str) -> Extract:
    """Extract the main text of a decoded page with trafilatura.

    Comments are off (a page is the same page when it gets one more), tables are on (a page of
    results differs in its cells), and ``deduplicate`` stays off: it keeps state from call to
    call, so that the same page yields less and less text (adbar/trafilatura#778).
    """
    import trafilatura
    from trafilatura.utils import load_html

    for name in _CHATTY:
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.CRITICAL)
    html = clean(html)
    tree = load_html(html)
    if tree is None:
        return Extract("")
    drop_consent_notices(tree)
    # It works on a copy of a tree that is given to it.
    text = trafilatura.extract(
        tree,
        fast=True,
        include_comments=False,
        include_tables=True,
        deduplicate=False,
    )
    return Extract(text or "", doubt(tree, text or ""))


def describe(html: str) -> str:
    """Return a page's meta description, ``""`` where there is none."""
    end = 0
    for start in islice(_META_START.finditer(html, 0, _HEAD), _MOST_TAGS):
        tag = _META.match(html, start.start(), _HEAD) if start.start() >= end else None
        if tag is None:
            continue
        end = tag.end()
        attributes = {
            name.lower(): unescape(value.strip("\"'"))
            for name, value in _ATTRIBUTE.findall(tag.group())
        }
        if attributes.get("name", "").lower() == "description":
            return attributes.get("content", "")
    return ""
