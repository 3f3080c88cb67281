"""``scrapy simdedup prune``: take out of an index what no run has met for long."""

from __future__ import annotations

import argparse
from datetime import datetime, timedelta, timezone
from typing import Any

from scrapy.exceptions import UsageError

from scrapy_simdedup.commands.options import add_index, add_set, config_of, index_of
from scrapy_simdedup.commands.progress import total_of


def add_parser(subcommands: Any) -> None:
    """Declare the subcommand."""
    parser = subcommands.add_parser(
        "prune",
        help="take out of an index what no run has met for long",
        description="Take the originals out of an index that no run has met for so long; a page"
        " counts as met when the last run that met it ended. Otherwise as remove. The file"
        " stays as large until vacuum; what comes then fills the space first.",
        epilog="example: scrapy simdedup prune --older-than 30d --index .scrapy/simdedup/news.db",
    )
    parser.add_argument(
        "--older-than",
        required=True,
        metavar="AGE",
        help="12h, 30d, 8w, or a date or time in UTC: 2026-01-31, 2026-01-31T12:00",
    )
    parser.add_argument(
        "--decisions",
        action="store_true",
        help="delete what the log has from before that time as well, but for runs that go on",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would go, and change nothing"
    )
    add_index(parser, required=False)
    add_set(parser)
    parser.set_defaults(function=run)


def run(opts: argparse.Namespace, settings: Any) -> None:
    """Prune. Raises UsageError, ConfigError and IndexUnusable."""
    from scrapy_simdedup.index.ages import stamp
    from scrapy_simdedup.output import writing
    from scrapy_simdedup.upkeep import looked_after

    before = stamp(moment(opts.older_than))
    path = index_of(opts, config_of(settings))
    with looked_after(path, write=not opts.dry_run) as upkeep, writing(None) as out:
        originals, copies = upkeep.old(before)
        decisions = upkeep.old_decisions(before) if opts.decisions else 0
        if not opts.dry_run:
            removed = total_of(upkeep.prune(before), originals, path)
            originals, copies = removed.originals, removed.copies
            if opts.decisions:
                decisions = total_of(upkeep.prune_decisions(before), decisions, path).decisions
        done = "to prune" if opts.dry_run else "pruned"
        out.write(
            f"originals {done}, which no run has met since {before}: {originals:,};"
            f" copies of them in the log: {copies:,}\n"
        )
        if opts.decisions:
            out.write(f"decisions {done}: {decisions:,}\n")


def moment(given: str) -> datetime:
    """Read an age or a time. Raises UsageError where it is neither, or yet to come."""
    from scrapy_simdedup import parse

    now = datetime.now(timezone.utc)
    try:
        return now - timedelta(seconds=parse.age(given or "?"))
    except ValueError:
        pass
    try:
        # Before 3.11 Python does not know Z.
        time = datetime.fromisoformat(given.strip().removesuffix("Z"))
        time = (time if time.tzinfo else time.replace(tzinfo=timezone.utc)).astimezone(timezone.utc)
    except (ValueError, OverflowError):
        raise UsageError(
            f"--older-than takes 12h, 30d, 8w, or a date as 2026-01-31, not {given!r}"
        ) from None
    if time > now:
        raise UsageError(f"--older-than {given} is yet to come")
    return time
