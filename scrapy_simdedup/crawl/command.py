"""``scrapy simdedup``: what can be done without a crawl.

Scrapy imports this module at every call of ``scrapy``, so whatever is heavy is imported late.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from scrapy_simdedup import __version__
from scrapy_simdedup.commands import check, explain, export, idf, load, scan, spark, tune

_SUBCOMMANDS = (scan, export, explain, tune, check, idf, spark, load)


class Command(ScrapyCommand):
    """The entry point of the group ``scrapy.commands``."""

    requires_project = False
    requires_crawler_process = False
    default_settings = {"LOG_ENABLED": False}  # noqa: RUF012  (Scrapy's own declaration)

    def syntax(self) -> str:
        """Return the usage line."""
        return "<scan|export|explain|tune|check|idf|spark|load> [options]"

    def short_desc(self) -> str:
        """Return the line in Scrapy's list of commands."""
        return "Spot near-duplicate pages on disk, and explain and export what a crawl decided"

    def long_desc(self) -> str:
        """Return the text above the options."""
        return f"scrapy-simdedup {__version__}: near-duplicate pages, and the log of decisions."

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the subcommands."""
        super().add_options(parser)
        subcommands = parser.add_subparsers(dest="subcommand", metavar="<subcommand>")
        for each in _SUBCOMMANDS:
            each.add_parser(subcommands)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Run a subcommand. Raises UsageError (exit code 2) where something is to be mended."""
        from scrapy_simdedup.exceptions import SimDedupError

        if args:
            raise UsageError(f"unrecognized arguments: {' '.join(args)}")
        if not opts.subcommand:
            raise UsageError
        settings: Any = self.settings
        for pair in getattr(opts, "simdedup_set", None) or ():
            name, equals, value = pair.partition("=")
            if not equals:
                raise UsageError(f"-s takes NAME=VALUE, not {pair!r}")
            settings.set(name, value, priority="cmdline")
        try:
            # Most know two ends, a good one and an error.
            self.exitcode = opts.function(opts, settings) or 0
        except SimDedupError as error:
            print(f"scrapy simdedup: {error}", file=sys.stderr)
            self.exitcode = 1
        except BrokenPipeError:
            # Whoever read us has enough (``| head``); the interpreter must not try to flush.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            self.exitcode = 141
