"""The recipes of docs/recipes.md, run from their own code blocks as a user's project."""

from __future__ import annotations

import csv
import json
import os
import shlex
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crawling import Answer, Site
from texts import page, reworded, story
from written import marked, read

RECIPES = read("docs/recipes.md")

# Besides what a recipe sets: where the spiders are, pages one by one in order, no more processes.
BASE = """
BOT_NAME = "news"
SPIDER_MODULES = ["news.spiders"]
TELNETCONSOLE_ENABLED = False
CONCURRENT_REQUESTS = 1
SCHEDULER_MEMORY_QUEUE = "scrapy.squeues.FifoMemoryQueue"
SCHEDULER_DISK_QUEUE = "scrapy.squeues.PickleFifoDiskQueue"
SIMDEDUP_WORKERS = 0
"""

pytestmark = pytest.mark.slow


class Project:
    """A Scrapy project with the files of a recipe, whose site answers as news.example."""

    def __init__(self, folder: Path, site: Site, recipe: str) -> None:
        self.folder = folder
        self.site = site
        self.files = marked(RECIPES, f"recipe: {recipe}")
        package = folder / "news"
        (package / "spiders").mkdir(parents=True)
        (folder / "scrapy.cfg").write_text("[settings]\ndefault = news.settings\n")
        for name in ("__init__.py", "spiders/__init__.py"):
            (package / name).touch()
        written = {**marked(RECIPES, "recipe: every"), **self.files}
        written["settings.py"] = BASE + written["settings.py"]
        for name, source in written.items():
            if name.endswith(".py"):
                (package / name).write_text(source, encoding="utf-8")

    def start(self, command: str) -> subprocess.Popen[str]:
        """Start a command of the document; its log goes to the output."""
        words = shlex.split(command)
        assert words[0] == "scrapy"
        address = self.site.url("")
        return subprocess.Popen(
            [sys.executable, "-m", *words],
            cwd=self.folder,
            env={**os.environ, "http_proxy": address, "no_proxy": ""},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )

    def run(self, command: str) -> str:
        """Run a command of the document to its end, and return the log."""
        process = self.start(command)
        log, _ = process.communicate(timeout=120)
        assert process.returncode == 0, log
        # A monitor that fails shows where.
        assert log.count("Traceback") == log.count("] FAILED (failures=1)"), log
        return log

    def statuses(self, name: str) -> dict[str, list[str]]:
        """Return path -> statuses as the log of decisions has them, in order."""
        found: dict[str, list[str]] = {}
        with sqlite3.connect(self.folder / ".scrapy" / "simdedup" / name) as index:
            for url, status in index.execute("SELECT url, status FROM decisions ORDER BY id"):
                found.setdefault(url.removeprefix("http://news.example"), []).append(status)
        return found

    def items(self, pattern: str) -> list[list[str]]:
        """Return the paths of the items in each file that fits, files in order of their names."""
        return [
            [item["url"].removeprefix("http://news.example") for item in map(json.loads, lines)]
            for lines in (
                path.read_text().splitlines() for path in sorted(self.folder.glob(pattern))
            )
        ]


@pytest.fixture
def project(site: Site, tmp_path: Path) -> Callable[[str], Project]:
    """A function that makes the project of a recipe; two stories, a copy of one, a front page."""
    stories(site, {"/story/1": story(1), "/story/2": story(2), "/story/1b": story(1)})
    return lambda recipe: Project(tmp_path, site, recipe)


def stories(site: Site, texts: dict[str, str]) -> None:
    links = "".join(f'<a class="story" href="{path}">{path}</a> ' for path in texts)
    site.html("/", page("Today's news.", extra=links))
    for path, text in texts.items():
        site.html(path, page(text, path))


ONE_DROPPED = {"/story/1": ["unique"], "/story/2": ["unique"], "/story/1b": ["duplicate"]}


def test_items(project):
    news = project("items")
    log = news.run("scrapy crawl news -o items.jsonl")
    assert news.items("items.jsonl") == [["/story/1", "/story/2"]]
    assert "'simdedup/items/dropped': 1" in log
    assert "simdedup/pages" not in log


def test_database(project):
    news = project("database")
    site = news.site
    site.html("/story/2", page(story(2) + "\n\nRead more on our site."))
    news.run("scrapy crawl news")
    with sqlite3.connect(news.folder / "articles.db") as database:
        rows = dict(database.execute("SELECT url, body FROM articles"))
    assert set(rows) == {"http://news.example/story/1", "http://news.example/story/2"}
    assert "Read more" not in rows["http://news.example/story/2"]


def test_a_complete_data_set_each_day(project):
    news = project("daily")
    news.run("scrapy crawl news")
    # On the next day the copy comes first.
    stories(news.site, {"/story/1b": story(1), "/story/1": story(1), "/story/2": story(2)})
    news.run("scrapy crawl news")
    first, second = news.items("news-*.jsonl")
    assert first == ["/story/1", "/story/2"]
    assert second == ["/story/1b", "/story/2"]


def test_poet(project):
    news = project("poet")
    log = news.run("scrapy crawl poet -o items.jsonl")
    assert news.items("items.jsonl") == [["/story/1", "/story/2"]]
    assert news.statuses("poet.db") == ONE_DROPPED
    assert "'simdedup/pages/skipped/callback': 1" in log
    first = json.loads((news.folder / "items.jsonl").read_text().splitlines()[0])
    assert set(first) == {"url", "title", "body"}
    assert story(1).split()[0] in first["body"]


def test_spidermon(project):
    news = project("spidermon")
    passing = news.run("scrapy crawl news")
    assert "Near-duplicates/The share of copies has not jumped... OK" in passing
    login = page("Please log in to go on reading. " + story(9))
    for path in ("/story/1", "/story/2", "/story/1b"):
        news.site.pages[path] = Answer(login.encode())
    failing = news.run("scrapy crawl news")
    assert "Near-duplicates/The share of copies has not jumped... FAIL" in failing
    assert "67% are copies, usually 33%" in failing


def test_httpcache(project):
    news = project("httpcache")
    stories(news.site, {"/story/1": story(1), "/story/2": reworded(story(1), 0.06)})
    first, *replays = news.files["run"].splitlines()
    news.run(first)
    asked = len(news.site.asked)
    for command in replays:
        log = news.run(command)
        assert "'simdedup/pages/unique'" in log
    assert len(news.site.asked) == asked
    found = []
    for name in ("strict.csv", "default.csv"):
        with (news.folder / name).open(newline="", encoding="utf-8") as file:
            found.append([row["status"] for row in csv.DictReader(file)])
    assert found == [["unique", "unique"], ["unique", "duplicate"]]


class Gate(dict[str, Any]):
    """Pages of a site, one of which comes only when the gate is opened."""

    def __init__(self, pages: dict[str, Answer], closed: str) -> None:
        super().__init__(pages)
        self.closed = closed
        self.reached, self.opened = threading.Event(), threading.Event()

    def get(self, path: str, default: Any = None) -> Any:
        if path.endswith(self.closed):
            self.reached.set()
            assert self.opened.wait(60)
        return super().get(path, default)


def test_jobdir(project):
    news = project("jobdir")
    texts = {f"/story/{number}{copy}": story(number) for number in range(8) for copy in "ab"}
    stories(news.site, texts)
    gate = Gate(news.site.pages, "/story/3a")
    news.site.pages = gate
    (command,) = news.files["run"].splitlines()
    process = news.start(command)
    assert gate.reached.wait(60)
    process.send_signal(signal.SIGINT)
    gate.opened.set()
    log, _ = process.communicate(timeout=60)
    assert "'finish_reason': 'shutdown'" in log
    stopped_at = len(news.items("items.jsonl")[0])
    assert 0 < stopped_at < 8
    log = news.run(command)
    assert "'finish_reason': 'finished'" in log
    (items,) = news.items("items.jsonl")
    assert sorted(path[:-1] for path in items) == [f"/story/{number}" for number in range(8)]
    assert len(items) == 8


def test_every_recipe_with_files_is_run():
    import re

    named = set(re.findall(r"^<!-- recipe: (\w+) ", RECIPES, re.MULTILINE)) - {"every"}
    run = set(re.findall(r'project\("(\w+)"\)', Path(__file__).read_text(encoding="utf-8")))
    assert named == run
