"""``scrapy simdedup vacuum``: give back the space that pruned and removed rows have left."""

from __future__ import annotations

import argparse
from typing import Any

from scrapy_simdedup.commands.options import add_index, add_set, config_of, index_of
from scrapy_simdedup.commands.progress import progress


def add_parser(subcommands: Any) -> None:
    """Declare the subcommand."""
    parser = subcommands.add_parser(
        "vacuum",
        help="give back the space of what was removed",
        description="Write an index anew, without the space that removed rows have left. It"
        " takes up to twice the size of the index on the way, and no crawl may use it meanwhile."
        " Cut short at any moment, it leaves the index as it was.",
        epilog="example: scrapy simdedup vacuum --index .scrapy/simdedup/news.db",
    )
    add_index(parser, required=False)
    add_set(parser)
    parser.set_defaults(function=run)


def run(opts: argparse.Namespace, settings: Any) -> None:
    """Vacuum. Raises UsageError, ConfigError and IndexUnusable."""
    from tqdm import tqdm

    from scrapy_simdedup.checks.finding import ticking
    from scrapy_simdedup.index.files import opened
    from scrapy_simdedup.index.vacuum import vacuum
    from scrapy_simdedup.output import writing

    path = index_of(opts, config_of(settings))
    with opened(path, write=True) as connection, ticking(connection, progress, "vacuum"):
        done = vacuum(connection, path)
    with writing(None) as out:
        before, after = (tqdm.format_sizeof(size, "B") for size in (done.before, done.after))
        out.write(f"{path}: {before} before, {after} after\n")
        if done.held:
            out.write("Another program reads the index; it shrinks when that is done.\n")
