"""``scrapy simdedup idf build``: count how rare terms are, for ``SIMDEDUP_IDF``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from scrapy.exceptions import UsageError

from scrapy_simdedup.commands.options import add_paths, add_set


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
    """Build the table. Raises UsageError, ConfigError and TableUnusable."""
    from tqdm import tqdm

    from scrapy_simdedup.batch.idf import Texts, build_table
    from scrapy_simdedup.batch.read import count, read
    from scrapy_simdedup.config import Config

    for path in opts.paths:
        if not path.exists():
            raise UsageError(f"there is no {path}")
    if opts.output.is_dir():
        raise UsageError(f"{opts.output} is a folder")
    # Not all settings: SIMDEDUP_IDF may well name the table that is to be made.
    names = ("SIMDEDUP_EXTRACTOR", "SIMDEDUP_USER_DICT")
    config = Config.from_settings({name: settings.get(name) for name in names})
    counts = [count(path) for path in opts.paths]
    total = None if None in counts else sum(number or 0 for number in counts)
    records = (record for path in opts.paths for record in read(path))
    with tqdm(records, total=total, unit=" pages", disable=None) as pages:
        texts = Texts(pages, config.extractor)
        made = build_table(texts, opts.output, config.shape)
    left_out = f", {texts.left_out} pages left out" if texts.left_out else ""
    print(f"{made.texts} texts, {made.terms} terms{left_out}", file=sys.stderr)
