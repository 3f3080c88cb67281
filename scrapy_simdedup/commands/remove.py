"""``scrapy simdedup remove``: take originals out of an index."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from scrapy.exceptions import UsageError

from scrapy_simdedup.commands.options import add_index, add_set, config_of, index_of
from scrapy_simdedup.commands.progress import progress, total_of
from scrapy_simdedup.commands.screen import say


def add_parser(subcommands: Any) -> None:
    """Declare the subcommand."""
    parser = subcommands.add_parser(
        "remove",
        help="take pages out of an index, so that the next copy is kept",
        description="Take the originals out of an index that meet all that is given: pages, and"
        " items that come from them. The next copy of each is kept; the log keeps its history,"
        " and says of copies that their original was removed. A crawl may go on meanwhile. Exit"
        " code 1 where there is nothing to remove, or a URL is unknown.",
        epilog="example: scrapy simdedup remove --host mirror.example.com --dry-run"
        " --index .scrapy/simdedup/news.db",
    )
    parser.add_argument("urls", nargs="*", metavar="URL", help="those with one of these URLs")
    parser.add_argument(
        "--host", default="", help="those on this host; .example.com: on any of that domain"
    )
    parser.add_argument("--run", type=int, help="those that this run made originals")
    parser.add_argument(
        "--dry-run", action="store_true", help="list what would be removed, and change nothing"
    )
    add_index(parser, required=False)
    add_set(parser)
    parser.set_defaults(function=run)


def run(opts: argparse.Namespace, settings: Any) -> int:
    """Remove, and return the exit code. Raises UsageError, ConfigError and IndexUnusable."""
    from scrapy_simdedup.output import writing
    from scrapy_simdedup.sites import stored_url
    from scrapy_simdedup.upkeep import looked_after

    if not opts.urls and not opts.host and opts.run is None:
        raise UsageError("give URLs, --host or --run")
    path = index_of(opts, config_of(settings))
    unknown = dict.fromkeys(map(stored_url, opts.urls))
    pages = []
    with looked_after(path, write=not opts.dry_run) as upkeep, writing(None) as out:
        with progress("pages", None) as step:
            for page, url in upkeep.find(unknown, opts.host, opts.run):
                pages.append(page)
                unknown.pop(url, None)
                step(1)
                if opts.dry_run:
                    out.write(f"{url}\n")
        if opts.dry_run:
            copies = upkeep.copies_of(pages)
            told = f"originals to remove: {len(pages):,}; copies of them in the log: {copies:,}"
            say(told)
        else:
            removed = total_of(upkeep.remove(pages), len(pages), path)
            out.write(
                f"originals removed: {removed.originals:,};"
                f" copies of them in the log: {removed.copies:,}\n"
            )
    for url in unknown:
        say(f"{url} {_told(path, url)}")
    return 1 if unknown or not pages else 0


def _told(path: Path, url: str) -> str:
    """Return why a URL could not be removed, as the end of a sentence."""
    from scrapy_simdedup.logs.export import newest_decision, reading
    from scrapy_simdedup.logs.sides import says

    with reading(path) as connection:
        judged = newest_decision(connection, url, url)
    if judged is None:
        return "is not in this index"
    return f"is no original of this index: it was judged: {says(judged)}"
