"""Medians, ratios and tables of the crawl benchmark."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence

from figures import Figures, merged, rounded
from tables import table

#: Contestants, and by name what each crawl of theirs came to.
Runs = dict[str, list[Figures]]

ALONE, FIRST, SECOND = "scrapy alone", "first crawl", "second crawl"
EXTRACTION, BARE = "extraction alone", "bare trafilatura"
#: The table's columns: figure, head, digits.
COLUMNS = (
    ("per_second", "pages/s", 1),
    ("ms_a_page", "ms a page", 2),
    ("cpu_ms", "CPU ms a page", 2),
    ("workers_cpu_ms", "workers' CPU ms a page", 2),
    ("lag_p50_ms", "lag p50 ms", 2),
    ("lag_p95_ms", "p95", 2),
    ("lag_max_ms", "max", 1),
    ("rss_mb", "peak MB", 0),
    ("workers_rss_mb", "workers' MB", 0),
)


def ratios(runs: Mapping[str, Sequence[Figures]]) -> Figures:
    """Return how the crawls compare: the medians of what each round says."""
    rounds: dict[str, list[float]] = defaultdict(list)
    for alone, first, second, extraction, bare in zip(
        *(runs[name] for name in (ALONE, FIRST, SECOND, EXTRACTION, BARE)), strict=True
    ):
        rounds["with_over_extraction"].append(first["per_second"] / extraction["per_second"])
        spent = [crawl["cpu_ms"] + crawl["workers_cpu_ms"] for crawl in (first, extraction)]
        rounds["with_over_extraction_cpu"].append(spent[1] / spent[0] if spent[0] else 1.0)
        rounds["with_over_bare"].append(first["per_second"] / bare["per_second"])
        rounds["with_over_alone"].append(first["per_second"] / alone["per_second"])
        rounds["second_over_first"].append(second["ms_a_page"] / first["ms_a_page"])
        for end, keys in (("", ("ms_a_page",)), ("_cpu", ("cpu_ms", "workers_cpu_ms"))):
            without = sum(alone[key] for key in keys)
            own = [sum(crawl[key] for key in keys) - without for crawl in (first, second)]
            # Below nothing is noise: a share that is too small to be seen.
            rounds[f"second_over_first_own{end}"].append(own[1] / max(own[0], 0.001))
        rounds["second_speedup"].append(second["per_second"] / first["per_second"])
        rounds["lag_p95_over_alone_ms"].append(first["lag_p95_ms"] - alone["lag_p95_ms"])
    return {name: statistics.median(values) for name, values in rounds.items()}


def product(runs: Mapping[str, Sequence[Figures]]) -> Figures:
    """Return the plugin's own figures: the first crawl, the second one, and the ratios."""
    second = {f"second_{name}": value for name, value in merged(runs[SECOND]).items()}
    return rounded({**merged(runs[FIRST]), **second, **ratios(runs)})


def peers(runs: Mapping[str, Sequence[Figures]]) -> dict[str, Figures]:
    """Return the figures of the others by name."""
    return {name: rounded(merged(runs[name])) for name in (ALONE, EXTRACTION, BARE)}


def crawl_table(runs: Mapping[str, Sequence[Figures]]) -> str:
    """Return a table of medians, a row for each contestant."""
    rows = []
    for name, made in runs.items():
        found = merged(made)
        cells = [f"{found[key]:.{digits}f}" if key in found else "" for key, _, digits in COLUMNS]
        rows.append([name, *cells])
    return table(["", *(head for _, head, _ in COLUMNS)], rows)


def ratio_lines(figures: Figures) -> str:
    """Say how the crawls compare."""
    told = (
        ("first crawl / extraction alone, pages a second", "with_over_extraction"),
        ("the same by CPU time of all processes", "with_over_extraction_cpu"),
        ("first crawl / bare trafilatura, pages a second", "with_over_bare"),
        ("first crawl / scrapy alone, pages a second", "with_over_alone"),
        ("second / first crawl, time a page", "second_over_first"),
        ("second / first crawl, without scrapy alone's time", "second_over_first_own"),
        ("the same by CPU time of all processes", "second_over_first_own_cpu"),
        ("lag p95 beyond scrapy alone's, ms", "lag_p95_over_alone_ms"),
    )
    return "\n".join(f"{text:<52} {figures[name]:>7.3f}" for text, name in told)


def growth(samples: Sequence[Sequence[float]], mark: int) -> Figures:
    """Return the memory after ``mark`` pages and at the end, and the slope between, in MB.

    A sample is the pages so far, the memory of the main process in all, without mapped files,
    and that of the workers.
    """
    later = [each for each in samples if each[0] >= mark] or samples[-1:]
    first, last = later[0], later[-1]
    pages = [each[0] / 1000 for each in later]
    found = {}
    for at, name in ((1, "rss_mb"), (2, "rss_own_mb"), (3, "workers_rss_mb")):
        values = [each[at] for each in later]
        found[name] = last[at]
        found[f"{name}_after_{mark}"] = first[at]
        moving = len(set(pages)) > 1
        slope = statistics.linear_regression(pages, values).slope if moving else 0.0
        found[f"{name}_per_1000"] = slope
    return found
