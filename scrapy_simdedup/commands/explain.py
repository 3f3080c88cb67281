"""``scrapy simdedup explain``: why two pages are near-duplicates, or are not."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError

from scrapy_simdedup.commands.options import add_index, add_set, config_of, found_index
from scrapy_simdedup.commands.screen import watched

if TYPE_CHECKING:
    import sqlite3

    from scrapy_simdedup.batch.record import Record
    from scrapy_simdedup.config import Config
    from scrapy_simdedup.logs.sides import Side


def add_parser(subcommands: Any) -> None:
    """Declare the subcommand."""
    parser = subcommands.add_parser(
        "explain",
        help="say why two pages are near-duplicates, or are not",
        description="Judge page B as the new one against page A as the kept one, and say why. A"
        " page is an HTML or .txt file, one of many in a file (crawl.warc.gz#URL,"
        " pages.jsonl#URL), or a URL of an index. Where an index is used, the settings are those"
        " of its newest run, and -s.",
        epilog="example: scrapy simdedup explain https://example.com/a new.html --index pages.db",
    )
    parser.add_argument("kept", metavar="A", help="the kept page")
    parser.add_argument("new", metavar="B", help="the new page")
    add_index(parser, required=False)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_set(parser)
    parser.set_defaults(function=run)


def run(opts: argparse.Namespace, settings: Any) -> None:
    """Explain. Raises UsageError and SimDedupError."""
    from contextlib import ExitStack

    from scrapy_simdedup.logs.export import reading
    from scrapy_simdedup.output import writing

    with ExitStack() as stack:
        connection = None
        if opts.index or any(
            "://" in name and not _in_file(name) for name in (opts.kept, opts.new)
        ):
            connection = stack.enter_context(reading(found_index(opts, settings)))
        out = stack.enter_context(writing(None))
        out.writelines(f"{line.rstrip()}\n" for line in _lines(opts, connection, settings))


def _lines(
    opts: argparse.Namespace, connection: sqlite3.Connection | None, settings: Any
) -> Iterator[str]:
    import json
    from dataclasses import asdict

    from scrapy_simdedup.commands.explained import logged, shown
    from scrapy_simdedup.logs.explain import explain
    from scrapy_simdedup.logs.sides import NotKept

    config, by = _recorded(connection, settings) if connection else (config_of(settings), None)
    try:
        kept = _side(opts.kept, opts.new, connection, config)
        new = _side(opts.new, opts.kept, connection, config)
    except NotKept as only:
        if opts.json or connection is None:
            raise
        # The log may have just what is asked.
        yield from logged(only, (opts.kept, opts.new), connection)
        return
    found = explain(kept, new, config)
    if opts.json:
        # ASCII, since escapes of a narrow terminal would be no JSON.
        yield json.dumps(asdict(found))
    else:
        yield from shown(found, by)


def _recorded(connection: sqlite3.Connection, settings: Any) -> tuple[Config, str | None]:
    """Return the settings of the newest run, as ``-s`` changes them, and whose they are.

    Spiders have settings of their own, which those of the project do not tell. Raises
    IndexUnusable where pages would now be signed otherwise.
    """
    from scrapy.settings import SETTINGS_PRIORITIES

    from scrapy_simdedup.config import PREFIX
    from scrapy_simdedup.logs.settings import newest_run, settings_of

    given = {
        name: settings.get(name)
        for name in settings
        if name.startswith(PREFIX)
        and (settings.getpriority(name) or 0) >= SETTINGS_PRIORITIES["cmdline"]
    }
    run = newest_run(connection)
    if run is None:
        return config_of(given), None
    (spider,) = connection.execute("SELECT spider FROM runs WHERE id = ?", (run,)).fetchone()
    config = config_of({**settings_of(connection, run), **given})
    _refuse_other_signatures(connection, config)
    return config, f"run {run}{f' ({spider})' if spider else ''}{' and -s' if given else ''}"


def _refuse_other_signatures(connection: sqlite3.Connection, config: Config) -> None:
    """Raise IndexUnusable where the index signs otherwise; it may well store other methods."""
    import json

    from scrapy_simdedup.identity import identity_of
    from scrapy_simdedup.index import schema

    path = Path(connection.execute("PRAGMA database_list").fetchone()[2])
    row = connection.execute("SELECT value FROM meta WHERE key = 'identity'").fetchone()
    if row is not None:
        recorded = json.loads(row[0])
        asked = {name: value for name, value in identity_of(config).items() if name in recorded}
        same = {name: recorded.get(name) for name in ("methods", "scope")}
        schema.refuse_identity(connection, path, {**recorded, **asked, **same})


def _in_file(name: str) -> bool:
    """Tell whether a page lies on disk: a file, or one of many in a file."""
    return Path(name).is_file() or Path(name.partition("#")[0]).is_file()


def _side(name: str, other: str, connection: sqlite3.Connection | None, config: Config) -> Side:
    from scrapy_simdedup.logs.sides import NotFound, side_of, stored_side

    if _in_file(name):
        record = _record(name)
        if record.reason:
            raise NotFound(f"{name} is no page: {record.reason}")
        return side_of(record, config)
    if Path(name).is_dir():
        raise UsageError(f"{name} is a folder, and explain takes two pages")
    if connection is None:
        raise NotFound(f"there is no file {name}")
    return stored_side(connection, name, other)


def _record(name: str) -> Record:
    """Return a page from disk, or why it is none. Raises UsageError, Unreadable and NotFound."""
    from scrapy_simdedup.batch.read import holds_many, read
    from scrapy_simdedup.commands.pages import reading_pages
    from scrapy_simdedup.logs.sides import NotFound
    from scrapy_simdedup.sites import stored_url

    path, url = Path(name), ""
    if not path.is_file():
        file, _, url = name.partition("#")
        path = Path(file)
    if not holds_many(path):
        return next(read(path))
    if not url:
        raise UsageError(f"{path} holds many pages: give one of them, as {path}#URL")
    refused = None
    with reading_pages([path], shown=watched()) as (pages, bar):
        for record in bar.counting(pages):
            if stored_url(record.url) == stored_url(url):
                if not record.reason:
                    return record
                refused = record
    if refused is None:
        raise NotFound(f"{path} holds no page {url}")
    return refused
