"""Crawls the bundled news sites: front pages for links, everything else as a story."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import scrapy
from scrapy.http import HtmlResponse, Response


class NewsSpider(scrapy.Spider):
    """Follows every link once; each story page yields one item.

    Copies are tagged, as they are by default: look first at what would be dropped.
    """

    name = "news"
    start_urls = ["http://harbour-daily.example/", "http://xinwen.example/"]  # noqa: RUF012
    custom_settings = {  # noqa: RUF012
        # Neither is needed: each item gets its page's verdict, and the report shows texts.
        "SIMDEDUP_TAG_FIELD": "dedup",
        "SIMDEDUP_STORE_TEXT": True,
    }

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        """Front page: no item, links to stories and to the other front pages."""
        assert isinstance(response, HtmlResponse)
        for link in response.css("a::attr(href)").getall():
            url = response.urljoin(link)
            front = url.split("#")[0].count("/") == 3 and url.split("#")[0].endswith("/")
            yield response.follow(link, self.parse if front else self.parse_article)

    def parse_article(self, response: Response, **_: Any) -> Iterator[Any]:
        """Story page: its headline and its address."""
        if not isinstance(response, HtmlResponse):
            return
        yield {"url": response.url, "title": response.css("h1::text").get("").strip()}
        for link in response.css("article a::attr(href)").getall():
            yield response.follow(link, self.parse_article)
