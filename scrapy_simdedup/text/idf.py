"""Frozen IDF tables: how rare a term is, as counted once and never again.

A table that moved while crawling would make equal pages unequal, so it is a file, and its
digest is part of an index's identity. jieba's own table serves Chinese out of the box.
"""

from __future__ import annotations

import gzip
import json
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import xxhash

from scrapy_simdedup.text.document import Document, Shape

_MAGIC = "scrapy-simdedup idf"
_MOST_TERMS = 200_000


@dataclass(frozen=True)
class IdfTable:
    """Terms with their inverse document frequency; a term that is not in it counts as rare.

    ``middle`` is the median of the table: terms whose idf lies below half of it are too common
    to weigh anything.
    """

    idf: dict[str, float]
    rare: float
    middle: float

    def of(self, term: str) -> float:
        """Return the idf of a term, that of a rare one where it is unknown."""
        return self.idf.get(term, self.rare)


@lru_cache(maxsize=4)
def load(path: str) -> IdfTable:
    """Return the table of a file that ``build`` wrote; ``""`` is jieba's own, for Chinese.

    Raises ValueError where the file is no such table, OSError where it cannot be read.
    """
    if not path:
        return _jieba()
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        head = json.loads(next(lines))
        if not isinstance(head, dict) or head.get("what") != _MAGIC:
            raise ValueError(f"{path} is no IDF table")
        total = head["documents"]
        counts = dict(json.loads(line) for line in lines)
    idf = {term: math.log((1 + total) / (1 + count)) for term, count in counts.items()}
    rare = math.log(1 + total)
    middle = median(idf.values()) if idf else 0.0
    if not middle > 0:
        raise ValueError(f"{path} tells no terms apart: it was made of too few texts")
    return IdfTable(idf, rare, middle)


def _jieba() -> IdfTable:
    idf = {}
    for line in jieba_file().read_text(encoding="utf-8").splitlines():
        term, _, value = line.rpartition(" ")
        idf[term] = float(value)
    middle = median(idf.values())
    return IdfTable(idf, middle, middle)


def jieba_file() -> Path:
    """Return the place of jieba's table, which is found without loading jieba."""
    spec = find_spec("jieba")
    if spec is None or spec.origin is None:
        raise ValueError("jieba is not installed")
    return Path(spec.origin).parent / "analyse" / "idf.txt"


def digest(path: str) -> str:
    """Return the digest of a table's file."""
    return xxhash.xxh3_64_hexdigest((Path(path) if path else jieba_file()).read_bytes())


def build(texts: Iterable[str], path: Path, shape: Shape | None = None) -> int:
    """Count in how many texts each term stands, write the table, and return their number.

    Of the ``shape`` the user dictionary counts, by which Chinese is cut into terms.
    The most frequent 200,000 terms that stand in at least two texts are kept.
    """
    counts: Counter[str] = Counter()
    total = 0
    for text in texts:
        document = Document.from_text(text, shape=shape)
        if document.terms:
            counts.update(set(document.terms))
            total += 1
    common = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:_MOST_TERMS]
    path.parent.mkdir(parents=True, exist_ok=True)
    # No time stamp in it: equal texts make equal files.
    with (
        path.open("wb") as file,
        gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as out,
    ):
        head = {"what": _MAGIC, "documents": total}
        out.write((json.dumps(head) + "\n").encode())
        for term, count in common:
            if count > 1:
                out.write((json.dumps([term, count], ensure_ascii=False) + "\n").encode())
    return total
