"""``scrapy simdedup scan``: judge pages that lie on disk."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from scrapy.exceptions import UsageError

from scrapy_simdedup.commands.options import add_paths, add_set, config_of


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
    """Judge the pages. Raises UsageError, ConfigError and IndexUnusable."""
    from collections import Counter

    from tqdm import tqdm

    from scrapy_simdedup.batch.read import count, read
    from scrapy_simdedup.batch.scan import scan, summary
    from scrapy_simdedup.deduplicator import Deduplicator
    from scrapy_simdedup.logs.export import write, writing

    for path in opts.paths:
        if not path.exists():
            raise UsageError(f"there is no {path}")
    config = config_of(settings)
    counts = [count(path) for path in opts.paths]
    total = None if None in counts else sum(number or 0 for number in counts)
    records = (record for path in opts.paths for record in read(path))
    found: Counter[str] = Counter()
    with (
        Deduplicator(opts.index, config, spider="scan", log=opts.log) as dedup,
        writing(opts.output) as out,
        # Quiet in a pipe: tqdm shows itself on a terminal only.
        tqdm(scan(records, dedup), total=total, unit=" pages", disable=None) as rows,
    ):
        for row in rows:
            found[row["status"]] += 1
            write([row], out, "jsonl")
    print(summary(found), file=sys.stderr)
