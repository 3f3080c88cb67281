"""What ``explain`` tells, in lines for a person."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

from scrapy_simdedup.config import Config
from scrapy_simdedup.logs.explain import Explanation, Measures
from scrapy_simdedup.logs.settings import settings_of
from scrapy_simdedup.logs.sides import NotKept, Told
from scrapy_simdedup.methods.sketch import MOST_NEW_PARTS, PARTS
from scrapy_simdedup.sites import stored_url

_LABEL = 24
_COLUMN = 17
_UNKNOWN = "not stored"
_ANSWERS = {True: "yes", False: "no", None: _UNKNOWN}
_EFFECTS = {
    "duplicate": "would make it a duplicate",
    "unique": "would keep both",
    "judged": "would have both judged",
}


def shown(found: Explanation, by: str | None) -> Iterator[str]:
    """Return the lines on a comparison; ``by`` says whose settings it was made with."""
    kept, new = found.kept, found.new
    yield f"A  {kept.name} (kept, {_place(kept)})"
    yield f"B  {new.name} (new, {_place(new)})"
    yield "B is judged as the new page against A as the kept one."
    if by:
        yield f"The settings are those of {by}."
    yield ""
    yield _row("", "A", "B")
    yield from _both("characters", kept.characters, new.characters)
    yield from _both("terms", kept.terms, new.terms)
    yield _row("distinct terms", str(kept.distinct_terms), str(new.distinct_terms))
    if kept.doubt or new.doubt:
        yield _row("doubtful extraction", kept.doubt or "no", new.doubt or "no")
    if kept.keywords or new.keywords:
        for label, side in (("A", kept), ("B", new)):
            words = _UNKNOWN if side.keywords is None else ", ".join(side.keywords)
            yield f"{f'keywords of {label}':{_LABEL}}{words}"
    yield ""
    yield _row("", "found", "limit")
    yield _row("text", "equal" if found.equal_digest else "differs", "")
    if found.measures:
        yield from _measured(found, found.measures)
        yield ""
        for name, answer in found.methods.items():
            yield _row(f"method {name}", _ANSWERS[answer], "")
        yield f"{'proposed by':{_LABEL}}{', '.join(found.proposed_by) or 'none'}"
    yield ""
    yield f"verdict: {_verdict(found)}"
    yield from _changes(found)


def _place(side: Told) -> str:
    if side.row is None:
        return f"from the {side.source}"
    place = f"row {side.row.number} of the index"
    if not side.row.confirmed:
        place += ", with an open claim"
    if side.row.others:
        more = f"{side.row.others} more {'has' if side.row.others == 1 else 'have'} this URL"
        place += f", the newest; {more}, and row:NUMBER names one"
    return place


def _both(label: str, one: int | None, other: int | None) -> Iterator[str]:
    if one is not None or other is not None:
        yield _row(label, *(_UNKNOWN if each is None else str(each) for each in (one, other)))


def _measured(found: Explanation, measures: Measures) -> Iterator[str]:
    limits = found.limits
    about = " (estimate)" if measures.estimated else ""
    yield _row(
        "distance in bits", str(measures.distance), f"at most {measures.max_distance} (simhash)"
    )
    yield _row("resemblance", f"{measures.resemblance:.2f}{about}", _least(limits.resemblance))
    yield _row(
        "containment of B in A",
        f"{measures.containment:.2f}{about}",
        _least(limits.containment),
    )
    if measures.containment_of_kept is not None:
        yield _row("containment of A in B", f"{measures.containment_of_kept:.2f}", "not used")
    if measures.new_parts is not None:
        most = f"at most {MOST_NEW_PARTS}" if limits.containment else "off"
        yield _row("new parts of B", f"{measures.new_parts} of {PARTS}", most)
    segments = measures.segments
    if segments is not None:
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
    if found.verdict == "apart":
        return "not compared: pages and items, and with SIMDEDUP_SCOPE sites, are kept apart"
    about = ", by estimate" if found.measures and found.measures.estimated else ""
    if found.method:
        doubt = f"; tagged and never dropped: {found.doubt}" if found.doubt else ""
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
    for change in found.changes:
        yield f"{change.setting} = {change.value} {_EFFECTS[change.verdict]}"
    if not found.changes and found.verdict != "apart":
        yield "no single limit would change that"


def logged(only: NotKept, names: tuple[str, str], connection: sqlite3.Connection) -> Iterator[str]:
    """Return the lines on a page that the log has, where it was held against the other one.

    Raises what it was given where the log says nothing of that.
    """
    row = only.decision
    other = next((name for name in names if stored_url(name) != row["url"]), names[0])
    if stored_url(other) not in (row["original"], row["nearest"]):
        raise only
    limits = Config.from_settings(settings_of(connection, row["run"])).limits
    yield f"A  {stored_url(other)} (kept)"
    yield f"B  {row['url']} (new, from the log)"
    yield "B is not in the index, which stores kept pages only. The log says of it:"
    yield ""
    yield _row("", "found", "limit")
    if row["resemblance"] is not None:
        yield _row(
            "distance in bits", str(row["distance"]), f"at most {row['max_distance']} (simhash)"
        )
        yield _row("resemblance", f"{row['resemblance']:.2f}", _least(limits.resemblance))
        yield _row("containment of B in A", f"{row['containment']:.2f}", _least(limits.containment))
    yield f"{'judged':{_LABEL}}{row['time']}, run {row['run']} {row['spider']}"
    yield ""
    yield f"verdict: {_logged_verdict(row)}"
    yield "to see more, or try other settings, give B as a file"


def _logged_verdict(row: dict[str, Any]) -> str:
    by = f" by {row['method']}" if row["method"] else ""
    if row["method"] == "same-page":
        by += " (both addresses led to one page)"
    if row["status"] == "orphaned":
        return f"duplicate{by}, orphaned since: its original was not stored after all"
    doubt = f"; tagged and never dropped: {row['reason']}" if row["reason"] else ""
    return f"{row['status']}{by}{doubt}"


def _row(label: str, one: str, other: str) -> str:
    return f"{label:{_LABEL}}{one:{_COLUMN}} {other}"


def _least(limit: float) -> str:
    return f"at least {limit:g}" if limit else "off"
