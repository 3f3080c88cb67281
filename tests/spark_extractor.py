"""An extractor that raises or ends its process, where a page says so."""

from __future__ import annotations

import os

from scrapy_simdedup.text.extract import extract


def extract_text(html: str) -> str:
    if "explode now" in html:
        raise ValueError("exploded")
    if "die now" in html:
        os._exit(9)
    return extract(html).text
