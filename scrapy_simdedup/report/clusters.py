"""The originals with most copies, and those copies of each that are least alike."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from typing import Any

from scrapy_simdedup.report.counts import Bounded

_COLUMNS = (
    *("id", "run", "time", "kind", "url", "reason", "original", "original_page", "distance"),
    *("max_distance", "resemblance", "containment", "method", "text"),
)


@dataclass(frozen=True)
class Cluster:
    """An original and its copies: how many pages, on how many hosts, how alike at the least.

    ``same_page`` counts decisions by the address alone; ``removed`` tells that the original is
    no longer in the index, so that the next copy will be kept. ``copies`` holds some of the
    copies, the least alike first, as rows of the log.
    """

    original: str
    kind: str
    size: int
    hosts: int
    least: float | None
    same_page: int
    first: str
    last: str
    removed: int
    copies: list[dict[str, Any]] = field(default_factory=list)


def clusters(connection: sqlite3.Connection, most: int, most_copies: int) -> Bounded[Cluster]:
    """Return the largest clusters.

    A page that several runs met counts once; items have no address of their own.
    """
    (total,) = connection.execute(
        "SELECT count(*) FROM (SELECT DISTINCT original, kind FROM chosen"
        " WHERE status = 'duplicate' AND original IS NOT NULL)"
    ).fetchone()
    rows = connection.execute(
        """
        SELECT original, kind,
               CASE kind WHEN 'page' THEN count(DISTINCT url) ELSE count(*) END,
               count(DISTINCT host_of(CAST(url AS BLOB))), min(resemblance),
               sum(method IS 'same-page'), min(time), max(time),
               min(original_removed IS NOT NULL)
        FROM chosen WHERE status = 'duplicate' AND original IS NOT NULL
        GROUP BY original, kind ORDER BY 3 DESC, min(id) LIMIT ?
        """,
        (most,),
    )
    found = {(row[0], row[1]): Cluster(*row) for row in rows}
    for copy in _copies(connection, list(found), most_copies):
        found[copy["original"], copy["kind"]].copies.append(copy)
    return Bounded(list(found.values()), total)


def _copies(
    connection: sqlite3.Connection, originals: list[tuple[str, str]], most: int
) -> list[dict[str, Any]]:
    """Return some copies of each of these originals, the least alike first."""
    connection.execute("CREATE TEMP TABLE largest (original TEXT, kind TEXT)")
    connection.executemany("INSERT INTO largest VALUES (?, ?)", originals)
    columns = ", ".join(f"d.{name}" for name in _COLUMNS)
    names = ", ".join(_COLUMNS)
    rows = connection.execute(
        f"""
        SELECT {names} FROM (
            SELECT {names}, row_number() OVER (
                PARTITION BY original, kind ORDER BY resemblance IS NULL, resemblance, id
            ) AS place
            FROM (
                SELECT {columns}, max(d.id)
                FROM chosen d JOIN largest l ON l.original = d.original AND l.kind = d.kind
                WHERE d.status = 'duplicate'
                GROUP BY d.original, d.kind, CASE d.kind WHEN 'page' THEN d.url ELSE d.id END
            )
        )
        WHERE place <= ? ORDER BY original, kind, place
        """,  # noqa: S608  (names of ours)
        (most,),
    ).fetchall()
    connection.execute("DROP TABLE largest")
    return [dict(zip(_COLUMNS, row, strict=True)) for row in rows]
