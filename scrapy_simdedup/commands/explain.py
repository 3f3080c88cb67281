"""``scrapy simdedup explain``: why two pages are near-duplicates, or are not."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError

from scrapy_simdedup.commands.options import add_index, add_set, config_of

if TYPE_CHECKING:
    import sqlite3

    from scrapy_simdedup.config import Config
    from scrapy_simdedup.logs.explain import Explanation, Measures
    from scrapy_simdedup.logs.sides import Side

_LABEL = 24
_COLUMN = 17
_UNKNOWN = "not stored"


def add_parser(subcommands: Any) -> None:
    """Declare the subcommand."""
    parser = subcommands.add_parser(
        "explain",
        help="say why two pages are near-duplicates, or are not",
        description="Judge page B as the new one against page A as the kept one, and say why.",
        epilog="example: scrapy simdedup explain https://example.com/a new.html --index pages.db",
    )
    what = "an HTML or .txt file, or a URL that the index holds"
    parser.add_argument("kept", metavar="A", help=f"the kept page: {what}")
    parser.add_argument("new", metavar="B", help="the new page, likewise")
    add_index(parser, required=False)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_set(parser)
    parser.set_defaults(function=run)


def run(opts: argparse.Namespace, settings: Any) -> None:
    """Explain. Raises UsageError, ConfigError, IndexUnusable and NotFound."""
    import json
    from contextlib import ExitStack
    from dataclasses import asdict

    from scrapy_simdedup.logs.explain import explain
    from scrapy_simdedup.logs.export import reading
    from scrapy_simdedup.output import writing

    config = config_of(settings)
    with ExitStack() as stack:
        connection = None
        if opts.index:
            connection = stack.enter_context(reading(opts.index))
            _refuse_other_signatures(connection, opts.index.absolute(), config)
        kept, new = (_side(name, connection, config) for name in (opts.kept, opts.new))
        out = stack.enter_context(writing(None))
        found = explain(kept, new, config)
        if opts.json:
            # ASCII, since escapes of a narrow terminal would be no JSON.
            out.write(json.dumps(asdict(found)) + "\n")
        else:
            out.writelines(f"{line.rstrip()}\n" for line in shown(found))


def _refuse_other_signatures(connection: sqlite3.Connection, path: Path, config: Config) -> None:
    """Raise IndexUnusable where the index signs otherwise; it may well store other methods."""
    import json

    from scrapy_simdedup.identity import identity_of
    from scrapy_simdedup.index import schema

    row = connection.execute("SELECT value FROM meta WHERE key = 'identity'").fetchone()
    if row is not None:
        recorded = json.loads(row[0])
        asked = {name: value for name, value in identity_of(config).items() if name in recorded}
        same = {name: recorded.get(name) for name in ("methods", "scope")}
        schema.refuse_identity(connection, path, {**recorded, **asked, **same})


def _side(name: str, connection: sqlite3.Connection | None, config: Config) -> Side:
    from scrapy_simdedup.batch.read import holds_many, read
    from scrapy_simdedup.logs.sides import NotFound, side_of, stored_side
    from scrapy_simdedup.sites import stored_url

    path = Path(name)
    address = "://" in name
    if address and connection is None:
        raise UsageError(f"{name} is looked up in an index: give --index FILE")
    if not address and path.is_dir():
        raise UsageError(f"{name} is a folder, and explain takes two pages")
    if not address and path.is_file():
        if holds_many(path):
            raise UsageError(f"{name} holds many pages, and explain takes two")
        try:
            (record,) = read(path)
        except OSError as error:
            raise NotFound(f"cannot read {name}: {error.strerror}") from error
        if record.reason:
            raise NotFound(f"{name} is no page: {record.reason}")
        return side_of(record, config)
    if connection is None:
        raise NotFound(f"there is no file {name}")
    return stored_side(connection, stored_url(name))


def shown(found: Explanation) -> Iterator[str]:
    """Return the lines that a person reads."""
    kept, new = found.kept, found.new
    yield f"A  {kept.name} (kept, from the {kept.source})"
    yield f"B  {new.name} (new, from the {new.source})"
    yield "B is judged as the new page against A as the kept one."
    yield ""
    yield _row("", "A", "B")
    yield _row("characters", _known(kept.characters), _known(new.characters))
    yield _row("terms", _known(kept.terms), _known(new.terms))
    yield _row("distinct terms", str(kept.distinct_terms), str(new.distinct_terms))
    if kept.doubt or new.doubt:
        yield _row("doubtful extraction", kept.doubt or "no", new.doubt or "no")
    for label, side in (("A", kept), ("B", new)):
        words = _UNKNOWN if side.keywords is None else ", ".join(side.keywords)
        yield f"{f'keywords of {label}':{_LABEL}}{words}"
    yield ""
    yield _row("", "found", "limit")
    yield _row("text", "equal" if found.equal_digest else "differs", "")
    if found.measures:
        yield from _measured(found, found.measures)
    yield ""
    answers = {True: "yes", False: "no", None: _UNKNOWN}
    if found.measures:
        for name, answer in found.methods.items():
            yield _row(f"method {name}", answers[answer], "")
        yield f"{'proposed by':{_LABEL}}{', '.join(found.proposed_by) or 'none'}"
        yield ""
    yield f"verdict: {_verdict(found)}"
    yield from _changes(found)


def _measured(found: Explanation, measures: Measures) -> Iterator[str]:
    from scrapy_simdedup.methods.sketch import MOST_NEW_PARTS, PARTS

    limits = found.limits
    about = " (estimate)" if measures.estimated else ""
    yield _row("distance in bits", str(measures.distance), f"at most {measures.max_distance}")
    yield _row("resemblance", f"{measures.resemblance:.2f}{about}", _least(limits.resemblance))
    yield _row(
        "containment of B in A",
        f"{measures.containment:.2f}{about}",
        _least(limits.containment),
    )
    if measures.containment_of_kept is not None:
        yield _row("containment of A in B", f"{measures.containment_of_kept:.2f}", "not used")
    parts = _UNKNOWN if measures.new_parts is None else f"{measures.new_parts} of {PARTS}"
    most = f"at most {MOST_NEW_PARTS}" if limits.containment else "off"
    yield _row("new parts of B", parts, most)
    segments = measures.segments
    if segments is None:
        yield _row("shared segments", _UNKNOWN, "")
    else:
        needed = f"at least {segments.needed} ({segments.least} of {segments.most})"
        yield _row("shared segments", f"{segments.shared} of {segments.smaller}", needed)
    yield _row("numbers of B in A", f"{measures.numbers:.2f}", _least(limits.numbers))
    yield _row("names of B in A", f"{measures.names:.2f}", _least(limits.names))


def _verdict(found: Explanation) -> str:
    if found.verdict == "skipped":
        why = [
            f"{label} is skipped: {side.skipped}"
            for label, side in (("A", found.kept), ("B", found.new))
            if side.skipped
        ]
        return f"not judged ({', '.join(why)})"
    about = ", by estimate" if found.measures and found.measures.estimated else ""
    if found.method:
        doubt = f"; tagged and never dropped: {found.new.doubt}" if found.new.doubt else ""
        return f"duplicate by {found.method}{about}{doubt}"
    cause = ""
    if any(found.methods.values()):
        cause = (
            ": too many other numbers or names" if found.proposed_by else ": no method proposes A"
        )
    elif None in found.methods.values():
        cause = ", as far as the index stores what it takes"
    return f"not a duplicate{about}{cause}"


def _changes(found: Explanation) -> Iterator[str]:
    effects = {
        "duplicate": "would make it a duplicate",
        "unique": "would keep both",
        "judged": "would have both judged",
    }
    for change in found.changes:
        yield f"{change.setting} = {change.value} {effects[change.verdict]}"
    if not found.changes:
        yield "no single limit would change that"


def _row(label: str, one: str, other: str) -> str:
    return f"{label:{_LABEL}}{one:{_COLUMN}} {other}"


def _known(value: int | None) -> str:
    return _UNKNOWN if value is None else str(value)


def _least(limit: float) -> str:
    return f"at least {limit:g}" if limit else "off"
