"""``scrapy simdedup datasette``: labels and ready-made queries for looking at an index."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Any

from scrapy_simdedup.commands.screen import say


def add_parser(subcommands: Any) -> None:
    """Declare the subcommand."""
    parser = subcommands.add_parser(
        "datasette",
        help="write labels and ready-made queries for datasette",
        description="Write a metadata file for datasette: what tables and columns mean, and"
        " ready-made queries on clusters, near misses, hosts and runs.",
        epilog="example: scrapy simdedup datasette --index .scrapy/simdedup/news.db"
        " --output news.yaml",
    )
    parser.add_argument(
        "--index", required=True, nargs="+", type=Path, metavar="FILE", help="the index files"
    )
    parser.add_argument("--output", type=Path, metavar="FILE.yaml", help="default: standard output")
    parser.set_defaults(function=run)


def run(opts: argparse.Namespace, _: Any) -> None:
    """Write the metadata. Raises SimDedupError."""
    from scrapy_simdedup.logs.datasette import metadata
    from scrapy_simdedup.logs.export import reading
    from scrapy_simdedup.output import writing

    for path in opts.index:
        with reading(path):
            pass
    with writing(opts.output) as out:
        out.write(metadata(opts.index))
    if opts.output:
        command = ["datasette", *map(str, opts.index), "--metadata", str(opts.output)]
        say(f"next: {shlex.join(command)}")
