"""One text many times, and slight variations of one template as often."""

from __future__ import annotations

import random
from typing import Any

from crawl_pages import Writer

# Characters of a text; words of a template that are others in each variation.
_LENGTH = 400
_VARIED = 2


def skewed(spark: Any, count: int) -> Any:
    """Return ``count`` rows of one text and ``count`` of one template, in turns.

    Between them are pages of their own, one for each hundred.
    """
    rows = spark.range(0, 2 * count + count // 50, 1, 8).rdd.map(lambda row: row["id"])
    return spark.createDataFrame(rows.mapPartitions(_pages), "url string, text string")


def _pages(numbers: Any) -> Any:
    writer = Writer(7)
    wall = writer.text(random.Random("wall"), _LENGTH)
    template = writer.text(random.Random("template"), _LENGTH).split()
    for number in numbers:
        pick = random.Random(f"skew/{number}")
        if number % 101 == 100:
            text = writer.text(pick, _LENGTH)
        elif number % 2:
            words = list(template)
            for place in pick.sample(range(len(words)), _VARIED):
                words[place] = f"{number}"
            text = " ".join(words)
        else:
            text = wall
        yield f"https://site{number % 997}.example/{number}", text
