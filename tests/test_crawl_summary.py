"""What a crawl tells of itself: a line now and then, and three at its end."""

from __future__ import annotations

import csv
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from scrapy.settings import Settings
from scrapy.signalmanager import SignalManager
from scrapy.signals import spider_opened

from crawling import MODES, linked, needs
from scrapy_simdedup.config import Config
from scrapy_simdedup.crawl import pace, summary
from scrapy_simdedup.crawl.guard import LOGGED
from test_readme import OTHER_REASONS, literal_reasons
from texts import page, story


def told(log: str) -> list[str]:
    """Return the last lines of ours in a log, those of the summary."""
    lines = re.findall(r"INFO: scrapy-simdedup: (.*)", log)
    start = next(at for at, line in enumerate(lines) if line.startswith(("pages:", "nothing was")))
    return lines[start:]


@pytest.mark.parametrize("reactor", MODES)
def test_the_line_now_and_then(crawl, site, reactor):
    needs(reactor)
    paths = [f"/{number}" for number in range(5)]
    for number, path in enumerate(paths):
        site.html(path, page(story(number // 3), path))
    done = crawl(
        *paths,
        reactor=reactor,
        settings={
            "LOGSTATS_INTERVAL": 0.05,
            "PERIODIC_LOG_DELTA": {"include": ["simdedup/"]},
            "SIMDEDUP_ITEM_FIELDS": {"text": "text"},
            "SIMDEDUP_ITEM_ACTION": "tag",
        },
        # When all are judged there is time for another line.
        plan={"*": ["item", "late:0.3"]},
    )
    lines = re.findall(
        r"Judged (\d+) pages \(at (\d+) pages/min\), (\d+) near-duplicates"
        r" \(at (\d+) near-duplicates/min\); (\d+) items \(\S+ \d+ \S+\), (\d+) near-duplicates",
        done.log,
    )
    counts = [[int(number) for number in line] for line in lines]
    assert counts == sorted(counts, key=lambda each: (each[0], each[4]))
    pages, _, copies, _, items, equal = counts[-1]
    assert (pages, copies, items, equal) == (5, 3, 5, done.stat("items/duplicate")), done.log
    assert any(rate and copies_rate for _, rate, _, copies_rate, _, _ in counts)
    # Scrapy's own extension has what there is to know from the stats.
    deltas = re.findall(r'"simdedup/pages/duplicate": (\d+)', done.log)
    assert len(deltas) > 1
    assert sum(map(int, deltas)) == done.stat("pages/duplicate") == 3


class Stats(dict):
    """As much of a stats collector as is asked for."""

    get_value = dict.get


def test_rates_are_of_the_time_that_has_passed(monkeypatch, caplog):
    now = [100.0]
    monkeypatch.setattr(pace.time, "monotonic", lambda: now[0])
    crawler = SimpleNamespace(
        settings=Settings({"LOGSTATS_INTERVAL": 0}), stats=Stats(), spider=None
    )
    line = pace.Pace(crawler, "pages")
    line._since = now[0]
    caplog.set_level("INFO")
    for seconds, unique, copies, rate, copies_rate in [(60, 9, 3, 12, 3), (30, 9, 13, 20, 20)]:
        now[0] += seconds
        crawler.stats.update({"simdedup/pages/unique": unique, "simdedup/pages/duplicate": copies})
        line._log()
        assert caplog.messages[-1] == (
            f"Judged {unique + copies} pages (at {rate} pages/min),"
            f" {copies} near-duplicates (at {copies_rate} near-duplicates/min)"
        )


@pytest.mark.parametrize("interval", [0, "0", None])
def test_no_line_without_an_interval(interval):
    crawler = SimpleNamespace(
        settings=Settings({"LOGSTATS_INTERVAL": interval}), signals=SignalManager(), spider=None
    )
    line = pace.Pace(crawler, "pages")
    assert crawler.signals.send_catch_log(spider_opened) == []
    assert line._task is None


def test_the_summary_says_what_drop_items_would_have_dropped(crawl, site, tmp_path):
    """And that is what it then drops."""
    paths = ["/a", "/b", "/c", "/d"]
    for path in paths[:3]:
        site.html(path, page(story(1), path))
    site.html("/d", page(story(2)))
    site.html("/short", page("Too short."))
    site.html("/", page("", extra=linked([*paths, "/short"])))
    index = tmp_path / "the site's index.db"
    options = {
        "settings": {
            "SIMDEDUP_INDEX": str(index),
            "CONCURRENT_REQUESTS": 1,
            "LOGSTATS_INTERVAL": None,
        },
        "plan": {"/": ["links"], "*": ["item:2"], "/d": ["item"]},
    }
    tagged = crawl(**options)
    counts, effect, following = told(tagged.log)
    assert counts == (f"pages: 2 unique, 2 duplicate, 2 skipped; {index} now holds 2 originals")
    assert effect == ('items scraped: 9; SIMDEDUP_ACTION = "drop-items" would have dropped 4')
    assert tagged.stat("items/droppable") == 4
    command = following.partition(": ")[2]
    assert shlex.split(command)[:3] == ["scrapy", "simdedup", "report"]
    assert shlex.split(command)[3:] == ["--index", str(index), "--output", "report.html"]

    options["settings"] |= {"SIMDEDUP_ACTION": "drop-items", "SIMDEDUP_RESET": True}
    dropped = crawl(**options)
    counts, effect, following = told(dropped.log)
    assert dropped.stat("items/dropped") == 4
    assert dropped.stat("items/droppable") == 0
    assert effect == "items scraped: 5; items dropped: 4"
    run_as_told(following, tmp_path)
    with (tmp_path / "duplicates.csv").open() as table:
        assert {row["status"] for row in csv.DictReader(table)} == {"duplicate"}

    options["settings"] |= {"SIMDEDUP_ACTION": "drop"}
    _, effect, _ = told(crawl(**options).log)
    assert effect == "items scraped: 5; pages dropped, and their links with them: 2"

    # All known: nothing to list, nothing to tune.
    options["settings"] |= {"SIMDEDUP_ACTION": "tag", "SIMDEDUP_RESET": False}
    options["plan"]["/"] = []
    counts, effect, following = told(crawl("/d", **options).log)
    assert counts.startswith("pages: 1 revisit; ")
    assert effect == "items scraped: 1"
    assert "scrapy simdedup report" in following
    site.html("/new", page(story(3)))
    _, _, following = told(crawl("/new", **options).log)
    assert "without a candidate" in run_as_told(following, tmp_path)


def run_as_told(line: str, folder: Path) -> str:
    """Run the command that a line of the summary ends with; return what it prints."""
    command = shlex.split(line[line.index("scrapy simdedup") :])
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_nothing_was_judged_and_why(crawl, site):
    site.html("/", page(story(1)))
    done = crawl(settings={"SIMDEDUP_CALLBACKS": ["parse_article"]}, plan={"/": ["item"]})
    first, second = told(done.log)
    assert first == "nothing was judged; skipped: 1 callback"
    assert second == (
        "probably because SIMDEDUP_CALLBACKS = ['parse_article'] names none of the callbacks that"
        " got pages: parse"
    )
    # Where the index was needed, to log what was skipped, it is the same.
    done = crawl("/nowhere", plan={"/nowhere": []}, settings={"HTTPERROR_ALLOW_ALL": True})
    assert told(done.log) == [
        "nothing was judged; skipped: 1 status",
        f"probably because {summary.WHY['status']}",
    ]


def test_the_reason_of_most_pages_is_the_cause():
    skipped = {"no-callback": 9, "too-short": 2, "timeout": 3}
    stats = {f"simdedup/pages/skipped/{reason}": n for reason, n in skipped.items()}
    first, second = summary.idle(stats, Config(), [])
    assert first == "nothing was judged; skipped: 9 no-callback, 3 timeout, 2 too-short"
    assert second == f"probably because {summary.WHY['timeout']}"
    alone = {"simdedup/pages/skipped/no-callback": 9}
    assert summary.idle(alone, Config(), [])[1].endswith(summary.WHY["no-callback"])
    assert summary.idle({"simdedup/errors": 1}, Config(), []) == [
        "nothing was judged: no page came"
    ]
    # Tools are left in peace, and of callbacks there is more to tell.
    reasons = literal_reasons() | OTHER_REASONS | LOGGED | {"error"}
    assert summary.WHY.keys() == reasons - {"tool", "callback"}
