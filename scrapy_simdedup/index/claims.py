"""Claims in an SQLite index: confirmed, released, or left behind by a run that died.

A claim is settled only while it is still the run's own and still provisional, so settling
twice, or after somebody else has cleaned up, does nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable

from scrapy_simdedup.index.ages import END_DEAD
from scrapy_simdedup.index.records import Claim, Orphan, Settled


class Claims:
    """The claims of one run, inside the transactions of the index that owns the connection."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        run: int,
        is_alive: Callable[[int], bool],
        delete: Callable[[int], None],
    ) -> None:
        self._execute = connection.execute
        self._run = run
        self._is_alive = is_alive
        self._delete = delete

    def confirm(self, claims: Iterable[Claim]) -> Settled:
        """Make provisional rows originals; a row that replaces another takes its place."""
        count = 0
        for claim in claims:
            if not claim.new:
                count += self._execute(
                    "UPDATE pages SET previous = NULL WHERE id = ? AND seen = ?",
                    (claim.page, claim.run),
                ).rowcount
                continue
            row = self._execute(
                "UPDATE pages SET confirmed = 1 WHERE id = ? AND run = ? AND confirmed = 0"
                " RETURNING replaces",
                (claim.page, claim.run),
            ).fetchone()
            if row is not None:
                count += 1
                self._replace(claim.page, row[0])
        return Settled(count)

    def _replace(self, page: int, replaced: int | None) -> None:
        """Remove what a page takes the place of, and what that was to replace itself."""
        # Older rows have lower numbers, in a sound file.
        while replaced is not None and replaced < page:
            page = replaced
            row = self._execute("SELECT replaces FROM pages WHERE id = ?", (page,)).fetchone()
            replaced = row[0] if row else None
            self._delete(page)
            # Its copies stay copies; that their original is gone is as it should be.
            self._execute(
                "UPDATE decisions SET original_page = NULL WHERE original_page = ?", (page,)
            )

    def release(self, claims: Iterable[Claim]) -> Settled:
        """Undo claims; copies that were judged against them become orphans."""
        count = 0
        orphans: list[Orphan] = []
        for claim in claims:
            if not (self._withdraw(claim) if claim.new else self._forget_visit(claim)):
                continue
            count += 1
            if claim.new or claim.alone:
                rows = self._execute(
                    "UPDATE decisions SET status = 'orphaned' WHERE original_page = ?"
                    " AND status = 'duplicate' AND (? OR run = ?) RETURNING kind, url, original",
                    (claim.page, claim.new, claim.run),
                )
                orphans += [Orphan(*row) for row in rows.fetchall()]
        return Settled(count, orphans)

    def _withdraw(self, claim: Claim) -> bool:
        held = self._execute(
            "SELECT replaces FROM pages WHERE id = ? AND run = ? AND confirmed = 0",
            (claim.page, claim.run),
        ).fetchone()
        if held is not None:
            self._delete(claim.page)
            # The page has come again meanwhile, with a text that is not settled yet.
            self._execute(
                "UPDATE pages SET replaces = ? WHERE confirmed = 0 AND replaces = ?",
                (held[0], claim.page),
            )
        return held is not None

    def _forget_visit(self, claim: Claim) -> bool:
        cursor = self._execute(
            "UPDATE pages SET seen = previous, previous = NULL"
            " WHERE id = ? AND seen = ? AND previous IS NOT NULL",
            (claim.page, claim.run),
        )
        return cursor.rowcount > 0

    def open_claims(self, run: int) -> list[Claim]:
        """Return the claims of a run that nobody has settled."""
        new = self._execute("SELECT id FROM pages WHERE run = ? AND confirmed = 0", (run,))
        claims = [Claim(row[0], run, new=True) for row in new]
        seen = self._execute("SELECT id FROM pages WHERE seen = ? AND previous IS NOT NULL", (run,))
        return claims + [Claim(row[0], run, new=False) for row in seen]

    def release_open(self) -> Settled:
        """Release all that this run has left open."""
        return self.release(self.open_claims(self._run))

    def reap(self) -> Settled:
        """End the runs that died, and release what they left open."""
        rows = self._execute("SELECT id FROM runs WHERE ended IS NULL").fetchall()
        orphans: list[Orphan] = []
        count = 0
        for (run,) in rows:
            if self._is_alive(run):
                continue
            settled = self.release(self.open_claims(run))
            count += settled.count
            orphans += settled.orphans
            self._execute(f"{END_DEAD} WHERE id = ?", (run,))
        return Settled(count, orphans)
