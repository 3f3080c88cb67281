"""``scrapy simdedup``: what can be done without a crawl.

Scrapy imports this module at every call of ``scrapy``, so whatever is heavy is imported late.
"""

from __future__ import annotations

import argparse
import difflib
import os
import shutil
import textwrap
from typing import Any

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from scrapy_simdedup import __version__
from scrapy_simdedup.commands import (
    check,
    datasette,
    explain,
    export,
    idf,
    load,
    prune,
    rebuild,
    remove,
    report,
    scan,
    spark,
    stats,
    tune,
    vacuum,
)
from scrapy_simdedup.commands.screen import say

_SUBCOMMANDS = (
    *(scan, export, report, stats, explain, tune),
    *(remove, prune, vacuum, check, rebuild, datasette, idf, spark, load),
)

# What shells give for a program that Ctrl-C or the end of a pipe has stopped.
_INTERRUPTED, _ENOUGH = 130, 141


class Command(ScrapyCommand):
    """The entry point of the group ``scrapy.commands``."""

    requires_project = False
    requires_crawler_process = False
    default_settings = {"LOG_ENABLED": False}  # noqa: RUF012  (Scrapy's own declaration)

    def syntax(self) -> str:
        """Return the usage line."""
        names = "|".join(each.__name__.rpartition(".")[2] for each in _SUBCOMMANDS)
        return f"<{names}> [options]"

    def short_desc(self) -> str:
        """Return the line in Scrapy's list of commands."""
        return "Spot near-duplicate pages on disk, and explain and export what a crawl decided"

    def long_desc(self) -> str:
        """Return the text above the options."""
        return (
            f"scrapy-simdedup {__version__}: near-duplicate pages, and the log of decisions."
            " scrapy simdedup <subcommand> --help tells more of each."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the subcommands."""
        subcommands = parser.add_subparsers(
            title="Subcommands",
            dest="subcommand",
            metavar="<subcommand>",
            prog="scrapy simdedup",
            parser_class=_Parser,
        )
        for each in _SUBCOMMANDS:
            each.add_parser(subcommands)
        subcommands.choices = _Names(subcommands.choices)
        super().add_options(parser)

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
        _open_standard_streams()
        try:
            # Most know two ends, a good one and an error.
            self.exitcode = opts.function(opts, settings) or 0
        except SimDedupError as error:
            say(f"scrapy simdedup: {error}")
            self.exitcode = 1
        except KeyboardInterrupt:
            say("scrapy simdedup: interrupted")
            self.exitcode = _INTERRUPTED
        except BrokenPipeError:
            # Whoever read us has enough (``| head``).
            self.exitcode = _ENOUGH


class _Parser(argparse.ArgumentParser):
    """A subcommand's parser: an example stays in one line, so that it can be copied."""

    def __init__(self, *, description: str = "", **options: Any) -> None:
        width = shutil.get_terminal_size().columns - 2
        super().__init__(
            description=textwrap.fill(description, width),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            **options,
        )


class _Names(dict[str, Any]):
    """The subcommands by name; whoever asks for another one is told the nearest."""

    def __contains__(self, name: object) -> bool:
        if super().__contains__(name):
            return True
        near = difflib.get_close_matches(str(name), self, 1)
        hint = f", did you mean {near[0]}?" if near else ""
        raise argparse.ArgumentError(
            None, f"there is no subcommand {name}{hint} (there are {', '.join(self)})"
        )


def _open_standard_streams() -> None:
    """Put something in the place of closed streams, lest a file gets their number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
