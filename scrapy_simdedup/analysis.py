"""``analyse``: a page or text in, a small picklable Analysis out; knows no Scrapy, no index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from scrapy_simdedup.methods import METHODS, facts
from scrapy_simdedup.text.document import Document, Hashes, Shape
from scrapy_simdedup.text.extract import describe, extract

# Every page is signed by these: distance and resemblance stand in every decision.
_ALWAYS = (METHODS["simhash"], METHODS["sketch"])


@dataclass(frozen=True)
class Source:
    """What is judged: parts with markup, which are extracted, and parts that are plain text."""

    html: tuple[str, ...] = ()
    text: tuple[str, ...] = ()


@dataclass(frozen=True)
class Recipe:
    """How to analyse: extractor, the methods that sign, their shape, the fewest distinct terms."""

    extractor: str = "trafilatura"
    methods: tuple[str, ...] = ()
    min_terms: int = 17
    shape: Shape = Shape()


@dataclass(frozen=True)
class Analysis:
    """What judging needs of a text; ``reason`` says why there is nothing to judge.

    ``digest`` is the XXH3-128 of the normalised text, ``terms`` the number of distinct terms,
    ``signature`` the methods' parts, which are stored, and ``shingles`` the hashes of the
    distinct 3-shingles in reading order, which are not.
    """

    reason: str | None
    digest: bytes
    terms: int
    signature: Mapping[str, bytes]
    shingles: Hashes


def analyse(source: Source, recipe: Recipe) -> Analysis:
    """Extract, normalise, segment, weigh and sign.

    A text with fewer distinct terms than ``min_terms`` (and any text without terms, of which
    all would look alike) is not signed: its reason is ``too-short``, or ``no-text`` where
    markup held no main text at all.
    """
    extracted = [_extractor(recipe.extractor)(html) for html in source.html]
    about = describe(source.html[0]) if source.html else ""
    document = Document.from_text("\n".join([*extracted, *source.text]), about, recipe.shape)
    terms = len(document.weights)
    reason = None
    if source.html and not document.text:
        reason = "no-text"
    elif not terms or terms < recipe.min_terms:
        reason = "too-short"
    if reason:
        return Analysis(reason, document.digest, terms, {}, document.shingles(0))
    methods = (*_ALWAYS, *(METHODS[name] for name in recipe.methods))
    signers = {method.part_name: method for method in methods}
    signature = {name: method.sign(document) for name, method in signers.items()}
    signature["facts"] = facts.sign(document)
    return Analysis(None, document.digest, terms, signature, document.shingles(3))


@lru_cache(maxsize=8)
def _extractor(name: str) -> Any:
    if name == "trafilatura":
        return extract
    from scrapy.utils.misc import load_object

    return load_object(name)
