"""The demo's news spider, with its requests in a queue that several processes share."""

from __future__ import annotations

from scrapy_redis.spiders import RedisMixin

from newsdemo.spiders.news import NewsSpider


class SharedNewsSpider(RedisMixin, NewsSpider):
    """Takes the start URLs from the list ``news:start_urls``; the rest is as without Redis."""

    start_urls: list[str] = []  # noqa: RUF012

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.setup_redis(crawler)
        return spider
