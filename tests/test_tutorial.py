"""The tutorial's commands, run as they stand, and what it says they show."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from written import ROOT, read

# Each command with the text below it, if there is one.
STEPS = re.findall(
    r"^<!-- tutorial: (\w+) -->\n```sh\n([^`]+)\n```\n"
    r"(?:\n[^\n`<#][^\n]*\n)?(?:\n```text\n(.*?)^```$)?",
    read("docs/tutorial.md"),
    re.MULTILINE | re.DOTALL,
)

pytestmark = pytest.mark.slow


def squeezed(line: str) -> str:
    return " ".join(line.split())


class Reader:
    """Somebody who does what the tutorial says, in a clone of the example project."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "no_proxy": "",
            "COLUMNS": "120",
        }
        self.server: subprocess.Popen[str] | None = None

    def stop(self) -> None:
        if self.server is not None:
            self.server.kill()
            self.server.communicate()

    def serve(self, command: str) -> None:
        self.stop()
        self.server = subprocess.Popen(
            [*command.split(), "--port", "0"],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.server.stdout is not None
        for line in self.server.stdout:
            if found := re.match(r" +export http_proxy=(\S+) no_proxy=$", line):
                self.environment["http_proxy"] = found[1]
                return
        raise AssertionError("the server has not told its address")

    def run(self, command: str) -> str:
        done = subprocess.run(
            command,
            shell=True,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout + done.stderr


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    ignored = shutil.ignore_patterns(".scrapy", "*.jsonl", "__pycache__", "report.html")
    folder = tmp_path / "example_project"
    shutil.copytree(ROOT / "example_project", folder, ignore=ignored)
    found = Reader(folder)
    yield found
    found.stop()


def test_the_tutorial(reader):
    assert [kind for kind, *_ in STEPS].count("run") == 10
    assert sum(bool(shown) for *_, shown in STEPS) == 8
    for kind, command, shown in STEPS:
        if kind == "serve":
            reader.serve(command)
            continue
        printed = [squeezed(line) for line in reader.run(command).splitlines()]
        for line in map(squeezed, shown.splitlines()):
            pattern = re.compile(".*".join(map(re.escape, line.split("..."))))
            assert any(pattern.search(each) for each in printed), (command, line)
    items = (reader.folder / "items.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(items) == 22
    assert "<html" in (reader.folder / "report.html").read_text(encoding="utf-8")
