"""``scrapy simdedup idf build``: count how rare terms are, for ``SIMDEDUP_IDF``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from scrapy_simdedup.commands.options import add_paths, add_set
from scrapy_simdedup.commands.screen import listed, say, watched


def add_parser(subcommands: Any) -> None:
    """Declare the subcommand, and ``build`` below it."""
    parser = subcommands.add_parser(
        "idf",
        help="build a table of inverse document frequencies",
        description="Tables of inverse document frequencies, for SIMDEDUP_IDF.",
    )
    actions = parser.add_subparsers(dest="idf_action", metavar="build", required=True)
    build = actions.add_parser(
        "build",
        help="count in how many pages each term stands",
        description="Count in how many pages each term stands, and write the table.",
        epilog="example: scrapy simdedup idf build pages/ --output news.idf.gz",
    )
    add_paths(build)
    build.add_argument(
        "--output", required=True, type=Path, metavar="FILE.idf.gz", help="the table to write"
    )
    add_set(build)
    build.set_defaults(function=run)


def run(opts: argparse.Namespace, settings: Any) -> None:
    """Build the table. Raises UsageError and SimDedupError."""
    from scrapy_simdedup.batch.idf import Texts, build_table
    from scrapy_simdedup.commands.pages import reading_pages
    from scrapy_simdedup.config import Config

    # Not all settings: SIMDEDUP_IDF may well name the table that is to be made.
    names = ("SIMDEDUP_EXTRACTOR", "SIMDEDUP_USER_DICT")
    config = Config.from_settings({name: settings.get(name) for name in names})
    with reading_pages(opts.paths, shown=watched()) as (pages, bar):
        texts = Texts(bar.counting(pages), config.extractor, pages.left_out)
        made = build_table(texts, opts.output, config.shape)
    left_out = f"; left out: {listed(texts.left_out)}" if texts.left_out else ""
    say(f"{made.texts:,} texts, {made.terms:,} terms{left_out}")
