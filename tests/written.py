"""What documents say, for tests that hold it against the code or run it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def read(name: str) -> str:
    """Return a document by its path from the project's folder."""
    return (ROOT / name).read_text(encoding="utf-8")


def table(text: str, first_header: str) -> list[list[str]]:
    """Return the rows of the one table whose first header is this, as lists of cells."""
    tables = re.findall(
        rf"^\| {re.escape(first_header)} \|.*\n\|[-| ]+\|\n((?:\|.*\n)+)", text, re.MULTILINE
    )
    assert len(tables) == 1, f"{len(tables)} tables start with {first_header!r}"
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in tables[0].splitlines()
    ]


def code(cell: str) -> str:
    """Return what a cell holds between backticks, and nothing else around it."""
    assert re.fullmatch(r"`[^`]+`", cell), cell
    return cell[1:-1]


def blocks(text: str, language: str) -> list[str]:
    """Return the fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def marked(text: str, mark: str) -> dict[str, str]:
    """Return the fenced blocks below comments ``<!-- mark name -->``, by name."""
    found = re.findall(
        rf"^<!-- {re.escape(mark)} (.+?) -->\n```\w+\n(.*?)^```$", text, re.MULTILINE | re.DOTALL
    )
    assert len(dict(found)) == len(found)
    return dict(found)


def assignments(source: str) -> Iterator[tuple[str, object]]:
    """Return the settings that an example assigns or holds in a dict."""
    for node in ast.walk(ast.parse(source)):
        pairs: list[tuple[ast.expr | None, ast.expr]] = []
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            pairs = [(ast.Constant(node.targets[0].id), node.value)]
        elif isinstance(node, ast.Dict):
            pairs = list(zip(node.keys, node.values, strict=True))
        for key, value in pairs:
            if isinstance(key, ast.Constant) and str(key.value).startswith("SIMDEDUP_"):
                yield str(key.value), ast.literal_eval(value)
