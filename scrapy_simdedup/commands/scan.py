"""``scrapy simdedup scan``: judge pages that lie on disk."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

from scrapy_simdedup.commands.options import add_paths, add_set, config_of
from scrapy_simdedup.commands.screen import beside, listed, say, summary


def add_parser(subcommands: Any) -> None:
    """Declare the subcommand."""
    parser = subcommands.add_parser(
        "scan",
        help="judge pages that lie on disk",
        description="Judge pages that lie on disk, in order, one JSON object a page.",
        epilog="example: scrapy simdedup scan pages/ --index pages.db --output pages.jsonl",
    )
    add_paths(parser)
    parser.add_argument(
        "--index", required=True, help="the index file, or the address of a Redis server"
    )
    parser.add_argument(
        "--log", type=Path, metavar="FILE", help="with an address, the file for the decisions"
    )
    parser.add_argument(
        "--output", type=Path, metavar="FILE.jsonl", help="default: standard output"
    )
    add_set(parser)
    parser.set_defaults(function=run)


def run(opts: argparse.Namespace, settings: Any) -> None:
    """Judge the pages. Raises UsageError and SimDedupError."""
    import sqlite3

    from scrapy_simdedup.batch.scan import scan
    from scrapy_simdedup.commands.pages import reading_pages
    from scrapy_simdedup.deduplicator import Deduplicator
    from scrapy_simdedup.index.damage import unusable
    from scrapy_simdedup.logs.export import write
    from scrapy_simdedup.output import writing

    config = config_of(settings)
    statuses: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    with (
        reading_pages(opts.paths, shown=beside(opts.output)) as (pages, bar),
        Deduplicator(opts.index, config, spider="scan", log=opts.log) as dedup,
        writing(opts.output) as out,
    ):
        try:
            for row in bar.counting(scan(pages, dedup)):
                statuses[row["status"]] += 1
                if row["status"] in ("skipped", "error"):
                    reasons[row["reason"]] += 1
                write([row], out, "jsonl")
        except sqlite3.Error as error:
            raise unusable(dedup.path, error) from error
    left_out = f"; left out: {listed(pages.left_out)}" if pages.left_out else ""
    say(f"{summary(statuses, reasons)}{left_out}")
