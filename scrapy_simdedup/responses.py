"""Which responses hold a page: final HTML, as Scrapy tells it."""

from __future__ import annotations

from scrapy.http import HtmlResponse, Response, TextResponse

_HTML_TYPES = (b"text/html", b"application/xhtml+xml", b"application/vnd.wap.xhtml+xml")


def not_a_page(response: Response) -> str | None:
    """Return why a response is no page to judge, or None when it is one."""
    if response.status != 200:
        return "status"
    if not isinstance(response, TextResponse) and response.headers.get(b"Content-Encoding"):
        return "not-text"
    if not isinstance(response, HtmlResponse):
        return "not-html"
    kind = (response.headers.get(b"Content-Type") or b"").split(b";")[0].strip().lower()
    if kind and kind not in _HTML_TYPES:
        return "not-html"
    return None
