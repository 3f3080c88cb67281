"""Every page of the bundled news sites, by address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from . import render
from .render import HARBOUR, KUAIBAO, REGIONAL, SITES, XINWEN, Link, Site
from .stories import Story, load_reprints, load_stories

HTML = "text/html; charset=utf-8"
RELATED = 5

# Which stories have further copies on their own site.
PRINT = {
    HARBOUR: ("heron-count-estuary", "night-walk-maps", "swing-bridge-reopens"),
    XINWEN: ("fengdu-shiqiao-cezhen",),
}
AMP = {
    HARBOUR: ("swing-bridge-reopens", "town-clock-repair"),
    XINWEN: ("liuting-jiushu-xiufu",),
}
TRACKED = {
    HARBOUR: {
        "chess-tables-park": "utm_source=morning-letter",
        "kelp-rope-farm": "utm_source=gull&utm_term=kelp",
        "library-lends-tools": "utm_source=morning-letter&utm_term=tools",
    },
    XINWEN: {"qingtang-zaoban-gongjiao": "utm_source=zaobao"},
}
MEMBERS = ("chart-of-wrecks", "harbour-trust-accounts", "pilot-interview", "winter-crossword")
NOTICES = {HARBOUR: "slipway-closed", XINWEN: "tingshui"}
# The titles and descriptions of the pages that are no stories.
FRONT = {
    HARBOUR: ("Front page", "News from Merrow Haven and the Pellin coast."),
    REGIONAL: ("Front page", "The best of forty local papers on one page."),
    XINWEN: ("首页", "江湾本地新闻"),
    KUAIBAO: ("首页", "城乡民生快讯"),
}
MISSING_TITLE = {HARBOUR: "Not found", REGIONAL: "Not found", XINWEN: "找不到", KUAIBAO: "找不到"}
# What the links to the further copies of a story say.
COPY_LABEL = {
    HARBOUR: {"print": "Print", "amp": "Light page"},
    XINWEN: {"print": "打印版", "amp": "极简版"},
}
NOTICE_TITLE = {HARBOUR: "Slipway closed", XINWEN: "停水通知"}


@dataclass(frozen=True)
class Page:
    """What the server answers for one address."""

    status: int
    content_type: str
    body: bytes


def build(edition: int = 1) -> dict[str, Page]:
    """Return all pages by absolute address.

    The second edition differs from the first in one corrected story.
    """
    pages: dict[str, Page] = {}
    for origin, reprinter, language in ((HARBOUR, REGIONAL, "en"), (XINWEN, KUAIBAO, "zh")):
        stories = load_stories(language, edition)
        pages.update(_original_site(origin, stories))
        pages.update(_reprint_site(reprinter, language, stories))
    pages.update(_members())
    pages[f"{HARBOUR.origin}/news/missing"] = missing(HARBOUR.origin)
    pages[f"{HARBOUR.origin}/files/tide-table.pdf"] = Page(200, "application/pdf", _pdf())
    return pages


def missing(origin: str) -> Page:
    """Return the error page of a site, or of the first site for an unknown host."""
    site = next((known for known in SITES if known.origin == origin), HARBOUR)
    main = render.fill(site, "missing")
    title = MISSING_TITLE[site]
    return _html(render.framed(site, title, title, main, [("/", FRONT[site][0])]), status=404)


def _html(text: str, status: int = 200) -> Page:
    return Page(status, HTML, f"{text}\n".encode())


def _news(story: Story) -> Link:
    return (f"/news/{story.slug}", story.headline)


def _following(links: Sequence[Link], index: int) -> list[Link]:
    """Return the links after an index, going on from the first after the last."""
    return [*links[index + 1 :], *links[:index]][:RELATED]


def _original_site(site: Site, stories: dict[str, Story]) -> dict[str, Page]:
    pages: dict[str, Page] = {}
    links = [_news(story) for story in stories.values()]
    for index, story in enumerate(stories.values()):
        canonical = f"{site.origin}/news/{story.slug}"
        tools: list[Link] = []
        amp_address = None
        for kind, slugs in (("print", PRINT[site]), ("amp", AMP[site])):
            if story.slug not in slugs:
                continue
            address = f"{site.origin}/{kind}/{story.slug}"
            tools.append((f"/{kind}/{story.slug}", COPY_LABEL[site][kind]))
            pages[address] = _html(render.bare(site, kind, story, canonical))
            if kind == "amp":
                amp_address = address
        related = _following(links, index)
        page = _html(render.article(site, story, canonical, related, tools, amp_address))
        pages[canonical] = page
        query = TRACKED[site].get(story.slug)
        if query is not None:
            pages[f"{canonical}?{query}"] = page
    title = NOTICE_TITLE[site]
    notice = render.framed(site, title, title, render.fill(site, "notice"), links[:RELATED])
    pages[f"{site.origin}/notices/{NOTICES[site]}"] = _html(notice)
    pages[f"{site.origin}/"] = _original_front(site, stories, links)
    return pages


def _original_front(site: Site, stories: dict[str, Story], links: Sequence[Link]) -> Page:
    def copies(kind: str, slugs: Sequence[str]) -> str:
        return render.items([(f"/{kind}/{slug}", stories[slug].headline) for slug in slugs])

    tracked = [
        (f"/news/{slug}?{query}", stories[slug].headline) for slug, query in TRACKED[site].items()
    ]
    main = render.fill(
        site,
        "front",
        stories=render.items(links),
        tracked=render.items(tracked),
        prints=copies("print", PRINT[site]),
        amps=copies("amp", AMP[site]),
    )
    title, description = FRONT[site]
    return _html(render.framed(site, title, description, main, links[:RELATED]))


def _reprint_site(site: Site, language: str, stories: dict[str, Story]) -> dict[str, Page]:
    """Return a site whose stories keep their words under another headline."""
    taken = [
        replace(
            stories[reprint.original],
            slug=reprint.slug,
            headline=reprint.headline,
            summary=reprint.summary,
        )
        for reprint in load_reprints(language)
    ]
    links: list[Link] = [(f"/story/{story.slug}.html", story.headline) for story in taken]
    pages: dict[str, Page] = {}
    for index, story in enumerate(taken):
        address = site.origin + links[index][0]
        text = render.article(site, story, address, _following(links, index))
        pages[address] = _html(text)
    title, description = FRONT[site]
    main = render.fill(site, "front", stories=render.items(links))
    pages[f"{site.origin}/"] = _html(render.framed(site, title, description, main, links[:3]))
    return pages


def _members() -> dict[str, Page]:
    """Return the addresses that all show the same request to sign in."""
    links = [_news(story) for story in load_stories("en").values()][:RELATED]
    description = "This article is for members of The Harbour Daily."
    main = render.fill(HARBOUR, "login")
    page = _html(render.framed(HARBOUR, "Please sign in", description, main, links))
    return {f"{HARBOUR.origin}/members/{slug}": page for slug in MEMBERS}


def _pdf() -> bytes:
    """Return a PDF document of one page that holds one line."""
    line = b"BT /F1 18 Tf 72 760 Td (Tide table, Merrow Haven) Tj ET"
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
            b" /Resources << /Font << /F1 5 0 R >> >> >>"
        ),
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(line), line),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    )
    data = b"%PDF-1.4\n"
    offsets = []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    data += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    data += b"trailer\n<< /Size %d /Root 1 0 R >>\n" % (len(objects) + 1)
    return data + b"startxref\n%d\n%%%%EOF\n" % start
