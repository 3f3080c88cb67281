"""Putting texts into the HTML templates of the four sites."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from string import Template

from .stories import Story, resource

Link = tuple[str, str]  # an address and the words that lead to it


@dataclass(frozen=True)
class Site:
    """A host, the folder of its templates and the look of its paragraphs."""

    origin: str
    folder: str
    paragraph: str


HARBOUR = Site("http://harbour-daily.example", "harbour", "<p>{}</p>")
REGIONAL = Site("http://regional-wire.example", "regional", '<p class="rw-text">{}</p>')
XINWEN = Site("http://xinwen.example", "xinwen", "<p>{}</p>")
KUAIBAO = Site("http://kuaibao.example", "kuaibao", '<p style="text-indent: 2em">{}</p>')
SITES = (HARBOUR, REGIONAL, XINWEN, KUAIBAO)


@cache
def _template(site: Site, name: str) -> Template:
    return Template(resource("templates", site.folder, f"{name}.html"))


def fill(site: Site, name: str, **slots: str) -> str:
    """Return a template of a site with its slots filled by ready-made HTML."""
    return _template(site, name).substitute(slots).rstrip("\n")


def items(links: Sequence[Link]) -> str:
    """Return list items, one for each link."""
    return "\n".join(f"          <li>{anchor(link)}</li>" for link in links)


def anchor(link: Link) -> str:
    """Return one link as HTML."""
    address, words = link
    return f'<a href="{escape(address)}">{escape(words, quote=False)}</a>'


def paragraphs(site: Site, story: Story) -> str:
    """Return the paragraphs of a story in the markup of a site."""
    return "\n".join(
        "          " + site.paragraph.format(escape(text, quote=False)) for text in story.paragraphs
    )


def framed(
    site: Site, title: str, description: str, main: str, links: Sequence[Link], head: str = ""
) -> str:
    """Return a whole page: the frame of a site around a main part."""
    return fill(
        site,
        "frame",
        title=escape(title),
        description=escape(description),
        head=head,
        main=main,
        links=items(links),
    )


def article(
    site: Site,
    story: Story,
    address: str,
    links: Sequence[Link],
    tools: Sequence[Link] = (),
    amp_address: str | None = None,
) -> str:
    """Return the page of a story in the frame of a site."""
    head = f'  <link rel="canonical" href="{escape(address)}">'
    if amp_address is not None:
        head += f'\n  <link rel="amphtml" href="{escape(amp_address)}">'
    main = fill(
        site,
        "article",
        headline=escape(story.headline, quote=False),
        byline=escape(story.byline, quote=False),
        paragraphs=paragraphs(site, story),
        tools=" ".join(anchor(link) for link in tools),
    )
    return framed(site, story.headline, story.summary, main, links, head)


def bare(site: Site, name: str, story: Story, canonical: str) -> str:
    """Return a story in a template that is a page of its own, such as the print view."""
    return fill(
        site,
        name,
        title=escape(story.headline),
        byline=escape(story.byline, quote=False),
        canonical=escape(canonical),
        paragraphs=paragraphs(site, story),
    )
