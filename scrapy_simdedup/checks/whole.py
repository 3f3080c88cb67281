"""``check``: verify an index file from end to end, and repair what can be rebuilt."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scrapy_simdedup.checks.file import (
    check_identity,
    check_integrity,
    check_schema,
    read_identity,
)
from scrapy_simdedup.checks.finding import Finding, Progress
from scrapy_simdedup.checks.links import LinkCheck
from scrapy_simdedup.checks.rows import RowCheck, RowsFound
from scrapy_simdedup.checks.texts import check_texts
from scrapy_simdedup.exceptions import IndexUnusable
from scrapy_simdedup.index import schema
from scrapy_simdedup.index.damage import is_damage, rebuild_command, unusable
from scrapy_simdedup.index.files import check_unused, connect_reading
from scrapy_simdedup.index.transactions import LOCK_SECONDS
from scrapy_simdedup.methods import METHODS, rows_of

# Memory for the pages of the file, in KiB, where many rows may have to be written.
_CACHE = 64 << 10


@dataclass
class Report:
    """What is in an index, and what a check found."""

    path: Path
    holds: dict[str, int] = field(default_factory=dict)
    methods: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong (any more)."""
        return all(finding.sound for finding in self.findings)


def check(path: Path, now: Mapping[str, Any], progress: Progress, *, mend: bool) -> Report:
    """Check an index, and with ``mend`` repair it, in one transaction.

    ``now`` is the identity that a new file would have. No page and no decision is deleted, but
    for the claims of runs that died. Raises IndexUnusable where there is no index, and where it
    cannot be repaired while a run uses it.
    """
    path = path.absolute()
    with _opened(path, mend=mend) as connection:
        report = Report(path)
        found = report.findings
        found.append(check_integrity(connection, path, progress, mend=mend))
        # Of a damaged file nothing is changed: what can still be read may be all there is.
        mend = mend and (not found[0].wrong or bool(found[0].mending))
        try:
            _check_content(connection, report, now, progress, mend=mend)
        except sqlite3.DatabaseError as error:
            if not is_damage(error) or found[0].sound:
                raise
            found.append(Finding("the rest", 1, f"cannot be checked: {error}"))
        if mend:
            connection.execute("COMMIT")
        for finding in found:
            finding.mended = mend and bool(finding.mending)
    return report


@contextmanager
def _opened(path: Path, *, mend: bool) -> Iterator[sqlite3.Connection]:
    """Open an index and begin a transaction, which is rolled back unless it is committed."""
    if not path.is_file():
        raise IndexUnusable(f"there is no index at {path}")
    connection: sqlite3.Connection | None = None
    try:
        if mend:
            check_unused(path, "repair")
            connection = sqlite3.connect(
                f"{path.resolve().as_uri()}?mode=rw",
                uri=True,
                timeout=LOCK_SECONDS,
                isolation_level=None,
            )
        else:
            connection = connect_reading(path)
        schema.refuse_foreign(connection, path)
        if not connection.execute("PRAGMA user_version").fetchone()[0]:
            raise IndexUnusable(f"{path} is empty: there is no index in it, and a crawl makes one")
        connection.execute(f"PRAGMA cache_size = -{_CACHE}")
        connection.execute("BEGIN IMMEDIATE" if mend else "BEGIN")
        if mend:
            # A run that begins now has its lock, and waits for this transaction to end.
            check_unused(path, "repair")
        yield connection
    except sqlite3.Error as error:
        raise unusable(path, error) from error
    finally:
        if connection is not None:
            connection.close()


def _check_content(
    connection: sqlite3.Connection,
    report: Report,
    now: Mapping[str, Any],
    progress: Progress,
    *,
    mend: bool,
) -> None:
    found = report.findings
    finding, complete = check_schema(connection, mend=mend)
    found.append(finding)
    if not complete:
        return
    for table in ("pages", "decisions", "runs", "texts"):
        report.holds[table] = connection.execute(
            f"SELECT count(*) FROM {table}"  # noqa: S608  (one of four)
        ).fetchone()[0]
    try:
        identity = read_identity(connection)
    except ValueError as error:
        cause = f"unusable: {error}"
        found.append(Finding("identity", 1, cause, "", "its rows cannot be checked without one"))
        return
    report.methods = identity["methods"]
    remedy = rebuild_command(report.path) if report.holds["texts"] else ""
    found.append(check_identity(identity, now, remedy))
    rows = rows_of(report.methods)
    links = LinkCheck(connection, report.path.resolve(), rows, mend=mend)
    found += [links.runs(), links.running(), links.claims(), links.replaced()]
    check_rows = RowCheck(connection, rows, _sizes(identity), progress)
    found += _row_findings(check_rows.run())
    if mend:
        check_rows.mend()
    found += [links.originals(), links.bodies()]
    found += check_texts(connection, progress, mend=mend)


def _sizes(identity: Mapping[str, Any]) -> dict[str, int]:
    """Return the lengths of the fingerprints that each page has."""
    parts = {METHODS[name].part_name for name in identity["methods"]} & {"classic"}
    return dict.fromkeys({"simhash", *parts}, identity["bits"] // 8)


def _row_findings(found: RowsFound) -> list[Finding]:
    first = f", the first one is {found.first_unreadable}" if found.unreadable else ""
    unreadable = f"{found.unreadable} pages cannot be read{first}"
    return [
        Finding(
            "pages",
            found.unreadable if found.hanging else 0,
            f"{unreadable}, and look-ups find them",
            "takes them out of look-ups, so that they are met as new ones",
            f"{unreadable}; look-ups do not find them" if found.unreadable else "",
        ),
        Finding(
            "rows of pages",
            found.incomplete,
            f"{found.incomplete} pages lack {found.missing} and have {found.surplus} wrong ones",
            "writes the rows that their signatures imply, and drops the others",
        ),
        Finding(
            "rows of no page",
            found.stray,
            f"{found.stray} are of pages that are gone",
            "drops them",
        ),
    ]
