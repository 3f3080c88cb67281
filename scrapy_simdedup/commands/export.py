"""``scrapy simdedup export``: the log of decisions as CSV, JSON lines or Parquet."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError

from scrapy_simdedup.commands.options import add_index, add_set, found_index
from scrapy_simdedup.commands.screen import beside, say
from scrapy_simdedup.commands.times import since, until

if TYPE_CHECKING:
    import sqlite3


def add_parser(subcommands: Any) -> None:
    """Declare the subcommand."""
    parser = subcommands.add_parser(
        "export",
        help="write the log of decisions as CSV, JSON lines or Parquet",
        description="Write the log of decisions, oldest first.",
        epilog="example: scrapy simdedup export --index .scrapy/simdedup/news.db"
        " --status duplicate --since 2026-05-01 --output 'copies-%(name)s-%(time)s.csv'",
    )
    add_index(parser, required=False)
    parser.add_argument(
        "--format", choices=("csv", "jsonl", "parquet"), help="default: by the file name"
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="default: standard output; .gz compresses; %%(name)s is the spider's name (a file"
        " for each spider), %%(time)s the time now",
    )
    parser.add_argument("--run", type=int, help="only this run's")
    parser.add_argument("--spider", help="only this spider's")
    parser.add_argument(
        "--status",
        choices=("unique", "duplicate", "revisit", "skipped", "error", "orphaned"),
        help="only these; orphaned are the pages to crawl again",
    )
    parser.add_argument(
        "--since",
        type=since,
        metavar="TIME",
        help="only from then on; a date, or a time such as 2026-05-01T06:30, in UTC",
    )
    parser.add_argument(
        "--until", type=until, metavar="TIME", help="only up to then; a date lasts to its end"
    )
    add_set(parser)
    parser.set_defaults(function=run)


def run(opts: argparse.Namespace, settings: Any) -> None:
    """Write the log. Raises UsageError and SimDedupError."""
    from scrapy_simdedup.commands.bar import Bar
    from scrapy_simdedup.logs.export import decisions, export, form_of, reading, span

    form = opts.format or (form_of(opts.output) if opts.output else "jsonl")
    if form is None:
        raise UsageError(
            f"--format is needed: {opts.output} ends in none of .csv, .jsonl and .parquet"
        )
    if form == "parquet" and opts.output is None:
        raise UsageError("Parquet is written to a file only: give --output FILE.parquet")
    filters = {name: getattr(opts, name) for name in ("run", "status", "since", "until")}
    number = 0
    with reading(found_index(opts, settings)) as connection:
        outputs = _outputs(opts, connection)
        total = len(outputs) * len(span(connection))
        with Bar("decisions", total, shown=beside(opts.output)) as bar:
            for spider, output in outputs:
                rows = decisions(connection, spider=spider, passed=bar.update, **filters)
                number += export(bar.counting(rows), output, form)
    say(f"{number:,} decisions")


def _outputs(
    opts: argparse.Namespace, connection: sqlite3.Connection
) -> list[tuple[str | None, Path | None]]:
    """Return the spiders to ask for, and where each one's decisions go."""
    from scrapy_simdedup.logs.export import named, spiders

    pattern = str(opts.output or "")
    if "%(" not in pattern:
        return [(opts.spider, opts.output)]
    try:
        if "%(name)" not in pattern:
            return [(opts.spider, named(pattern, ""))]
        names = [opts.spider] if opts.spider is not None else spiders(connection, opts.run)
        files = {named(pattern, name): name for name in names}
    except (KeyError, ValueError, TypeError):
        raise UsageError(
            f"--output {pattern} is no pattern: it may hold %(name)s, %(time)s, and %% for a %"
        ) from None
    if len(files) < len(names):
        raise UsageError(f"some of the spiders {', '.join(names)} share a file name: give --spider")
    return [(name, path) for path, name in files.items()]
