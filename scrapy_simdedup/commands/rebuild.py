"""``scrapy simdedup rebuild``: sign the stored texts of an index anew."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from scrapy_simdedup.commands.options import add_index, add_set, config_of, index_of
from scrapy_simdedup.commands.progress import progress
from scrapy_simdedup.commands.screen import say


def add_parser(subcommands: Any) -> None:
    """Declare the subcommand."""
    parser = subcommands.add_parser(
        "rebuild",
        help="sign the stored texts of an index anew, by other settings",
        description="Sign the texts that SIMDEDUP_STORE_TEXT has stored anew, by the settings as"
        " they are now: other methods, bits, keywords, tables or dictionaries. The old index is"
        " moved aside.",
        epilog="example: scrapy simdedup rebuild --index .scrapy/simdedup/news.db"
        " -s SIMDEDUP_METHODS=simhash,sketch,piecewise",
    )
    add_index(parser, required=False)
    parser.add_argument(
        "--output",
        type=Path,
        metavar="NEW.db",
        help="write the new index to this file, and leave the old one where it is",
    )
    parser.add_argument(
        "--leave-out",
        action="store_true",
        help="go on without the pages whose texts are not stored; they will be unknown",
    )
    add_set(parser)
    parser.set_defaults(function=run)


def run(opts: argparse.Namespace, settings: Any) -> None:
    """Rebuild. Raises UsageError, ConfigError and IndexUnusable."""
    from scrapy_simdedup.batch.rebuild import rebuild
    from scrapy_simdedup.index.records import Settled

    config = config_of(settings)
    path = index_of(opts, config)
    made = rebuild(path, config, progress, output=opts.output, leave_out=opts.leave_out)
    gone = made.left_out
    left_out = f", {gone.originals:,} left out" if gone.originals else ""
    if gone.orphans:
        say(Settled(0, gone.orphans).warning(made.path))
    say(f"{made.pages:,} pages signed anew{left_out}: {made.path}; the old index is {made.old}")
