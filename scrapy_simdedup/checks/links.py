"""What the tables of an index say of each other: runs, claims, replacements, decisions, bodies."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from scrapy_simdedup.checks.finding import Finding
from scrapy_simdedup.index.ages import END_DEAD
from scrapy_simdedup.index.bands import Rows
from scrapy_simdedup.index.claims import Claims
from scrapy_simdedup.index.files import connect_reading
from scrapy_simdedup.index.pages import Pages
from scrapy_simdedup.index.records import Signature
from scrapy_simdedup.index.runs import is_alive

_UNKNOWN_RUNS = (
    "SELECT run FROM (SELECT run FROM pages UNION SELECT seen FROM pages"
    " UNION SELECT previous FROM pages WHERE previous IS NOT NULL"
    " UNION SELECT run FROM decisions) WHERE run NOT IN (SELECT id FROM runs)"
)
_LOST_RUNS = f"SELECT run, '', '', 'lost', '' FROM ({_UNKNOWN_RUNS})"  # noqa: S608  (ours)
# Runs whose claims may be open.
_RUNNING = "SELECT id FROM runs WHERE ended IS NULL AND id NOT IN (SELECT id FROM temp.dead)"
_NEW_CLAIMS = f"FROM pages WHERE confirmed = 0 AND run NOT IN ({_RUNNING})"
_VISITS = f"FROM pages WHERE previous IS NOT NULL AND seen NOT IN ({_RUNNING})"
# A page replaces an older state of itself, which goes when the new one is confirmed; the number
# stays. By any other number a page would go that is not the same one.
_WRONG_REPLACES = (
    "replaces IS NOT NULL AND (replaces >= id OR EXISTS (SELECT 1 FROM pages AS old"
    " WHERE old.id = pages.replaces AND (old.space != pages.space OR pages.confirmed)))"
)
# A claim that is released makes orphans of its copies, and a page that is replaced lets them go.
_LOST_ORIGINAL = (
    "status = 'duplicate' AND original_page IS NOT NULL"
    " AND original_page NOT IN (SELECT id FROM pages)"
)
_LOST_DECISION = "decision NOT IN (SELECT id FROM decisions)"


class LinkCheck:
    """Checks what points to runs, pages and decisions, and with ``mend`` mends it.

    The methods are to be called in their order: what is dead must be known, and what is
    released has consequences.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        rows_of: Callable[[Signature], Rows],
        *,
        mend: bool,
    ) -> None:
        self._execute = connection.execute
        self._mend = mend
        self._path = path
        pages = Pages(connection, 0, rows_of)
        self._claims = Claims(connection, 0, lambda _: False, pages.delete)
        self._execute("CREATE TEMP TABLE dead (id INTEGER PRIMARY KEY)")
        connection.executemany(
            "INSERT INTO temp.dead VALUES (?)", [(run,) for run in self._dead_runs()]
        )

    def runs(self) -> Finding:
        """Runs that pages or decisions name, but which are not in the table of runs."""
        wrong = self._count(f"FROM ({_UNKNOWN_RUNS})")
        if wrong and self._mend:
            self._execute(f"INSERT INTO runs (id, started, ended, status, lock) {_LOST_RUNS}")
        return Finding(
            "runs that are named", wrong, f"{wrong} are unknown", "enters them, with status lost"
        )

    def running(self) -> Finding:
        """Runs that have no end, and no process either."""
        wrong = self._count("FROM temp.dead")
        if wrong and self._mend:
            self._execute(f"{END_DEAD} WHERE id IN (SELECT id FROM temp.dead)")  # noqa: S608
        return Finding(
            "runs under way", wrong, f"{wrong} died", "notes that, as the next crawl does"
        )

    def claims(self) -> Finding:
        """Claims that nobody has settled, of runs that are over."""
        wrong = self._count(_NEW_CLAIMS) + self._count(_VISITS)
        orphans = 0
        if wrong and self._mend:
            runs = self._execute(f"SELECT run {_NEW_CLAIMS} UNION SELECT seen {_VISITS}")
            for (run,) in runs.fetchall():
                settled = self._claims.release(self._claims.open_claims(run))
                orphans += len(settled.orphans)
        return Finding(
            "open claims",
            wrong,
            f"{wrong} are of runs that are over",
            "releases them, as the next crawl does",
            f"{orphans} copies were orphaned with them" if orphans else "",
        )

    def replaced(self) -> Finding:
        """Pages that are to replace what is no older state of them."""
        wrong = self._count(f"FROM pages WHERE {_WRONG_REPLACES}")
        if wrong and self._mend:
            self._execute(f"UPDATE pages SET replaces = NULL WHERE {_WRONG_REPLACES}")  # noqa: S608
        return Finding(
            "replaced pages", wrong, f"{wrong} pages replace a wrong one", "has them replace none"
        )

    def originals(self) -> Finding:
        """Copies whose original is gone without a trace."""
        wrong = self._count(f"FROM decisions WHERE {_LOST_ORIGINAL}")
        if wrong and self._mend:
            self._execute(f"UPDATE decisions SET status = 'orphaned' WHERE {_LOST_ORIGINAL}")  # noqa: S608
        return Finding(
            "originals of copies",
            wrong,
            f"those of {wrong} copies are gone",
            "marks the copies as orphaned",
        )

    def bodies(self) -> Finding:
        """Bodies that are known by a decision that is gone."""
        wrong = self._count(f"FROM bodies WHERE {_LOST_DECISION}")
        if wrong and self._mend:
            self._execute(f"DELETE FROM bodies WHERE {_LOST_DECISION}")  # noqa: S608
        return Finding(
            "known bodies", wrong, f"the decisions on {wrong} are gone", "forgets the bodies"
        )

    def _count(self, what: str) -> int:
        return int(self._execute(f"SELECT count(*) {what}").fetchone()[0])

    def _dead_runs(self) -> list[int]:
        rows = self._execute("SELECT id, lock FROM runs WHERE ended IS NULL").fetchall()
        dead = [run for run, lock in rows if not _is_held(self._path, lock)]
        if not dead or self._mend:
            return dead
        # Some may have ended since this transaction began, which then does not know of it.
        with closing(connect_reading(self._path)) as now:
            marks = ",".join(map(str, dead))
            open_still = now.execute(
                f"SELECT id FROM runs WHERE ended IS NULL AND id IN ({marks})"  # noqa: S608
            )
            return [run for (run,) in open_still.fetchall()]


def _is_held(path: Path, lock: str) -> bool:
    try:
        return is_alive(path, lock)
    except (OSError, ValueError, TypeError):
        # Nobody runs where no lock can be taken, or by a name that is none.
        return False
