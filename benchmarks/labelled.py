"""Labelled sets of pages, and their main texts, extracted once in a process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from unittest.mock import patch

import trafilatura
import xxhash
from scoring import Pairs

from scrapy_simdedup import analysis
from scrapy_simdedup.text.document import Document
from scrapy_simdedup.text.extract import decode
from scrapy_simdedup.text.normalise import clean

_ORDER = [
    "syndicated-en",
    "syndicated-hard",
    "syndicated-zh",
    "manual-en",
    "manual-zh",
    "manual-npm",
    "help-zh",
    "web-pages",
]


@dataclass(frozen=True)
class LabelledSet:
    """Pages by name, in sorted order, and the labels of their pairs."""

    name: str
    pages: dict[str, bytes]
    pairs: Pairs

    @property
    def chinese(self) -> bool:
        """Whether the pages are Chinese, by the set's name."""
        return self.name.endswith("-zh")

    @cached_property
    def texts(self) -> list[str]:
        """The main text of each page, as the peers get it: trafilatura's, ``""`` for none."""
        return [
            trafilatura.extract(
                clean(decode(body)),
                fast=True,
                include_comments=False,
                include_tables=True,
                deduplicate=False,
            )
            or ""
            for body in self.pages.values()
        ]

    @cached_property
    def words(self) -> list[list[str]]:
        """The terms of each text as scrapy-simdedup segments it."""
        return [Document.from_text(text).terms for text in self.texts]


@dataclass(frozen=True)
class JudgedPair:
    """Two texts and a person's grade; ``duplicate`` is None where that is neither yes nor no."""

    texts: tuple[str, str]
    duplicate: bool | None


def read_sets(corpus: Path, wanted: list[str]) -> list[LabelledSet]:
    """Read the wanted sets of a corpus (all of them when none is named)."""
    found = sorted(pairs.parent.name for pairs in corpus.glob("*/pairs.tsv"))
    found.sort(key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))
    return [
        LabelledSet(
            name,
            {path.name: path.read_bytes() for path in sorted((corpus / name / "pages").iterdir())},
            Pairs.read(corpus / name / "pairs.tsv"),
        )
        for name in found
        if (corpus / name / "pages").is_dir() and (not wanted or name in wanted)
    ]


def read_judged(corpus: Path, wanted: list[str]) -> list[JudgedPair]:
    """Read the pairs of texts that people judged: grade 2 and more is a duplicate, 1 neither."""
    path = corpus / "human-judged" / "pairs.jsonl"
    if not path.is_file() or (wanted and "human-judged" not in wanted):
        return []
    pairs = []
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            grade = float(row["grade"])
            verdict = True if grade >= 2 else False if grade < 1 else None
            pairs.append(JudgedPair((row["text_a"], row["text_b"]), verdict))
    return pairs


@contextmanager
def one_extraction_a_page() -> Iterator[None]:
    """Remember, in this process, what scrapy-simdedup extracted from a page."""
    from scrapy_simdedup.text.extract import extract as real

    known: dict[bytes, Any] = {}

    def extract(html: str) -> Any:
        digest = xxhash.xxh3_128_digest(html.encode("utf-8", "surrogatepass"))
        if digest not in known:
            known[digest] = real(html)
        return known[digest]

    with patch.object(analysis, "extract", extract):
        yield
