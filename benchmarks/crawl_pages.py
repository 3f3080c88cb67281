"""The pages of the crawl benchmark: real ones from a folder, made-up ones, varied ones."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from scrapy_simdedup.text.extract import decode

#: Pages that are crawled before the clock starts; as many as are worked on at a time.
WARM = 16

# A run of text between tags that is long enough to be more than a label.
_RUN = re.compile(r">([^<]{20,})<")
_CHINESE = re.compile("[\u4e00-\u9fff]")

_CONSONANTS, _VOWELS = "bcdfghklmnprstvz", "aeiou"
# Frequent characters; pairs of them are the words of made-up Chinese.
_CHARACTERS = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年"
    "过发后作里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心"
)


class Writer:
    """Writes made-up text; the same seed writes the same."""

    def __init__(self, seed: int) -> None:
        pick = random.Random(f"words/{seed}")
        self._english = sorted(
            {
                "".join(
                    pick.choice(_CONSONANTS) + pick.choice(_VOWELS)
                    for _ in range(pick.choice((2, 3, 3, 4)))
                )
                for _ in range(4000)
            }
        )
        pairs = {pick.choice(_CHARACTERS) + pick.choice(_CHARACTERS) for _ in range(3000)}
        self._chinese = sorted(pairs)

    def text(self, pick: random.Random, length: int, *, chinese: bool = False) -> str:
        """Return sentences of about so many characters."""
        words, gap, stop = self._english, " ", ". "
        if chinese:
            words, gap, stop = self._chinese, "", "。"
        count = max(4, length // (2 if chinese else 7))
        chosen = pick.choices(words, k=count)
        sentences = (chosen[at : at + 14] for at in range(0, count, 14))
        return stop.join(gap.join(each).capitalize() for each in sentences) + stop.strip()


def read(folder: Path, most: int) -> list[bytes]:
    """Return up to ``most`` of the pages below a folder, spread evenly over its sets.

    A set is a folder with ``pages/*.html``. The sets take turns, each in the order of its names.
    """
    sets = sorted({path.parent for path in folder.rglob("pages/*.html")})
    turns = zip_longest(*(sorted(each.glob("*.html")) for each in sets))
    paths = [path for turn in turns for path in turn if path is not None]
    return [path.read_bytes() for path in paths[:most]]


def made_up(count: int, seed: int) -> list[bytes]:
    """Return made-up pages; every fifth one reprints an earlier one, with a sentence more."""
    writer, pages = Writer(seed), []
    stories: list[list[str]] = []
    for number in range(count):
        pick = random.Random(f"page/{seed}/{number}")
        if number % 5 == 4:
            story = [*stories[pick.randrange(len(stories))], writer.text(pick, 90)]
        else:
            lengths = [pick.randrange(250, 700) for _ in range(pick.randrange(4, 14))]
            story = [writer.text(pick, length) for length in lengths]
            stories.append(story)
        pages.append(_page(story, writer.text(pick, 60), writer, pick))
    return pages


def warm_ups(pages: list[bytes], seed: int) -> list[bytes]:
    """Return pages that make workers load what they need; half in Chinese if any page is."""
    writer = Writer(seed)
    chinese = any(_CHINESE.search(page.decode("utf-8", "ignore")) for page in pages)
    warm = []
    for number in range(WARM):
        pick = random.Random(f"warm/{seed}/{number}")
        story = [writer.text(pick, 500, chinese=chinese and number % 2 == 0) for _ in range(5)]
        warm.append(_page(story, f"Warm-up {number}", writer, pick))
    return warm


def _page(story: list[str], title: str, writer: Writer, pick: random.Random) -> bytes:
    links = "".join(
        f'<li class="menu-item"><a href="#{number}">{writer.text(pick, 20)}</a></li>'
        for number in range(pick.randrange(20, 80))
    )
    body = "\n".join(f"<p>{paragraph}</p>" for paragraph in story)
    return (
        f'<!doctype html><html><head><meta charset="utf-8"><title>{title}</title></head><body>'
        f'<header><nav><ul>{links}</ul></nav></header><main><article class="post"><h1>{title}</h1>'
        f'<div class="entry-content">{body}</div></article></main>'
        f"<footer><p>{writer.text(pick, 80)}</p><ul>{links}</ul></footer></body></html>"
    ).encode()


class Variations:
    """Any number of pages from a few: a third near-duplicates, the others texts of their own.

    A near-duplicate is a page with a sentence more in its longest run of text. In the others
    each run of text gives way to a made-up one of the same length and script.
    """

    def __init__(self, pages: list[bytes], seed: int) -> None:
        self._pages, self._seed, self._writer = pages, seed, Writer(seed)

    def page(self, number: int) -> str:
        """Return the page of that number."""
        html = decode(self._pages[number % len(self._pages)])
        pick = random.Random(f"vary/{self._seed}/{number}")
        if (number // len(self._pages)) % 3 == 0:
            at = max(self._runs(html), default=(0, 0))[1]
            return f"{html[:at]} {self._writer.text(pick, 90)} {html[at:]}"

        def other(run: re.Match[str]) -> str:
            chinese = bool(_CHINESE.search(run[1]))
            return f">{self._writer.text(pick, len(run[1]), chinese=chinese)}<"

        return _RUN.sub(other, html)

    @staticmethod
    def _runs(html: str) -> Iterator[tuple[int, int]]:
        body = max(0, html.find("<body"))
        for run in _RUN.finditer(html, body):
            tag = html.rfind("<", 0, run.start())
            if not html.startswith(("<script", "<style"), tag):
                yield len(run[1]), run.end(1)
