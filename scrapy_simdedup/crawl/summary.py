"""What a crawl came to, in three lines: the counts, what was dropped, and what to do next."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from scrapy_simdedup.config import Config

_STATUSES = ("unique", "duplicate", "revisit", "skipped", "error", "orphaned")
_JUDGED = ("unique", "duplicate", "revisit")

Stats = Mapping[str, Any]

# Why nothing was judged, by the reason of most pages that were skipped.
WHY = {
    "no-callback": "only requests of Scrapy's own were answered, such as those for robots.txt",
    "inline": "requests that are awaited inside a callback are left alone",
    "foreign-callback": "the callbacks are not the spider's own",
    "head": "answers to HEAD requests have no text",
    "meta": 'the requests had meta={"simdedup": False}',
    "status": "no page came with the status 200",
    "not-text": "pages came compressed: the downloader middleware has too high an order",
    "not-html": "no answer was HTML; SIMDEDUP_ITEM_FIELDS judges items by their own fields instead",
    "timeout": "the pages took longer than SIMDEDUP_TIMEOUT",
    "no-text": "no main text was found; SIMDEDUP_EXTRACTOR names what looks for it",
    "too-short": "all texts have fewer distinct terms than SIMDEDUP_MIN_TERMS",
    "no-field": "the items had no text in the fields of SIMDEDUP_ITEM_FIELDS",
    "closed": "the crawl was over before",
    "error": "each met an error; the log tells of the first one",
}


def judged(stats: Stats) -> bool:
    """Tell whether the ``simdedup/`` stats know of anything that was judged."""
    return any(_number(stats, _JUDGED, kind) for kind in ("pages", "items"))


def outcome(stats: Stats, config: Config, place: str, path: Path, run: int) -> list[str]:
    """Return the lines on a crawl of the index at ``place``, run number ``run`` of its log.

    The log is in the file at ``path``.
    """
    originals = stats.get("simdedup/index/originals")
    held = f"{place} now holds {originals} originals" if originals is not None else place
    return [
        f"{_counts(stats)}; {held}",
        _effect(stats, config),
        _next(stats, path, run),
    ]


def idle(stats: Stats, config: Config, callbacks: Collection[str]) -> list[str]:
    """Return the lines on a crawl that judged nothing.

    ``callbacks`` got pages, and are not in ``SIMDEDUP_CALLBACKS``.
    """
    reasons = Counter[str]()
    for name, value in stats.items():
        # simdedup/pages/skipped/<reason>, simdedup/pages/error
        ours, *parts = name.split("/")
        if ours == "simdedup" and parts[1:2] in (["skipped"], ["error"]):
            reasons[parts[-1]] += value
    told = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
    if not told:
        return ["nothing was judged: no page came"]
    # Scrapy's own requests come beside others; they explain nothing unless they are alone.
    cause, _ = max(reasons.items(), key=lambda each: (each[0] != "no-callback", each[1]))
    why = WHY[cause] if cause != "callback" else _misnamed(config, callbacks)
    return [f"nothing was judged; skipped: {told}", f"probably because {why}"]


def _misnamed(config: Config, callbacks: Collection[str]) -> str:
    return (
        f"SIMDEDUP_CALLBACKS = {list(config.callbacks)} names none of the callbacks that got"
        f" pages: {', '.join(sorted(callbacks))}"
    )


def _counts(stats: Stats) -> str:
    told = []
    for kind in ("pages", "items"):
        counts = [(_number(stats, [status], kind), status) for status in _STATUSES]
        if any(count for count, _ in counts):
            told.append(f"{kind}: " + ", ".join(f"{n} {status}" for n, status in counts if n))
    return "; ".join(told)


def _number(stats: Stats, statuses: Sequence[str], kind: str) -> int:
    """Add up what has one of the statuses, with whatever reason."""
    ways = tuple(f"simdedup/{kind}/{status}" for status in statuses)
    return sum(value for name, value in stats.items() if name.startswith(ways))


def _effect(stats: Stats, config: Config) -> str:
    pages, items = _dropped(stats)
    copies = _number(stats, ["duplicate"], "pages")
    droppable = stats.get("simdedup/items/droppable", 0)
    told = [f"items scraped: {stats.get('item_scraped_count', 0)}"]
    if items:
        told.append(f"items dropped: {items}")
    if pages:
        told.append(f"pages dropped, and their links with them: {pages}")
    if droppable or (copies and config.action == "tag"):
        told.append(f'SIMDEDUP_ACTION = "drop-items" would have dropped {droppable}')
    return "; ".join(told)


def _next(stats: Stats, path: Path, run: int) -> str:
    index = f"--index {shlex.quote(str(path))}"
    copies = any(_number(stats, ["duplicate"], kind) for kind in ("pages", "items"))
    if copies and any(_dropped(stats)):
        return (
            f"what was dropped and why: scrapy simdedup export {index} --run {run}"
            " --status duplicate --output duplicates.csv"
        )
    if not copies and any(_number(stats, ["unique"], kind) for kind in ("pages", "items")):
        return f"how near they came to being copies: scrapy simdedup tune {index} --run {run}"
    return f"what is alike and why: scrapy simdedup report {index} --output report.html"


def _dropped(stats: Stats) -> list[int]:
    return [stats.get(f"simdedup/{kind}/dropped", 0) for kind in ("pages", "items")]
