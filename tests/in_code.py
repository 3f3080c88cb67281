"""What the code can do, for tests of documents: its stats, and its reasons to skip a page."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from scrapy_simdedup import responses
from scrapy_simdedup.crawl import guard

CRAWL = sorted(Path(guard.__file__).parent.glob("*.py"))

# Reasons that do not come from the guard: of analysis, of the pipeline, of a crawl that is over.
OTHER_REASONS = {"too-short", "no-text", "no-field", "closed"}

# The functions that say why a response is not judged.
REFUSING = ("_refused_request", "not_a_page")

# What the variable parts of the stats' names stand for.
PARTS = {
    "kind": ["pages", "items"],
    "verdict.label": ["unique", "duplicate", "revisit", "skipped/<reason>"],
    "orphan.kind": ["page", "item"],
}


def literal_reasons() -> set[str]:
    """Return the reasons that the guard's functions return or hold in their table."""
    found = set()
    source = "".join(
        Path(module.__file__).read_text(encoding="utf-8") for module in (guard, responses)
    ).replace("from __future__ import annotations", "")
    for function in ast.walk(ast.parse(source)):
        if not (isinstance(function, ast.FunctionDef) and function.name in REFUSING):
            continue
        for node in ast.walk(function):
            last = None
            if isinstance(node, ast.Return):
                last = node.value
            elif isinstance(node, ast.Tuple) and len(node.elts) == 2:
                last = node.elts[1]
            if isinstance(last, ast.Constant) and isinstance(last.value, str):
                found.add(last.value)
    return found


def stats_of(name: ast.expr) -> list[str]:
    """Return the stats that an argument of ``count`` or ``set_value`` may stand for."""
    if isinstance(name, ast.Constant):
        return [str(name.value)]
    assert isinstance(name, ast.JoinedStr), ast.unparse(name)
    names = [""]
    for part in name.values:
        if isinstance(part, ast.Constant):
            ends = [str(part.value)]
        else:
            assert isinstance(part, ast.FormattedValue)
            ends = PARTS[ast.unparse(part.value)]
        names = [start + end for start in names for end in ends]
    return names


def stats_in_the_code() -> set[str]:
    """Return every stat that the crawl components can set, with ``<reason>`` for reasons."""
    found = set()
    for path in CRAWL:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            if node.func.attr == "count" and node.args:
                found.update(f"simdedup/{name}" for name in stats_of(node.args[0]))
            elif node.func.attr == "set_value":
                found.update(stats_of(node.args[0]))
            elif node.func.attr == "inc_value":
                # The one place behind ``count``; any other would go unseen here.
                assert ast.unparse(node.args[0]) == "f'simdedup/{name}'"
    return {re.sub(r"skipped/[a-z-]+$", "skipped/<reason>", name) for name in found}
