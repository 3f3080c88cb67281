"""Tables in Markdown, aligned so that they read well in a terminal too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from unicodedata import east_asian_width

from scoring import Score, mean


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; the first column reads from the left, the others from the right."""
    widths = [max(_width(row[at]) for row in (head, *rows)) for at in range(len(head))]
    rule = ["-" * width if at == 0 else "-" * (width - 1) + ":" for at, width in enumerate(widths)]
    return "\n".join(
        "| " + " | ".join(_pad(cell, widths[at], at) for at, cell in enumerate(row)) + " |"
        for row in (head, rule, *rows)
    )


def score_table(
    scores: Sequence[tuple[str, Mapping[str, Score]]], labelled: Mapping[str, bool]
) -> str:
    """Return a table of contestants against sets; ``labelled`` tells which have duplicates.

    A set with duplicates gets "recall / precision", one without the number of false ones.
    """
    head = ["", "mean F1", "worst F1"]
    head += [name if has else f"{name}: false" for name, has in labelled.items()]
    rows = []
    for contestant, by_set in scores:
        judged = {name: by_set[name].f1 for name, has in labelled.items() if has}
        worst = min(judged, key=lambda name: judged[name]) if judged else ""
        cells = [contestant, f"{mean(list(judged.values())):.4f}"]
        cells.append(f"{judged[worst]:.3f} {worst}" if worst else "")
        for name, has in labelled.items():
            found = by_set[name]
            cells.append(f"{found.recall:.3f} / {found.precision:.3f}" if has else str(found.false))
        rows.append(cells)
    return table(head, rows)


def skipped_note(contestant: str, by_set: Mapping[str, Score]) -> str:
    """Say how many pages of each set a contestant skipped, and why."""
    told = [
        f"{name} {why.removeprefix('skipped: ')} {count} of {found.pages}"
        for name, found in by_set.items()
        for why, count in found.skipped.most_common()
    ]
    return f"pages skipped by {contestant}: {'; '.join(told) or 'none'}"


def update(path: Path, parts: Mapping[str, str]) -> None:
    """Replace, in a Markdown file, what stands between the marks of each part by its name."""
    text = path.read_text(encoding="utf-8")
    for name, new in parts.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        before, found, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        if not found or not closed:
            raise SystemExit(f"{path} has no {begin} ... {end}")
        text = f"{before}{begin}\n\n{new.strip()}\n\n{end}{after}"
    path.write_text(text, encoding="utf-8")


def _width(text: str) -> int:
    return sum(1 + (east_asian_width(char) in "WF") for char in text)


def _pad(text: str, width: int, column: int) -> str:
    blank = " " * (width - _width(text))
    return text + blank if column == 0 else blank + text
