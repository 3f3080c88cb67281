"""``scrapy simdedup``: what can be done without a crawl.

Scrapy imports this module at every call of ``scrapy``, so whatever is heavy is imported late.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from scrapy_simdedup import __version__


class Command(ScrapyCommand):
    """The entry point of the group ``scrapy.commands``."""

    requires_project = False
    requires_crawler_process = False
    default_settings = {"LOG_ENABLED": False}  # noqa: RUF012  (Scrapy's own declaration)

    def syntax(self) -> str:
        """Return the usage line."""
        return "<scan|export> [options]"

    def short_desc(self) -> str:
        """Return the line in Scrapy's list of commands."""
        return "Spot near-duplicate pages on disk, and export the log of a crawl"

    def long_desc(self) -> str:
        """Return the text above the options."""
        return f"scrapy-simdedup {__version__}: near-duplicate pages, and the log of decisions."

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the subcommands."""
        super().add_options(parser)
        subcommands = parser.add_subparsers(dest="subcommand", metavar="<subcommand>")
        self._add_scan(subcommands)
        self._add_export(subcommands)

    def _add_scan(self, subcommands: Any) -> None:
        scan = subcommands.add_parser(
            "scan",
            help="judge pages that lie on disk",
            description="Judge pages that lie on disk, in order, one JSON object a page.",
            epilog="example: scrapy simdedup scan pages/ --index pages.db --output pages.jsonl",
        )
        scan.add_argument(
            "paths",
            nargs="+",
            type=Path,
            metavar="PATH",
            help="a folder of HTML (or .txt) files, or .jsonl[.gz] with url and html or text",
        )
        scan.add_argument("--index", required=True, type=Path, help="the index file")
        scan.add_argument(
            "--output", type=Path, metavar="FILE.jsonl", help="default: standard output"
        )
        _add_set(scan)
        scan.set_defaults(function=_scan)

    def _add_export(self, subcommands: Any) -> None:
        export = subcommands.add_parser(
            "export",
            help="write the log of decisions as CSV or JSON lines",
            description="Write the log of decisions, oldest first.",
            epilog="example: scrapy simdedup export --index .scrapy/simdedup/news.db"
            " --status duplicate --output duplicates.csv",
        )
        export.add_argument("--index", required=True, type=Path, help="the index file")
        export.add_argument("--format", choices=("csv", "jsonl"), help="default: by the file name")
        export.add_argument("--output", type=Path, metavar="FILE", help="default: standard output")
        export.add_argument("--run", type=int, help="only this run's")
        export.add_argument("--spider", help="only this spider's")
        export.add_argument(
            "--status",
            choices=("unique", "duplicate", "revisit", "skipped", "error", "orphaned"),
            help="only these; orphaned are the pages to crawl again",
        )
        _add_set(export)
        export.set_defaults(function=_export)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Run a subcommand. Raises UsageError (exit code 2) where something is to be mended."""
        from scrapy_simdedup.exceptions import SimDedupError

        if args:
            raise UsageError(f"unrecognized arguments: {' '.join(args)}")
        if not opts.subcommand:
            raise UsageError
        settings: Any = self.settings
        for pair in opts.simdedup_set or ():
            name, equals, value = pair.partition("=")
            if not equals:
                raise UsageError(f"-s takes NAME=VALUE, not {pair!r}")
            settings.set(name, value, priority="cmdline")
        try:
            opts.function(opts, settings)
        except SimDedupError as error:
            print(f"scrapy simdedup: {error}", file=sys.stderr)
            self.exitcode = 1
        except BrokenPipeError:
            # Whoever read us has enough (``| head``); the interpreter must not try to flush.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            self.exitcode = 141


def _add_set(parser: argparse.ArgumentParser) -> None:
    # A name of its own: the one before the subcommand is Scrapy's, and must not be overwritten.
    parser.add_argument(
        "-s",
        dest="simdedup_set",
        action="append",
        metavar="NAME=VALUE",
        help="set/override a setting (may be repeated)",
    )


def _scan(opts: argparse.Namespace, settings: Any) -> None:
    from collections import Counter

    from tqdm import tqdm

    from scrapy_simdedup.batch.read import count, read
    from scrapy_simdedup.batch.scan import scan, summary
    from scrapy_simdedup.config import Config, unknown_settings
    from scrapy_simdedup.deduplicator import Deduplicator
    from scrapy_simdedup.logs.export import write, writing

    for path in opts.paths:
        if not path.exists():
            raise UsageError(f"there is no {path}")
    for name, nearest in unknown_settings(settings).items():
        print(f"unknown setting {name}{f': {nearest}?' if nearest else ''}", file=sys.stderr)
    counts = [count(path) for path in opts.paths]
    total = None if None in counts else sum(number or 0 for number in counts)
    records = (record for path in opts.paths for record in read(path))
    found: Counter[str] = Counter()
    with (
        Deduplicator(opts.index, Config.from_settings(settings), spider="scan") as dedup,
        writing(opts.output) as out,
        # Quiet in a pipe: tqdm shows itself on a terminal only.
        tqdm(scan(records, dedup), total=total, unit=" pages", disable=None) as rows,
    ):
        for row in rows:
            found[row["status"]] += 1
            write([row], out, "jsonl")
    print(summary(found), file=sys.stderr)


def _export(opts: argparse.Namespace, _: Any) -> None:
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
