"""The README says what the code says: settings, stats, reasons, log fields, and its examples."""

from __future__ import annotations

import ast
import re
from dataclasses import fields

import pytest

from in_code import OTHER_REASONS, literal_reasons, stats_in_the_code
from scrapy_simdedup.config import Config, setting_name
from scrapy_simdedup.crawl import guard
from scrapy_simdedup.logs.export import FIELDS
from scrapy_simdedup.verdict import Verdict
from written import ROOT, assignments, blocks, code, read, table

README = read("README.md")


def test_the_settings_table_is_the_config():
    rows = {code(name): rest for name, *rest in table(README, "setting")}
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
    rows = {code(key): meaning for key, _, meaning in table(README, "key")}
    assert set(rows) == {guard.META_OPTIONS, guard.META_VERDICT}
    _, _, names = rows[guard.META_OPTIONS].partition("short names: ")
    able = [each.name for each in fields(Config) if each.metadata["request"]]
    assert re.findall(r"`(\w+)`", names) == able
    parts = re.findall(r"`(\w+)`", rows[guard.META_VERDICT])
    assert parts == [each.name for each in fields(Verdict)]


def test_every_stat_is_named_and_no_other():
    written = set(re.findall(r"`(simdedup/[a-z_/<>-]+)`", README))
    code_has = stats_in_the_code()
    assert {"simdedup/pages/unique", "simdedup/errors", "simdedup/items/orphaned"} <= code_has
    assert written == code_has


def test_every_reason_is_explained():
    # The time limit is not the guard's: it is met later.
    reasons = literal_reasons() | {"timeout"}
    assert reasons >= guard.LOGGED | {"no-callback", "head"}
    rows = {code(reason): logged for reason, _, logged in table(README, "reason")}
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
        name
        for cell, _ in table(README, "reason in a scan")
        for name in re.findall(r"`([a-z-]+)`", cell)
    }
    # A response is told as in a crawl; status and type are among its reasons.
    assert reasons == found | {"status"}


def test_every_log_field_is_explained():
    assert [code(field) for field, _ in table(README, "field")] == list(FIELDS)


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


def test_the_settings_in_examples_are_good():
    settings = [pair for block in blocks(README, "python") for pair in assignments(block)]
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
