"""The same crawl after a look at the first one's report: copies lose their items."""

from __future__ import annotations

from newsdemo.spiders.news import NewsSpider


class TunedSpider(NewsSpider):
    """Drops the items of copies and still follows their links; has an index of its own."""

    name = "tuned"
    custom_settings = {  # noqa: RUF012
        "SIMDEDUP_ACTION": "drop-items",
        # Front pages list stories: nobody's copy, nobody's original.
        "SIMDEDUP_CALLBACKS": ["parse_article"],
        "SIMDEDUP_EXPORT": "dedup-%(name)s-%(time)s.jsonl",
    }
