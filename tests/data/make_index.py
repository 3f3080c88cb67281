"""Make a small index by the schema that the package has now, to be kept for good.

    python tests/data/make_index.py tests/data/index-schema-1.db

Once for each released schema; ``tests/test_damage.py`` opens them all with the newest package.
"""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from scrapy_simdedup import Deduplicator
from scrapy_simdedup.analysis import Source, analyse
from texts import page, story


def main(path: Path) -> None:
    """Keep three pages and an item, refuse three copies, skip a page, leave nothing open.

    With their texts.
    """
    with Deduplicator(path, {"SIMDEDUP_STORE_TEXT": True}, spider="news") as dedup:
        for number in (1, 2, 3):
            dedup.check(f"https://a.example/{number}", html=page(story(number)))
        dedup.check("https://b.example/1", text=story(1))
        dedup.check("https://b.example/2", html=page(story(2), template="wire"))
        dedup.check("https://b.example/short", text="Too little to tell.")
        dedup.check("https://b.example/3", text=story(3))
        # A text that changes: the page takes the place of the one that has a copy.
        dedup.check("https://a.example/3", html=page(story(4)))
        analysis = analyse(Source(text=(story(5),)), dedup.recipe())
        item = dedup.item("https://a.example/5", "shop.Review", "5")
        dedup.judge(item, analysis, confirm=True)
    with sqlite3.connect(path) as connection:
        # One file, without a -wal beside it.
        connection.execute("PRAGMA journal_mode = DELETE")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
