"""The README says what the code says: settings, stats, reasons, log fields, and its examples."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from scrapy_simdedup import responses
from scrapy_simdedup.config import Config, setting_name
from scrapy_simdedup.crawl import guard
from scrapy_simdedup.logs.export import FIELDS
from scrapy_simdedup.verdict import Verdict

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CRAWL = sorted((ROOT / "scrapy_simdedup" / "crawl").glob("*.py"))

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


def table(first_header: str) -> list[list[str]]:
    """Return the rows of the one table whose first header is this, as lists of cells."""
    tables = re.findall(
        rf"^\| {re.escape(first_header)} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", README, re.MULTILINE
    )
    assert len(tables) == 1, f"{len(tables)} tables start with {first_header!r}"
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in tables[0].splitlines()
    ]


def code(cell: str) -> str:
    """Return what a cell holds between backticks, and nothing else around it."""
    assert re.fullmatch(r"`[^`]+`", cell), cell
    return cell[1:-1]


def blocks(language: str) -> list[str]:
    """Return the fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


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


def test_the_settings_table_is_the_config():
    rows = {code(name): rest for name, *rest in table("setting")}
    assert list(rows) == [setting_name(each) for each in fields(Config)]
    for each in fields(Config):
        default, takes, meaning = rows[setting_name(each)]
        given = ast.literal_eval(code(default))
        assert (type(given), given) == (type(each.metadata["default"]), each.metadata["default"])
        assert takes == each.metadata["takes"]
        assert meaning == each.metadata["meaning"]


def test_no_other_setting_is_named():
    known = {setting_name(each) for each in fields(Config)} | {"SIMDEDUP_CACHE"}
    assert set(re.findall(r"SIMDEDUP_\w+", README)) == known


def test_what_a_request_can_set():
    rows = {code(key): meaning for key, _, meaning in table("key")}
    assert set(rows) == {guard.META_OPTIONS, guard.META_VERDICT}
    _, _, names = rows[guard.META_OPTIONS].partition("short names: ")
    able = [each.name for each in fields(Config) if each.metadata["request"]]
    assert re.findall(r"`(\w+)`", names) == able
    parts = re.findall(r"`(\w+)`", rows[guard.META_VERDICT])
    assert parts == [each.name for each in fields(Verdict)]


def test_every_stat_is_named_and_no_other():
    written = set(re.findall(r"`(simdedup/[a-z/<>-]+)`", README))
    code_has = stats_in_the_code()
    assert {"simdedup/pages/unique", "simdedup/errors", "simdedup/items/orphaned"} <= code_has
    assert written == code_has


def test_every_reason_is_explained():
    # The time limit is not the guard's: it is met later.
    reasons = literal_reasons() | {"timeout"}
    assert reasons >= guard.LOGGED | {"no-callback", "head"}
    rows = {code(reason): logged for reason, _, logged in table("reason")}
    assert set(rows) == reasons | OTHER_REASONS
    logged = guard.LOGGED | OTHER_REASONS - {"closed"}
    assert {reason for reason, told in rows.items() if told == "yes"} == logged


def test_every_reason_of_a_scan_is_explained():
    source = "".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "scrapy_simdedup" / "batch").glob("*.py")
    )
    found = set(re.findall(r'(?:reason ?= ?|_Unusable\(|return None, |else )"([a-z-]+)"', source))
    assert found >= {"torn", "not-json", "too-large", "not-http", "revisit-record"}
    reasons = {
        name for cell, _ in table("reason in a scan") for name in re.findall(r"`([a-z-]+)`", cell)
    }
    # A response is told as in a crawl; status and type are among its reasons.
    assert reasons == found | {"status"}


def test_every_log_field_is_explained():
    assert [code(field) for field, _ in table("field")] == list(FIELDS)


@pytest.mark.parametrize(
    ("mark", "parts"),
    [
        ("first", ["python3 -m venv .venv", "pip install '.[report]'", "example_project/run.py"]),
        ("second", ["pip install '.[test]'", "python -m pytest"]),
    ],
)
def test_the_commands_can_be_extracted(mark, parts):
    found = re.findall(rf"^<!-- {mark} command -->\n```sh\n(.+)\n```$", README, re.MULTILINE)
    assert len(found) == 1
    places = [found[0].find(part) for part in parts]
    assert -1 not in places
    assert places == sorted(places)
    assert (ROOT / "example_project" / "run.py").is_file()


def test_the_example_without_scrapy(tmp_path, monkeypatch, capsys):
    (found,) = re.findall(
        r"^```python\n(from scrapy_simdedup import Deduplicator\n.*?)^```\n\n```text\n(.*?)^```$",
        README,
        re.MULTILINE | re.DOTALL,
    )
    example, output = found
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "README.md", "exec"), {"__name__": "readme"})
    assert capsys.readouterr().out == output
    assert (tmp_path / "index.db").is_file()


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


def test_the_settings_in_examples_are_good():
    settings = [pair for block in blocks("python") for pair in assignments(block)]
    assert len(settings) >= 8
    for name, value in settings:
        Config.from_settings({name: value})
    for name, value in re.findall(r"`(SIMDEDUP_\w+) = ([^`]+)`", README):
        Config.from_settings({name: ast.literal_eval(value)})


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).is_file(), target


def test_the_version_has_its_changes():
    from scrapy_simdedup import __version__

    changes = (ROOT / "CHANGES.md").read_text(encoding="utf-8")
    assert changes.startswith("# Changes\n")
    assert re.search(rf"^## {re.escape(__version__)}\b", changes, re.MULTILINE)
