"""The stories as written, before any template is put around them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from importlib.resources import files

PACKAGE = "newsdemo.site"

CORRECTED_SLUG = "ferry-summer-timetable"
_WRONG = "Under the new arrangement there will be four sailings a day during the summer."
_RIGHT = "Under the new arrangement there will be three sailings a day during the summer."
_NOTE = (
    "Correction, 23 March: an earlier version of this article gave the number of daily "
    "sailings as four. The operator has confirmed that there will be three."
)


@dataclass(frozen=True)
class Story:
    """One article: its paragraphs and the lines above them."""

    slug: str
    headline: str
    byline: str
    summary: str
    paragraphs: tuple[str, ...]


@dataclass(frozen=True)
class Reprint:
    """How another site presents a story that it took over."""

    original: str
    slug: str
    headline: str
    summary: str


def resource(*parts: str) -> str:
    """Return the text of a file that lies beside this module."""
    node = files(PACKAGE)
    for part in parts:
        node = node.joinpath(part)
    return node.read_text(encoding="utf-8")


def _blocks(text: str) -> list[str]:
    return [block.strip() for block in re.split(r"\n\s*\n", text) if block.strip()]


def load_stories(language: str, edition: int = 1) -> dict[str, Story]:
    """Return the stories of a language by slug, in alphabetical order.

    From the second edition on, one English story appears in its corrected wording.
    """
    folder = files(PACKAGE).joinpath("stories").joinpath(language)
    stories: dict[str, Story] = {}
    for name in sorted(node.name for node in folder.iterdir() if node.name.endswith(".txt")):
        head, *paragraphs = _blocks(resource("stories", language, name))
        headline, byline, summary = head.splitlines()
        slug = name[: -len(".txt")]
        stories[slug] = Story(slug, headline, byline, summary, tuple(paragraphs))
    if edition >= 2 and CORRECTED_SLUG in stories:
        stories[CORRECTED_SLUG] = _corrected(stories[CORRECTED_SLUG])
    return stories


def _corrected(story: Story) -> Story:
    if not any(_WRONG in paragraph for paragraph in story.paragraphs):
        raise ValueError(f"{story.slug} does not hold the sentence to correct")
    mended = tuple(paragraph.replace(_WRONG, _RIGHT) for paragraph in story.paragraphs)
    return replace(story, paragraphs=(*mended, _NOTE))


def load_reprints(language: str) -> list[Reprint]:
    """Return the reprints that are made of the stories of a language."""
    text = resource("stories", f"reprints_{language}.txt")
    return [Reprint(*block.splitlines()) for block in _blocks(text)]
