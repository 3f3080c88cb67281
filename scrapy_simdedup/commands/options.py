"""What several subcommands take, and how they read the settings."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scrapy_simdedup.config import Config


def add_index(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    """Declare ``--index``."""
    parser.add_argument("--index", required=required, type=_file, help="the index file")


def _file(text: str) -> Path:
    from scrapy_simdedup.index.redis.address import is_address

    if is_address(text):
        raise argparse.ArgumentTypeError(
            "this takes a file: for an index in Redis that with its log of decisions, such as"
            " .scrapy/simdedup/SPIDER-log.db"
        )
    return Path(text)


def index_of(opts: argparse.Namespace, config: Config) -> Path:
    """Return ``--index``, or what ``SIMDEDUP_INDEX`` names. Raises UsageError."""
    from scrapy.exceptions import UsageError

    from scrapy_simdedup.crawl.places import located
    from scrapy_simdedup.index.redis.address import is_address

    if opts.index:
        return Path(opts.index).absolute()
    if is_address(config.index):
        raise UsageError(
            "give --index FILE, the log of decisions: SIMDEDUP_INDEX is an index in Redis"
        )
    if "%(" in config.index:
        raise UsageError(
            f"give --index FILE: SIMDEDUP_INDEX is {config.index}, which is a file for each spider"
        )
    return located(Path(config.index % {}))


def add_paths(parser: argparse.ArgumentParser) -> None:
    """Declare the pages on disk that ``batch.read`` reads."""
    parser.add_argument(
        "paths",
        nargs="+",
        type=Path,
        metavar="PATH",
        help="a folder of HTML (or .txt) files, or .jsonl[.gz] with url and html or text",
    )


def add_set(parser: argparse.ArgumentParser) -> None:
    """Declare ``-s``; a name of its own, since the one before the subcommand is Scrapy's."""
    parser.add_argument(
        "-s",
        dest="simdedup_set",
        action="append",
        metavar="NAME=VALUE",
        help="set/override a setting (may be repeated)",
    )


def config_of(settings: Any) -> Config:
    """Return the config of Scrapy's settings, and name unknown ones. Raises ConfigError."""
    from scrapy_simdedup.config import Config, unknown_settings

    for name, nearest in unknown_settings(settings).items():
        print(f"unknown setting {name}{f': {nearest}?' if nearest else ''}", file=sys.stderr)
    return Config.from_settings(settings)
