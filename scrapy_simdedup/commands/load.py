"""``scrapy simdedup load``: the result of a Spark job becomes an index."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from scrapy_simdedup.commands.progress import progress
from scrapy_simdedup.commands.screen import say


def add_parser(subcommands: Any) -> None:
    """Declare the subcommand."""
    parser = subcommands.add_parser(
        "load",
        help="make an index of what spark found",
        description="Make an index of the result of scrapy simdedup spark, so that a crawl goes on"
        " from an archive. A load that is stopped leaves no index.",
        epilog="example: scrapy simdedup load --input result/ --index .scrapy/simdedup/news.db",
    )
    parser.add_argument(
        "--input", required=True, type=Path, dest="result", metavar="RESULT", help="the folder"
    )
    parser.add_argument(
        "--index", required=True, type=_file, help="the index file, which is not there yet"
    )
    parser.set_defaults(function=run)


def _file(text: str) -> Path:
    from scrapy_simdedup.index.redis.address import is_address

    if is_address(text):
        raise argparse.ArgumentTypeError("load makes a file; an index in Redis is filled by crawls")
    return Path(text)


def run(opts: argparse.Namespace, _: Any) -> None:
    """Load the result. Raises ResultUnusable and IndexUnusable."""
    from scrapy_simdedup.batch.load import load
    from scrapy_simdedup.batch.result import Result

    result = Result(opts.result)
    with progress("load", len(result)) as step:
        loaded = load(result, opts.index, step)
    say(f"{loaded.originals:,} originals, {loaded.decisions:,} decisions: {opts.index}")
