"""The documentation: it builds without a warning, and nothing in it is missing or stale."""

from __future__ import annotations

import argparse
import ast
import importlib
import os
import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

import generated
import make
from in_code import OTHER_REASONS, literal_reasons, stats_in_the_code
from scrapy_simdedup.config import Config, setting_name
from scrapy_simdedup.crawl import guard
from scrapy_simdedup.logs.export import FIELDS
from scrapy_simdedup.verdict import Verdict
from written import DOCS, ROOT, assignments, blocks, code, read, table

PAGES = {path.stem: path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("*.md"))}
# As a reader sees them: with what is made from the code.
SHOWN = {name: generated.expand(text) for name, text in PAGES.items()}
ALL = "\n".join(SHOWN.values())

SETTINGS = {setting_name(each): each for each in fields(Config)}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documentation as HTML, built with warnings as errors."""
    if "CI" not in os.environ:
        pytest.importorskip("sphinx", reason="the docs are built with: pip install '.[docs]'")
    out = tmp_path_factory.mktemp("html")
    built = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-n", "docs", str(out)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (built.returncode, built.stderr) == (0, "")
    return out


def test_it_builds_without_a_warning(site):
    index = (site / "index.html").read_text(encoding="utf-8")
    for name in PAGES:
        page = (site / f"{name}.html").read_text(encoding="utf-8")
        assert "generated: " not in page, name
        assert name == "index" or f'href="{name}.html"' in index, f"{name} is not in the contents"


def test_settings_are_linked_where_they_are_named(site):
    decides = (site / "how-it-decides.html").read_text(encoding="utf-8")
    assert re.search(r'href="settings.html#simdedup-min-terms"', decides)
    page = (site / "settings.html").read_text(encoding="utf-8")
    for name in SETTINGS:
        assert f'id="{name.lower().replace("_", "-")}"' in page


def test_pictures_reach_the_pages(site):
    for name in [*make.PICTURES, "growth.svg"]:
        assert (site / "_images" / name).is_file(), name


def test_every_setting_is_explained_once():
    named = re.findall(r"^### `(SIMDEDUP_\w+)`$", SHOWN["settings"], re.MULTILINE)
    assert sorted(named) == sorted(SETTINGS)
    for name, each in SETTINGS.items():
        section = SHOWN["settings"].partition(f"### `{name}`\n")[2].partition("\n#")[0]
        assert each.metadata["meaning"] in section
        assert each.metadata["takes"] in section
        assert ("A request can set it" in section) == each.metadata["request"]


def test_no_other_setting_is_named():
    named = set(re.findall(r"\bSIMDEDUP_\w+", ALL)) - {"SIMDEDUP_"}
    assert named <= {*SETTINGS, "SIMDEDUP_CACHE"}


def test_what_a_page_does_not_name_is_put_at_its_end():
    """So a new setting, command or table is in the documentation before anybody writes of it."""
    page = "<!-- generated: setting SIMDEDUP_ACTION -->\n\n<!-- generated: settings-left -->\n"
    found = re.findall(r"^### `(\w+)`$", generated.expand(page), re.MULTILINE)
    assert found == ["SIMDEDUP_ACTION", *(name for name in SETTINGS if name != "SIMDEDUP_ACTION")]


def test_meta_keys_and_the_parts_of_a_verdict():
    keys = [code(key) for key, *_ in table(SHOWN["requests"], "key")]
    assert keys == [guard.META_OPTIONS, guard.META_VERDICT]
    parts = [code(part) for part, _ in table(SHOWN["requests"], "part")]
    assert sorted(parts) == sorted(each.name for each in fields(Verdict))
    short = [code(name) for name, *_ in table(SHOWN["requests"], "short name")]
    assert short == [each.name for each in fields(Config) if each.metadata["request"]]


def test_every_stat_is_explained_and_no_other():
    rows = [code(stat) for stat, _ in table(SHOWN["stats"], "stat")]
    assert sorted(rows) == sorted(stats_in_the_code())
    named = set(re.findall(r"`(simdedup/[a-z/<>_-]+)`", ALL))
    known = {re.sub(r"skipped/(?!<)[a-z-]+$", "skipped/<reason>", name) for name in named}
    assert known == set(rows)


def test_every_reason_is_explained():
    reasons = literal_reasons() | {"timeout"} | OTHER_REASONS
    rows = {code(reason): logged for reason, _, logged in table(SHOWN["requests"], "reason")}
    assert set(rows) == reasons
    logged = guard.LOGGED | OTHER_REASONS - {"closed"}
    assert {reason for reason, told in rows.items() if told == "yes"} == logged


def test_every_log_field_is_explained():
    assert [code(field) for field, _ in table(SHOWN["log"], "field")] == list(FIELDS)


def test_every_table_and_query_of_the_index_is_shown():
    shown = re.findall(r"^### The (?:table|view) `(\w+)`$", SHOWN["log"], re.MULTILINE)
    about = generated.labels()["tables"]
    assert sorted(shown) == sorted(name for name in about if "description" in about[name])
    for query in generated.labels()["queries"].values():
        assert f"### {query['title']}\n" in SHOWN["log"]
        assert query["sql"] in SHOWN["log"]


def test_every_command_and_option_is_explained():
    for name, parser in generated.commands().items():
        heading = f"### `scrapy simdedup {name}`\n"
        assert SHOWN["commands"].count(heading) == 1
        section = SHOWN["commands"].partition(heading)[2].partition("\n#")[0]
        assert parser.epilog, f"{name} has no example"
        for option in parser._actions:
            if isinstance(option, argparse._HelpAction):
                continue
            assert option.help, f"{name} {option.dest} has no help"
            words = ", ".join(option.option_strings) or str(option.metavar)
            assert f"| `{words}" in section, f"{name} {words}"


def calls(text: str) -> Iterator[str]:
    """Return the calls of our command in the shell blocks of a text, each on one line."""
    for block in blocks(text, "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith("scrapy simdedup "):
                yield line


CALLS = sorted({call for text in (*SHOWN.values(), read("README.md")) for call in calls(text)})


@pytest.mark.parametrize("call", CALLS)
def test_the_commands_in_examples_are_known(call):
    words = shlex.split(re.split(r" [|>] ", call)[0], comments=True)[2:]
    known = generated.commands()
    name = next(" ".join(words[:size]) for size in (2, 1) if " ".join(words[:size]) in known)
    # Ends the process, and so the test, where the call is wrong.
    known[name].parse_args(words[len(name.split()) :])


def test_options_that_are_named_exist():
    options = {
        option
        for parser in generated.commands().values()
        for each in parser._actions
        for option in each.option_strings
    }
    ours = "\n".join(SHOWN[name] for name in SHOWN if name not in ("benchmarks", "quality"))
    for call in re.findall(r"`scrapy simdedup ([^`]*)`", ours):
        assert set(re.findall(r"(?<!\S)--?[a-z][\w-]*", call)) <= options, call


def test_examples_can_be_read_and_their_settings_are_good():
    found = [
        pair
        for text in SHOWN.values()
        for block in blocks(text, "python")
        for pair in assignments(block)
    ]
    assert len(found) >= 20
    for name, value in found:
        Config.from_settings({name: value})
    for name, value in re.findall(r"`(SIMDEDUP_\w+) = ([^`]+)`", ALL):
        Config.from_settings({name: ast.literal_eval(value)})


def test_names_of_the_package_exist():
    for dotted in set(re.findall(r"(?<![\w/])scrapy_simdedup(?:\.\w+)+", ALL)):
        *path, last = dotted.split(".")
        try:
            importlib.import_module(dotted)
        except ImportError:
            assert hasattr(importlib.import_module(".".join(path)), last), dotted


def test_the_steps_of_the_api_run(tmp_path, monkeypatch, capsys):
    (found,) = re.findall(
        r"^<!-- example: steps -->\n```python\n(.*?)^```$\n\n```text\n(.*?)^```$",
        PAGES["api"],
        re.MULTILINE | re.DOTALL,
    )
    source, output = found
    monkeypatch.chdir(tmp_path)
    exec(compile(source, "api.md", "exec"), {"__name__": "api"})
    assert capsys.readouterr().out == output


@pytest.mark.parametrize("name", make.PICTURES)
def test_pictures_are_what_the_code_draws(name):
    drawn = make.PICTURES[name]()
    assert drawn == (DOCS / "pictures" / name).read_text(encoding="utf-8"), (
        "draw them anew: python docs/pictures/make.py"
    )
    root = ET.fromstring(drawn)
    title = root.find("{http://www.w3.org/2000/svg}title")
    assert title is not None
    assert title.text
    assert "prefers-color-scheme: dark" in drawn


def test_the_readme_and_the_pages_link_to_files_that_are_there():
    for name, text in PAGES.items():
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            assert (DOCS / target).is_file(), f"{name}: {target}"
