"""``scrapy simdedup report``: one HTML file on what was decided."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from scrapy.exceptions import UsageError

from scrapy_simdedup.commands.options import add_index, add_set


def add_parser(subcommands: Any) -> None:
    """Declare the subcommand."""
    parser = subcommands.add_parser(
        "report",
        help="write an HTML page that shows what was decided, and whether the limits suit",
        description="Write one HTML file, which needs no network: verdicts, how near the nearest"
        " pages were, close calls, clusters with their texts side by side, hosts, what was"
        " skipped. Needs the extra report.",
        epilog="example: scrapy simdedup report --index .scrapy/simdedup/news.db"
        " --output report.html",
    )
    add_index(parser)
    parser.add_argument(
        "--output", required=True, type=Path, metavar="FILE.html", help="the page to write"
    )
    parser.add_argument("--run", type=int, help="only this run's decisions")
    add_set(parser)
    parser.set_defaults(function=run)


def run(opts: argparse.Namespace, _: Any) -> None:
    """Write the report. Raises UsageError, IndexUnusable, NoSuchRun and Unwritable."""
    from scrapy_simdedup.commands.progress import progress
    from scrapy_simdedup.commands.screen import say
    from scrapy_simdedup.logs.export import reading
    from scrapy_simdedup.output import Unwritable, whole

    if opts.output.is_dir():
        raise UsageError(f"{opts.output} is a folder: --output takes the path of a file")
    try:
        from scrapy_simdedup.report.page import render
    except ModuleNotFoundError as error:
        raise Unwritable(
            f"cannot write {opts.output} without Jinja2: pip install 'scrapy-simdedup[report]'"
        ) from error
    from scrapy_simdedup.report.data import STEPS, collect
    from scrapy_simdedup.report.log import NEEDED
    from scrapy_simdedup.report.words import plural, size

    with (
        reading(opts.index, NEEDED) as connection,
        progress("report", STEPS + 1) as passed,
    ):
        report = collect(connection, opts.index.name, opts.run, passed)
        page = render(report).encode("utf-8")
        passed(1)
    with whole(opts.output) as path:
        path.write_bytes(page)
    told = plural(report.listing.total, "decision")
    say(f"{opts.output}: {told}, {size(len(page))}")
