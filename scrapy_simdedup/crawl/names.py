"""The names that a page goes by: fingerprints of its requests."""

from __future__ import annotations

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response


def fingerprint(crawler: Crawler, request: Request) -> bytes:
    """Return the fingerprint that the project's own fingerprinter gives a request."""
    fingerprinter = crawler.request_fingerprinter
    assert fingerprinter is not None
    return fingerprinter.fingerprint(request)


def first_fingerprint(crawler: Crawler, request: Request) -> bytes:
    """Return the fingerprint of the request that a chain of redirects began with."""
    urls = request.meta.get("redirect_urls")
    if urls:
        request = request.replace(url=urls[0], cls=Request)
    return fingerprint(crawler, request)


def page_names(crawler: Crawler, request: Request, response: Response) -> list[bytes]:
    """Return a page's names: its first request, its last one, and for GET its final URL."""
    names = [first_fingerprint(crawler, request), fingerprint(crawler, request)]
    if request.method == "GET" and response.url != request.url:
        names.append(fingerprint(crawler, request.replace(url=response.url, cls=Request)))
    return list(dict.fromkeys(names))
