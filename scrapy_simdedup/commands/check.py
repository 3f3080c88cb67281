"""``scrapy simdedup check``: whether an index is sound, and what can be repaired."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from scrapy_simdedup.commands.options import add_index, add_set, config_of, index_of
from scrapy_simdedup.commands.progress import progress
from scrapy_simdedup.commands.screen import say

if TYPE_CHECKING:
    from scrapy_simdedup.checks.whole import Report

_SOUND, _WRONG, _UNUSABLE = 0, 1, 2

_LABEL = 22


def add_parser(subcommands: Any) -> None:
    """Declare the subcommand."""
    parser = subcommands.add_parser(
        "check",
        help="verify an index, and repair what can be rebuilt",
        description="Verify an index from end to end: the file, the rows of each page, claims,"
        " copies and their originals. Exit code 0: sound; 1: something is wrong; 2: there is no"
        " index, or it cannot be used.",
        epilog="example: scrapy simdedup check --index .scrapy/simdedup/news.db",
    )
    add_index(parser, required=False)
    parser.add_argument(
        "--repair",
        action="store_true",
        help="rebuild what can be rebuilt, in one transaction; no page and no decision is deleted",
    )
    add_set(parser)
    parser.set_defaults(function=run)


def run(opts: argparse.Namespace, settings: Any) -> int:
    """Check, and return the exit code. Raises UsageError."""
    from scrapy_simdedup.checks.whole import check
    from scrapy_simdedup.exceptions import SimDedupError
    from scrapy_simdedup.identity import identity_of
    from scrapy_simdedup.index.damage import is_damage
    from scrapy_simdedup.output import writing

    try:
        config = config_of(settings)
        report = check(index_of(opts, config), identity_of(config), progress, mend=opts.repair)
    except SimDedupError as error:
        say(f"scrapy simdedup: {error}")
        malformed = is_damage(error) and "not a database" not in str(error)
        return _WRONG if malformed else _UNUSABLE
    with writing(None) as out:
        out.writelines(f"{line.rstrip()}\n" for line in shown(report, repair=opts.repair))
    return _SOUND if report.sound else _WRONG


def shown(report: Report, *, repair: bool) -> Iterator[str]:
    """Return the lines that a person reads."""
    from scrapy_simdedup.index.damage import check_command

    holds = ", ".join(f"{count:,} {name}" for name, count in report.holds.items())
    yield f"{report.path}{f': {holds}' if holds else ''}"
    if report.methods:
        yield f"methods: {'+'.join(report.methods)}"
    yield ""
    mendable = 0
    for finding in report.findings:
        done = ": repaired" if finding.mended else ""
        yield f"{finding.what:{_LABEL}}{finding.told + done if finding.wrong else 'sound'}"
        if finding.wrong and finding.mending and not finding.mended:
            mendable += 1
            yield f"{'':{_LABEL}}--repair {finding.mending}"
        if finding.note:
            yield f"{'':{_LABEL}}{finding.note}"
    yield ""
    yield _verdict(report, mendable, f"{check_command(report.path)} --repair", repair=repair)


def _verdict(report: Report, mendable: int, command: str, *, repair: bool) -> str:
    wrong = sum(bool(finding.wrong) for finding in report.findings)
    left = sum(not finding.sound for finding in report.findings)
    if not wrong:
        return "The index is sound."
    if not left:
        return "What was wrong has been repaired: the index is sound now."
    if repair and not mendable:
        return f"{left} of {wrong} things that are wrong cannot be repaired."
    if repair:
        return "Nothing was repaired: the file itself is damaged."
    if mendable:
        return f"{wrong} things are wrong; {mendable} can be repaired: {command}"
    return f"{wrong} things are wrong, and cannot be repaired."
