"""The README's first five minutes, run literally: the path from installing to the first report.

``SIMDEDUP_ENV`` names a virtual environment that has nothing of ours yet, to install into (with
``PIP_FIND_LINKS``, before there is a release); without it, the environment of the tests is used.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "example_project"

# How users set up their projects is up to them: here so that which copy comes first is known.
OWN_SETTINGS = """
CONCURRENT_REQUESTS = 1
DOWNLOAD_DELAY = 0
DEPTH_PRIORITY = 1
SCHEDULER_PRIORITY_QUEUE = "scrapy.pqueues.ScrapyPriorityQueue"
SCHEDULER_MEMORY_QUEUE = "scrapy.squeues.FifoMemoryQueue"
"""


def steps() -> list[tuple[str, str]]:
    """Return the marked blocks of the README in order, each with its mark."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(
        r"^<!-- first minutes: (\S+) -->\n```\w+\n(.*?)\n```$", readme, re.MULTILINE | re.DOTALL
    )


@pytest.fixture(scope="module")
def port():
    """The bundled news sites, served on a local port."""
    sys.path.insert(0, str(EXAMPLE))
    try:
        from newsdemo.site.server import serve
    finally:
        sys.path.remove(str(EXAMPLE))
    with serve() as number:
        yield number


class Newcomer:
    """Somebody with a Scrapy project who does what the README says."""

    def __init__(self, folder: Path, port: int) -> None:
        fresh = os.environ.get("SIMDEDUP_ENV")
        self.installs = bool(fresh)
        scripts = Path(fresh, "bin") if fresh else Path(sys.executable).parent
        self.environment = {
            **os.environ,
            "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        }
        if fresh:
            self.environment.pop("PYTHONPATH", None)
        # The sites' names mean something to this server alone.
        self.proxy = {"http_proxy": f"http://127.0.0.1:{port}", "no_proxy": ""}
        self.folder = folder
        self.project = folder / "project"

    def run(self, command: str, folder: Path, **environment: str) -> subprocess.CompletedProcess:
        done = subprocess.run(
            command,
            shell=True,
            cwd=folder,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        return done

    def install(self, command: str) -> None:
        assert command == "pip install 'scrapy-simdedup[report]'"
        if self.installs:
            self.run(command, self.folder)

    def start_project(self) -> None:
        self.run("scrapy startproject demo project", self.folder)
        shutil.copy(EXAMPLE / "newsdemo" / "spiders" / "news.py", self.project / "demo" / "spiders")
        self.add_settings(OWN_SETTINGS)

    def add_settings(self, lines: str) -> None:
        with (self.project / "demo" / "settings.py").open("a") as settings:
            settings.write(f"\n{lines}\n")


def ours(log: str) -> list[str]:
    """Return the summary in Scrapy's log."""
    return re.findall(r"INFO: (scrapy-simdedup: .*)", log)[-3:]


@pytest.mark.slow
def test_from_installing_to_dropping(tmp_path, port):
    newcomer = Newcomer(tmp_path, port)
    index = newcomer.project / ".scrapy" / "simdedup" / "news.db"
    logs: list[str] = []
    done = []
    for what, block in steps():
        done.append(what)
        if what == "install":
            newcomer.install(block)
            newcomer.start_project()
        elif what == "settings.py":
            newcomer.add_settings(block)
        elif what == "log":
            shown = block.replace("/home/you/project/.scrapy/simdedup/news.db", str(index))
            assert ours(logs[-1]) == shown.splitlines()
        else:
            ran = newcomer.run(block, newcomer.project, **newcomer.proxy)
            if what == "crawl":
                logs.append(ran.stderr)
            elif what == "look":
                report = (newcomer.project / "report.html").read_text(encoding="utf-8")
                assert "25 of 52 pages were copies" in report
            elif what == "tune":
                assert "52 decisions" in ran.stdout
    assert done == [
        *("install", "settings.py", "crawl", "log", "look"),
        *("tune", "settings.py", "settings.py", "crawl"),
    ]
    counts, effect, following = ours(logs[-1])
    assert counts.startswith("scrapy-simdedup: pages: 25 duplicate, 21 revisit")
    assert effect == "scrapy-simdedup: items scraped: 22; items dropped: 25"
    # What it says to do next can be done, wherever one is.
    newcomer.run(following.partition("why: ")[2], tmp_path)
    assert (tmp_path / "duplicates.csv").read_text().count("\n") == 25 + 1
