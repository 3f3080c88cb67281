"""Texts to fingerprint: made up from a fixed seed, or the main texts of a corpus's pages."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from itertools import accumulate, islice
from pathlib import Path

import trafilatura

from scrapy_simdedup.analysis import Recipe, Source, analyse
from scrapy_simdedup.text.document import Document
from scrapy_simdedup.text.extract import decode

SEED = 20260102
RECIPE = Recipe(methods=("simhash", "sketch"))

_ENGLISH_LETTERS = 3000
_CHINESE_LETTERS = 1000
_VOCABULARY = 20_000

# Of a text's words so many are its own subject's; without them no word of a text would come back.
_SUBJECT = 300

_HAN = re.compile(r"[\u4e00-\u9fff]+")
_COMMON = """
the of and to a in is that for it as was with be by on not he his but at are this have from or had
an they which one you were all her she there would their we him been has when who will no more if
out so said what up its about than into them can only other time new some could these two may first
then do any like my now over such our man me even most made after also did many off before must
"""
_ONSETS = " b c d f g h j k l m n p r s t v w br ch cl dr fl gr pl pr qu sh st th tr "
_VOWELS = "a e i o u a e i o ai ea ee ou"
_CODAS = " n r l s t m d   n r s ck ng nd st rt"


@dataclass(frozen=True)
class Batch:
    """Documents of one language; ``pages`` has the HTML of each where they come from pages."""

    language: str
    documents: list[Document]
    pages: list[str]
    left_out: int = 0

    @classmethod
    def of(cls, language: str, texts: Iterable[str | None], pages: Sequence[str] = ()) -> Batch:
        """Keep the texts that scrapy-simdedup signs: those that are not too short for it."""
        given = list(texts)
        signed = [
            at
            for at, text in enumerate(given)
            if text and analyse(Source(text=(text,)), RECIPE).reason is None
        ]
        documents = [Document.from_text(given[at] or "") for at in signed]
        kept = [pages[at] for at in signed] if pages else []
        return cls(language, documents, kept, len(given) - len(signed))


def made_up(english: int, chinese: int) -> list[Batch]:
    """Return so many English and Chinese texts; the same every time."""
    pick = random.Random(SEED)
    known = [*_COMMON.split(), *_coined()]
    batches = [Batch.of("en", (_english(pick, known) for _ in range(english)))]
    if chinese:
        listed = _dictionary()
        batches.append(Batch.of("zh", (_chinese(pick, listed) for _ in range(chinese))))
    return [batch for batch in batches if batch.documents]


def read_corpus(corpus: Path, wanted: list[str], english: int, chinese: int) -> list[Batch]:
    """Return the texts of the wanted sets (all when none is named), up to so many a language."""
    paths: dict[str, list[Path]] = {"en": [], "zh": []}
    for folder in sorted(corpus.glob("*/pages")):
        name = folder.parent.name
        if not wanted or name in wanted:
            paths["zh" if name.endswith("-zh") else "en"] += sorted(folder.glob("*.html"))
    batches = []
    for language, most in (("en", english), ("zh", chinese)):
        pages = [decode(path.read_bytes()) for path in islice(paths[language], most)]
        batches.append(Batch.of(language, map(main_text, pages), pages))
    return [batch for batch in batches if batch.documents]


def main_text(html: str) -> str | None:
    """Extract a page as the baseline of the extraction ratios does."""
    found: str | None = trafilatura.extract(html, fast=True)
    return found


def _english(pick: random.Random, known: Sequence[str]) -> str:
    words = _subject_words(pick, known)
    # Half of the texts have typographic quotes and dashes, as about half of the Web's.
    opening, closing, dash = pick.choice([('"', '"', "-"), ("\u201c", "\u201d", "\u2013")])
    sentences: list[str] = []
    written = 0
    while written < _ENGLISH_LETTERS:
        sentence = " ".join(next(words) for _ in range(pick.randint(6, 24))).capitalize() + "."
        if pick.random() < 0.1:
            sentence = f"{opening}{sentence}{closing} {dash} {next(words)}."
        sentences.append(sentence + ("\n" if pick.random() < 0.2 else ""))
        written += len(sentence) + 1
    return " ".join(sentences)


def _chinese(pick: random.Random, known: Sequence[str]) -> str:
    words = _subject_words(pick, known)
    clauses: list[str] = []
    written = 0
    while written < _CHINESE_LETTERS:
        clause = "".join(next(words) for _ in range(pick.randint(4, 12)))
        clauses.append(clause + pick.choice("，，，。。\u3001"))
        written += len(clause) + 1
    return "".join(clauses)


def _subject_words(pick: random.Random, known: Sequence[str]) -> Iterator[str]:
    """Yield words without end: of all that are known, and as often of the text's own subject."""
    own = pick.sample(known, min(_SUBJECT, len(known)))
    while True:
        words = pick.choice((known, own))
        yield pick.choices(words, cum_weights=_frequency(len(words)))[0]


@lru_cache
def _frequency(words: int) -> list[float]:
    """Return how often words come by their rank (Mandelbrot 1953), summed up."""
    return list(accumulate(1 / (rank + 2.7) for rank in range(words)))


@lru_cache
def _coined() -> list[str]:
    pick = random.Random(SEED + 1)
    sounds = [each.split(" ") for each in (_ONSETS, _VOWELS, _CODAS)]
    words: dict[str, None] = {}
    while len(words) < _VOCABULARY:
        syllables = pick.choices((1, 2, 3), (4, 5, 1))[0]
        words["".join(pick.choice(sound) for sound in sounds * syllables)] = None
    return list(words)


@lru_cache
def _dictionary() -> list[str]:
    """Return the commonest Han words of jieba's dictionary, by its own frequencies."""
    spec = find_spec("jieba")
    assert spec is not None
    assert spec.origin is not None
    lines = Path(spec.origin).with_name("dict.txt").read_text(encoding="utf-8").splitlines()
    rows = [line.split(" ") for line in lines]
    rows.sort(key=lambda row: (-int(row[1]), row[0]))
    return list(islice((row[0] for row in rows if _HAN.fullmatch(row[0])), _VOCABULARY))
