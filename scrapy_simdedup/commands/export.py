"""``scrapy simdedup export``: the log of decisions as CSV or JSON lines."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from scrapy.exceptions import UsageError

from scrapy_simdedup.commands.options import add_index, add_set


def add_parser(subcommands: Any) -> None:
    """Declare the subcommand."""
    parser = subcommands.add_parser(
        "export",
        help="write the log of decisions as CSV or JSON lines",
        description="Write the log of decisions, oldest first.",
        epilog="example: scrapy simdedup export --index .scrapy/simdedup/news.db"
        " --status duplicate --output duplicates.csv",
    )
    add_index(parser)
    parser.add_argument("--format", choices=("csv", "jsonl"), help="default: by the file name")
    parser.add_argument("--output", type=Path, metavar="FILE", help="default: standard output")
    parser.add_argument("--run", type=int, help="only this run's")
    parser.add_argument("--spider", help="only this spider's")
    parser.add_argument(
        "--status",
        choices=("unique", "duplicate", "revisit", "skipped", "error", "orphaned"),
        help="only these; orphaned are the pages to crawl again",
    )
    add_set(parser)
    parser.set_defaults(function=run)


def run(opts: argparse.Namespace, _: Any) -> None:
    """Write the log. Raises UsageError and IndexUnusable."""
    from tqdm import tqdm

    from scrapy_simdedup.logs.export import FORMATS, decisions, form_of, reading, write, writing

    form = opts.format or (form_of(opts.output) if opts.output else "jsonl")
    if form not in FORMATS:
        raise UsageError(f"--format is needed: {opts.output} ends in neither .csv nor .jsonl")
    with reading(opts.index) as connection, writing(opts.output) as out:
        rows = decisions(connection, run=opts.run, spider=opts.spider, status=opts.status)
        shown = tqdm(rows, unit=" decisions", disable=None if opts.output else True)
        number = write(shown, out, form)
    print(f"{number} decisions", file=sys.stderr)
