"""What the pages take from the code: settings, commands, tables of the index, queries.

A page says where it wants something by a comment, which is Markdown of its own elsewhere:

    <!-- generated: setting SIMDEDUP_ACTION -->

``expand`` puts Markdown in its place before Sphinx reads the page.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable
from dataclasses import Field, fields
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from scrapy_simdedup.config import Config, setting_name
from scrapy_simdedup.crawl.command import Command
from scrapy_simdedup.logs.export import FIELDS

MARK = re.compile(r"^<!-- generated: ([\w-]+)(?: (.+?))? -->$", re.MULTILINE)


def expand(page: str) -> str:
    """Return a page with Markdown in the place of its marks."""
    named = {argument for _, argument in MARK.findall(page)}

    def make(mark: re.Match[str]) -> str:
        kind, argument = mark.groups()
        if kind.endswith("-left"):
            # All that the page has not asked for by name: new ones never go missing.
            one = kind.removesuffix("s-left")
            rest = [name for name in _EVERY[one]() if name not in named]
            return "\n".join(_MAKERS[one](name) for name in rest)
        return _MAKERS[kind](argument) if argument else _MAKERS[kind]()

    return MARK.sub(make, page)


def _table(headers: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    headers = list(headers)
    lines = [headers, ["---"] * len(headers), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


# Settings


@cache
def settings() -> dict[str, Field[Any]]:
    """Return the fields of the config by their settings."""
    return {setting_name(each): each for each in fields(Config)}


def _setting(name: str) -> str:
    about = settings()[name].metadata
    lines = [
        f"### `{name}`",
        "",
        f"Default: `{_literal(about['default'])}`. Takes {about['takes']}.",
        "",
        about["meaning"],
        "",
    ]
    if about["request"]:
        short = settings()[name].name
        lines += [f'A request can set it: `meta={{"simdedup": {{"{short}": ...}}}}`.', ""]
    return "\n".join(lines)


def _settings_table() -> str:
    rows = (
        (
            f"`{name}`",
            f"`{_literal(each.metadata['default'])}`",
            each.metadata["meaning"],
        )
        for name, each in settings().items()
    )
    return _table(("setting", "default", "meaning"), rows)


def _request_table() -> str:
    rows = (
        (f"`{each.name}`", f"`{name}`", each.metadata["takes"])
        for name, each in settings().items()
        if each.metadata["request"]
    )
    return _table(("short name", "setting", "takes"), rows)


def _literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value).replace("'", '"')


# Commands


@cache
def commands() -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of all subcommands, by what follows ``scrapy simdedup``."""
    from scrapy.settings import Settings

    command = Command()
    command.settings = Settings()
    parser = argparse.ArgumentParser(prog="scrapy simdedup")
    command.add_options(parser)
    return dict(_below(parser, ""))


def _below(
    parser: argparse.ArgumentParser, name: str
) -> Iterable[tuple[str, argparse.ArgumentParser]]:
    subparsers = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    for each in subparsers:
        for word, child in each.choices.items():
            yield from _below(child, f"{name} {word}".strip())
    if not subparsers:
        yield name, parser


def _command(name: str) -> str:
    parser = commands()[name]
    parser.formatter_class = lambda prog: argparse.HelpFormatter(prog, width=96)
    formatter = parser._get_formatter()
    told = [each for each in parser._actions if not isinstance(each, argparse._HelpAction)]
    rows = (
        (f"`{_invocation(each)}`", _plain(formatter._expand_help(each) if each.help else ""))
        for each in told
    )
    usage = parser.format_usage().removeprefix("usage: ").replace(" [-h]", "").strip()
    lines = [
        f"### `scrapy simdedup {name}`",
        "",
        _plain(parser.description or ""),
        "",
        f"```text\n{usage}\n```",
        "",
        _table(("argument", "meaning"), rows),
    ]
    if parser.epilog:
        example = parser.epilog.removeprefix("example: ")
        lines += ["For example:", "", f"```sh\n{example}\n```", ""]
    return "\n".join(lines)


def _invocation(action: argparse.Action) -> str:
    names = ", ".join(action.option_strings)
    if action.nargs == 0:
        return names
    choices = "|".join(map(str, action.choices)) if action.choices else ""
    metavar = action.metavar or choices or action.dest.upper()
    value = f"{metavar}..." if action.nargs in ("+", "*") else str(metavar)
    return f"{names} {value}".strip().replace("|", "\\|")


def _commands_table() -> str:
    rows = (
        (f"[`{name}`](#scrapy-simdedup-{name.replace(' ', '-')})", _plain(parser.description or ""))
        for name, parser in commands().items()
    )
    return _table(("subcommand", "what it does"), rows)


def _plain(text: str) -> str:
    """Return a help text as Markdown that shows just that, on one line; settings as code."""
    escaped = re.sub(r"([\\`*_<>|\[\]])", r"\\\1", " ".join(text.split()))
    return re.sub(r"SIMDEDUP(?:\\_[A-Z]+)+", lambda at: f"`{at[0]}`".replace("\\", ""), escaped)


# The index file


@cache
def labels() -> dict[str, Any]:
    """Return what the package's metadata for datasette says of an index."""
    text = files("scrapy_simdedup.logs").joinpath("datasette.yaml").read_text(encoding="utf-8")
    index: dict[str, Any] = yaml.safe_load(text)["databases"]["index"]
    return index


def _columns(table: str) -> str:
    about = labels()["tables"][table]
    rows = ((f"`{name}`", meaning) for name, meaning in about["columns"].items())
    return f"{about['description']}\n\n{_table(('column', 'meaning'), rows)}"


def _export_fields() -> str:
    columns = {
        **labels()["tables"]["runs"]["columns"],
        **labels()["tables"]["decisions"]["columns"],
    }
    return _table(("field", "meaning"), ((f"`{name}`", columns[name]) for name in FIELDS))


def _queries() -> str:
    return "\n".join(
        f"### {query['title']}\n\n`{name}`: {query['description']}\n\n```sql\n{query['sql']}\n```\n"
        for name, query in labels()["queries"].items()
    )


def _table_section(name: str) -> str:
    return f"### The table `{name}`\n\n{_columns(name)}"


def _tables() -> list[str]:
    """Return the tables and views that are told of; SQLite's own are not."""
    return [name for name, about in labels()["tables"].items() if "description" in about]


_MAKERS: dict[str, Callable[..., str]] = {
    "setting": _setting,
    "settings-table": _settings_table,
    "request-table": _request_table,
    "command": _command,
    "commands-table": _commands_table,
    "columns": _columns,
    "table": _table_section,
    "export-fields": _export_fields,
    "queries": _queries,
}

_EVERY: dict[str, Callable[[], Iterable[str]]] = {
    "setting": settings,
    "command": commands,
    "table": _tables,
}
