"""scrapy-simdedup as a contestant: default settings, the presets, and each method alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import xxhash
from labelled import JudgedPair, LabelledSet
from scoring import Decision, Score, score

from scrapy_simdedup import ConfigError, Deduplicator
from scrapy_simdedup.config import Config, unknown_settings
from scrapy_simdedup.methods import METHODS
from scrapy_simdedup.text import document

DEFAULT = "scrapy-simdedup, default settings"

# Names of SIMDEDUP_METHODS that stand for several methods or for a rule of their own.
_PRESETS = ("classic", "keywords")
_KNOWN = ("simhash", "sketch", "piecewise", *(f"keywords-{rule}" for rule in range(1, 6)))


@dataclass(frozen=True)
class Variant:
    """Settings of scrapy-simdedup under a name, and constants (module:name) to change."""

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)

    @property
    def usable(self) -> bool:
        """Whether the installed package knows these settings and takes their values."""
        try:
            Config.from_settings(self.settings)
        except ConfigError:
            return False
        return not unknown_settings(self.settings)


def variants() -> tuple[list[Variant], list[str]]:
    """Return the contestants that the installed package offers, and what it does not offer."""
    names = [*_PRESETS, *METHODS, *(name for name in _KNOWN if name not in METHODS)]
    chosen, missing = [Variant(DEFAULT)], []
    for name in dict.fromkeys(names):
        kind = "preset" if name in _PRESETS else "method"
        variant = Variant(
            f"preset {name}" if kind == "preset" else f"{name} alone", {"SIMDEDUP_METHODS": [name]}
        )
        if variant.usable:
            chosen.append(variant)
        else:
            missing.append(f"no row for the {kind} {name}: the installed package has none")
    fast = Variant("extractor resiliparse", {"SIMDEDUP_EXTRACTOR": "resiliparse"})
    if fast.usable:
        chosen.append(fast)
    else:
        missing.append("no row for the extractor resiliparse: it is not installed")
    return chosen, missing


def judge(pages: LabelledSet, variant: Variant) -> Score:
    """Judge the pages of a set in sorted order against a new index, as a crawl would."""
    with (
        _constants(variant.constants),
        TemporaryDirectory() as folder,
        Deduplicator(Path(folder, "index.db"), variant.settings) as dedup,
    ):
        verdicts = [(name, dedup.check(name, html=body)) for name, body in pages.pages.items()]
    return score(
        (Decision(name, found.status, found.original, found.reason) for name, found in verdicts),
        pages.pairs,
    )


def match_pairs(pairs: list[JudgedPair], variant: Variant) -> list[bool]:
    """Tell of each pair whether one of its texts, in either order, is a duplicate of the other.

    Each pair and order is a site of its own, and only pages of one site are compared; so all
    of them share one index and meet nobody else.
    """
    settings = {**variant.settings, "SIMDEDUP_SCOPE": "site"}
    found = []
    with TemporaryDirectory() as folder, Deduplicator(Path(folder, "index.db"), settings) as dedup:
        for number, pair in enumerate(pairs):
            near = False
            for order, texts in (("ab", pair.texts), ("ba", pair.texts[::-1])):
                site = f"https://pair-{number}-{order}.com"
                dedup.check(f"{site}/first", text=texts[0])
                near |= dedup.check(f"{site}/second", text=texts[1]).is_duplicate
            found.append(near)
    return found


@contextmanager
def hash_seed(seed: int) -> Iterator[None]:
    """Hash terms with another seed; 0 is the seed of the package."""

    def seeded(data: bytes) -> bytes:
        return xxhash.xxh3_64_digest(data, seed=seed)

    stand_in = SimpleNamespace(xxh3_64_digest=seeded, xxh3_128_digest=xxhash.xxh3_128_digest)
    with patch.object(document, "xxhash", stand_in):
        yield


@contextmanager
def _constants(changed: Mapping[str, Any]) -> Iterator[None]:
    patches = [patch(path.replace(":", "."), value) for path, value in changed.items()]
    for each in patches:
        each.start()
    try:
        yield
    finally:
        for each in patches:
            each.stop()
