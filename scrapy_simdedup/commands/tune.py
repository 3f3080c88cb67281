"""``scrapy simdedup tune``: where the limits could lie, by the log of decisions."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from scrapy.exceptions import UsageError

from scrapy_simdedup.commands.options import add_index, add_set, found_index
from scrapy_simdedup.commands.screen import watched


def add_parser(subcommands: Any) -> None:
    """Declare the subcommand."""
    parser = subcommands.add_parser(
        "tune",
        help="show how near the nearest pages were, and suggest a limit",
        description="Show how near the nearest pages of a log were, and suggest a limit.",
        epilog="example: scrapy simdedup tune --index .scrapy/simdedup/news.db"
        " --labels checked.tsv",
    )
    add_index(parser, required=False)
    parser.add_argument("--run", type=int, help="only this run's decisions")
    parser.add_argument(
        "--labels",
        type=Path,
        metavar="FILE.tsv",
        help="url, original, label (duplicate or distinct; unlisted pairs do not count),"
        " or a, b, label, how (unlisted pairs are distinct)",
    )
    add_set(parser)
    parser.set_defaults(function=run)


def run(opts: argparse.Namespace, settings: Any) -> None:
    """Print histograms and a suggestion. Raises UsageError and SimDedupError."""
    from scrapy_simdedup.commands.bar import Bar
    from scrapy_simdedup.logs.export import reading, span
    from scrapy_simdedup.logs.labels import read_labels
    from scrapy_simdedup.logs.tune import tune
    from scrapy_simdedup.output import writing

    if opts.labels and not opts.labels.is_file():
        raise UsageError(f"there is no {opts.labels}")
    labels = read_labels(opts.labels) if opts.labels else None
    with reading(found_index(opts, settings)) as connection, writing(None) as out:
        with Bar("decisions", len(span(connection)), shown=watched()) as bar:
            # All of them are read before the first line is there.
            lines = list(tune(connection, opts.run, labels, bar.update))
        out.writelines(f"{line.rstrip()}\n" for line in lines)
