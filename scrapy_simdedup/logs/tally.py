"""What a pass over the log adds up: histograms, and the decisions nearest to the limit."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator

from scrapy_simdedup.logs.measures import (
    COPIES,
    DISTANCE,
    JUDGED,
    RESEMBLANCE,
    Bins,
    Measure,
    Row,
    count_in_bins,
)

# Kept pages, and copies, that are told as the nearest to the limit.
_NEAREST = 3

MEASURES = (RESEMBLANCE, DISTANCE)


def judged(rows: Iterable[Row]) -> Iterator[Row]:
    """Return the decisions that limits were asked for; two addresses of one page are none."""
    return (row for row in rows if row["status"] in JUDGED and row["method"] != "same-page")


class Tally:
    """Adds up decisions as they pass; ``edge`` is the measure by which some are nearest."""

    def __init__(self, edge: Measure) -> None:
        self._edge = edge
        self._values: dict[str, Counter[tuple[int, bool]]] = {
            measure.column: Counter() for measure in MEASURES
        }
        # By whether they are copies; the first of each is the one farthest from the limit.
        self._nearest: dict[bool, list[tuple[int, int, Row]]] = {False: [], True: []}
        self.decisions = 0
        self.without = 0

    def counting(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Add rows as they pass."""
        for row in rows:
            self._add(row)
            yield row

    def _add(self, row: Row) -> None:
        self.decisions += 1
        self.without += row["resemblance"] is None
        copy = row["status"] in COPIES
        for measure in MEASURES:
            units = measure.of(row)
            if units is not None:
                self._values[measure.column][units, copy] += 1
        units = self._edge.of(row)
        if units is not None:
            near = units if self._edge.rising else -units
            each = (-near if copy else near, -self.decisions, row)
            heap = self._nearest[copy]
            heapq.heappush(heap, each)
            if len(heap) > _NEAREST:
                heapq.heappop(heap)

    def bins(self, measure: Measure) -> Bins:
        """Return the histogram of a measure."""
        values = self._values[measure.column]
        return count_in_bins(measure, ((*value, number) for value, number in values.items()))

    def nearest(self) -> list[Row]:
        """Return the kept pages and the copies nearest to the limit, by nearness."""
        kept, copies = (sorted(heap, reverse=True) for heap in self._nearest.values())
        return [row for _, _, row in (*reversed(kept), *copies)]
