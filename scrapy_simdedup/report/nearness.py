"""How near the nearest pages were: histograms of the log's measures, with the limits."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace

from scrapy_simdedup.logs.measures import (
    CONTAINMENT,
    COPIES,
    DISTANCE,
    JUDGED,
    RESEMBLANCE,
    Bins,
    InForce,
    Measure,
    count_in_bins,
)

#: Every number of bits has a bar of its own, so that a limit lies between two of them.
MEASURES = (RESEMBLANCE, CONTAINMENT, replace(DISTANCE, width=1, bins=65))


@dataclass(frozen=True)
class Histogram:
    """How near the nearest pages were by one measure, and its limits, in units of the measure.

    ``decides`` tells that the limits had a say.
    """

    measure: Measure
    bins: Bins
    limits: list[int]
    decides: bool


def histograms(connection: sqlite3.Connection, in_force: InForce) -> list[Histogram]:
    """Return a histogram of each measure, the deciding ones first."""
    deciding = {measure.column for measure in in_force.deciding if in_force.measured}
    found = []
    for measure in MEASURES:
        rows = connection.execute(
            f"SELECT CAST(round({measure.column} * {measure.scale}) AS INTEGER),"  # noqa: S608
            f" status IN {COPIES}, count(*) FROM chosen"
            f" WHERE {measure.column} IS NOT NULL AND status IN {JUDGED}"
            " AND method IS NOT 'same-page' GROUP BY 1, 2"
        )
        bins = count_in_bins(measure, rows)
        limits = in_force.of(measure)
        # 0 switches a share off.
        asked = any(limits) or not measure.rising
        found.append(Histogram(measure, bins, limits, asked and measure.column in deciding))
    return sorted(found, key=lambda each: not each.decides)
