"""What is timed, and how: a pass of one contestant over all documents; scrapy-simdedup's stages."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from fingerprint_texts import RECIPE, Batch, main_text

from scrapy_simdedup.analysis import Source, analyse
from scrapy_simdedup.methods import METHODS
from scrapy_simdedup.methods.simhash import fingerprint
from scrapy_simdedup.text.document import Document
from scrapy_simdedup.text.normalise import normalise
from scrapy_simdedup.text.segment import segment
from scrapy_simdedup.text.weigh import weigh

PRODUCT = "product"
Work = Callable[[Any], Any]


@dataclass(frozen=True)
class Contest:
    """One contestant's way with the documents of a language; ``run`` returns a pass's seconds."""

    who: str
    what: str
    language: str
    run: Callable[[], float]


@dataclass(frozen=True)
class Way:
    """A way to sign: what it is given of a document, and what it does with that.

    Each pass is given its inputs anew, so that nothing is remembered from the pass before;
    making them is not timed. ``begin`` makes an empty index where the way needs one.
    """

    who: str
    what: str
    given: Callable[[Document], Any]
    begin: Callable[[], Work]
    chinese: bool = True

    def contest(self, batch: Batch) -> Contest:
        """Return the contest on a batch."""
        return Contest(self.who, self.what, batch.language, partial(self._pass, batch.documents))

    def _pass(self, documents: Sequence[Document]) -> float:
        return timed([self.given(each) for each in documents], self.begin())


def timed(inputs: Sequence[Any], work: Work) -> float:
    """Return the seconds that the work on all inputs took."""
    start = time.perf_counter()
    for each in inputs:
        work(each)
    return time.perf_counter() - start


def weighted(document: Document) -> Document:
    """Return the document with nothing but its weighted terms, and no hash computed."""
    return replace(document, terms=list(document.weights))


def repeated(document: Document) -> list[str]:
    """Return each weighted term as often as it weighs."""
    return [term for term, weight in document.weights.items() for _ in range(weight)]


def always(work: Work) -> Callable[[], Work]:
    """Return a beginning for work that needs no index."""
    return lambda: work


def raw(document: Document) -> str:
    """Return the main text as it was extracted."""
    return document.raw


def terms(document: Document) -> list[str]:
    """Return all terms in reading order."""
    return document.terms


def distinct(document: Document) -> list[str]:
    """Return the weighted terms, each once."""
    return list(document.weights)


STAGES = (
    Way(PRODUCT, "normalise", raw, always(normalise)),
    Way(PRODUCT, "segment", lambda document: document.text, always(segment)),
    Way(PRODUCT, "weigh", terms, always(lambda terms: weigh(Counter(terms)))),
    Way(PRODUCT, "sign", weighted, always(fingerprint)),
    Way(PRODUCT, "sketch", replace, always(METHODS["sketch"].sign)),
    Way(
        PRODUCT,
        "analyse",
        lambda document: Source(text=(document.raw,)),
        always(lambda source: analyse(source, RECIPE)),
    ),
)


def page_contests(batch: Batch) -> list[Contest]:
    """Return what is timed on HTML: extraction alone, and everything."""

    def everything(html: str) -> Any:
        return analyse(Source((html,)), RECIPE)

    works: dict[str, Work] = {"extract": main_text, "full": everything}
    return [
        Contest(PRODUCT, what, batch.language, partial(timed, batch.pages, work))
        for what, work in works.items()
        if batch.pages
    ]
