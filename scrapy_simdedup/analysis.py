"""``analyse``: a page or text in, a small picklable Analysis out; knows no Scrapy, no index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from scrapy_simdedup.digests import content_digest
from scrapy_simdedup.guards import facts, rest
from scrapy_simdedup.index.records import ABOUT
from scrapy_simdedup.methods import METHODS
from scrapy_simdedup.methods.keywords import about_digest
from scrapy_simdedup.text.document import Document, Hashes, Shape
from scrapy_simdedup.text.extract import Extract, decode, describe, extract
from scrapy_simdedup.text.fast_extract import fast_extract
from scrapy_simdedup.text.normalise import normalise
from scrapy_simdedup.text.packing import pack

if TYPE_CHECKING:
    from scrapy_simdedup.config import Config

# Every page is signed by these: distance and resemblance stand in every decision.
# The sketch comes first: the hashes of all terms, which it needs, serve the fingerprint as well.
_ALWAYS = (METHODS["sketch"], METHODS["simhash"])


@dataclass(frozen=True)
class Source:
    """What is judged: parts with markup, which are extracted, and parts that are plain text."""

    html: tuple[str, ...] = ()
    text: tuple[str, ...] = ()

    @property
    def digest(self) -> bytes:
        """The digest of the content as it came, 16 bytes."""
        return content_digest(f"{len(self.html)} html", *self.html, *self.text)

    @classmethod
    def of(cls, html: str | bytes | None, text: str | None = None) -> Source:
        """Return the source of a page's HTML, decoded where it is bytes, or of a main text."""
        if isinstance(html, bytes):
            html = decode(html)
        return cls((html,)) if html is not None else cls(text=(text or "",))


@dataclass(frozen=True)
class Recipe:
    """How to analyse: extractor, the methods that sign, their shape, the fewest distinct terms.

    ``store_text`` asks for the text itself as well, and for what else signing anew would need.
    """

    extractor: str = "trafilatura"
    methods: tuple[str, ...] = ()
    min_terms: int = 17
    shape: Shape = Shape()
    store_text: bool = False

    @classmethod
    def of(cls, config: Config) -> Recipe:
        """Return the recipe that a config asks for."""
        return cls(
            *(config.extractor, config.methods, config.min_terms, config.shape, config.store_text)
        )


@dataclass(frozen=True)
class Analysis:
    """What judging needs of a text; ``reason`` says why there is nothing to judge.

    ``digest`` is the XXH3-128 of the normalised text, ``terms`` the number of distinct terms,
    ``signature`` the methods' and guards' parts, which are stored, and ``shingles`` the hashes
    of the distinct 3-shingles in reading order, which are not. ``text`` is the text, packed,
    where the recipe asks for it.
    """

    reason: str | None
    digest: bytes
    terms: int
    signature: Mapping[str, bytes]
    shingles: Hashes
    text: bytes | None = None

    @property
    def doubt(self) -> str | None:
        """Why the extraction may have the wrong text; such a page is never dropped."""
        return self.signature.get("doubt", b"").decode("ascii") or None

    @classmethod
    def of_kept(cls, digest: bytes, terms: int, signature: Mapping[str, bytes]) -> Analysis:
        """Return the analysis of a text that is kept: all but its shingles."""
        return cls(None, digest, terms, signature, np.empty(0, dtype=np.uint64))


# Texts whose analysis is remembered: a login wall or an error page comes many times in a row,
# each time in markup of its own.
_REMEMBERED = 32


def analyse(source: Source, recipe: Recipe) -> Analysis:
    """Extract, normalise, segment, weigh and sign.

    A text with fewer distinct terms than ``min_terms`` (and any text without terms, of which
    all would look alike) is not signed: its reason is ``too-short``, or ``no-text`` where
    markup held no main text at all.
    """
    extracted = [extract_with(html, recipe.extractor) for html in source.html]
    about = describe(source.html[0]) if source.html else ""
    text = "\n".join([*(each.text for each in extracted), *source.text])
    found = _analyse_text(text, about, recipe)
    if found.reason:
        empty = source.html and not normalise(text)
        return replace(found, reason="no-text") if empty else found
    doubts = [each.doubt for each in extracted]
    signature = dict(found.signature)
    # Parts of an item are one text by the user's word; a page is one extraction.
    signature["rest"] = rest.sign(doubts[0]) if len(doubts) == 1 and not source.text else b""
    doubt = next((each.reason for each in doubts if each.reason), None)
    if doubt:
        signature["doubt"] = doubt.encode("ascii")
    if recipe.store_text:
        signature[ABOUT] = about_digest(about)
    return replace(found, signature=signature)


@lru_cache(maxsize=_REMEMBERED)
def _analyse_text(text: str, about: str, recipe: Recipe) -> Analysis:
    document = Document.from_text(text, about, recipe.shape)
    terms = len(document.weights)
    packed = pack(document.raw) if recipe.store_text else None
    if not terms or terms < recipe.min_terms:
        return Analysis("too-short", document.digest, terms, {}, document.shingles(0), packed)
    methods = (*_ALWAYS, *(METHODS[name] for name in recipe.methods))
    signers = {method.part_name: method for method in methods}
    signature = {name: method.sign(document) for name, method in signers.items()}
    signature["facts"] = facts.sign(document)
    return Analysis(None, document.digest, terms, signature, document.shingles(3), packed)


def extract_with(html: str, name: str) -> Extract:
    """Extract a page's main text with the extractor of that name."""
    if name == "trafilatura":
        return extract(html)
    if name == "resiliparse":
        return fast_extract(html)
    from scrapy.utils.misc import load_object

    return Extract(load_object(name)(html) or "")
