"""Four crawlers that share an index in Redis, each with a log of its own, as on four machines."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from scrapy.http import HtmlResponse

from crawling import Answer, Crawl, Site, linked, start
from redis_server import RedisServer
from scrapy_simdedup import Deduplicator, Verdict
from stores import RedisStore, new_name
from test_shared import CORPUS
from texts import page, reworded, story

CRAWLERS = 4
STORIES = 30


def lay_out(site: Site) -> list[str]:
    """Make a site of stories with four versions each, and return the paths."""
    paths = []
    for number in range(STORIES):
        versions = [story(number), story(number), reworded(story(number), 0.03), story(number)]
        for version, text in enumerate(versions):
            path = f"/{number}/{version}"
            site.html(path, page(text, f"Title {path}", "plain" if version % 2 else "wire"))
            paths.append(path)
    return paths


def story_of(url: str) -> str:
    return urlsplit(url).path.split("/")[1]


class Fleet:
    """Crawlers over shares of a site, and what they have logged and stored."""

    def __init__(self, site: Site, folder: Path, index: str, paths: Sequence[str]) -> None:
        self.site = site
        self.folder = folder
        self.stored_in = folder / "stored"
        self.settings = {
            "SIMDEDUP_INDEX": index,
            "SIMDEDUP_ACTION": "drop-items",
            "CONCURRENT_REQUESTS": 16,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
            "LOG_LEVEL": "INFO",
            "ITEM_PIPELINES": {"storing.StoreAtOnce": 900},
            "TEST_STORE": str(self.stored_in),
        }
        self.late: list[str] = []
        self.outs: dict[int, Path] = {}
        for number in range(CRAWLERS):
            (folder / str(number)).mkdir()
            site.html(f"/start/{number}", page("", extra=linked(paths[number::CRAWLERS])))

    def start(self, number: int) -> subprocess.Popen[str]:
        """Start a crawler, in a folder of its own, over its share of the pages."""
        plan = {f"/start/{number}": ["links"], "*": [*self.late, "item"]}
        process, self.outs[number] = start(
            [self.site.url(f"/start/{number}")],
            self.folder / str(number),
            settings={**self.settings, "LOG_FILE": str(self.told_in(number))},
            plan=plan,
        )
        return process

    def told_in(self, number: int) -> Path:
        return self.folder / str(number) / "crawl.log"

    def told(self, number: int) -> str:
        """Return what a crawler has logged up to now."""
        path = self.told_in(number)
        return path.read_text(errors="replace") if path.exists() else ""

    def end(self, number: int, process: subprocess.Popen[str]) -> str:
        """Wait for the end of a crawler, and return all that it told."""
        printed, _ = process.communicate(timeout=300)
        return printed + self.told(number)

    def log(self, number: int) -> Path:
        return self.folder / str(number) / ".scrapy" / "simdedup" / "site-log.db"

    def stores(self, server: RedisServer, name: str) -> list[RedisStore]:
        """Return the index as each of them sees it."""
        stores = []
        for number in range(CRAWLERS):
            store = RedisStore(self.folder, name, server)
            store.log = self.log(number)
            stores.append(store)
        return stores

    def stored(self) -> list[str]:
        """Return the URLs whose items were stored, in turn."""
        return self.stored_in.read_text().split() if self.stored_in.exists() else []

    def wait(self, ready: Callable[[], bool]) -> None:
        until = time.monotonic() + 120
        while not ready():
            assert time.monotonic() < until
            time.sleep(0.005)


def decisions(stores: Iterable[RedisStore]) -> list[tuple[str, str, str | None]]:
    return [
        row
        for store in stores
        for row in store.asked("SELECT url, status, original FROM decisions ORDER BY id")
    ]


def confirmed(store: RedisStore) -> set[str]:
    """Return the URLs of the originals that nobody can take back."""
    return {row.url for row in store.held() if row.confirmed}


def groups(rows: Iterable[tuple[str, str, str | None]]) -> set[frozenset[str]]:
    """Return which pages belong together: an original and its copies, by their paths."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for url, status, original in rows:
        if status in ("unique", "duplicate"):
            found[original or url].add(urlsplit(url).path)
    return {frozenset(each) for each in found.values()}


def alone(site: Site, folder: Path, paths: Sequence[str]) -> set[frozenset[str]]:
    """Return the groups that one process comes to on a file."""
    site.html("/", page("", extra=linked(paths)))
    settings = {"CONCURRENT_REQUESTS": 16, "CONCURRENT_REQUESTS_PER_DOMAIN": 16}
    done = Crawl.of([site.url("/")], folder, settings=settings, plan={"/": ["links"]})
    rows = [(row["url"], row["status"], row["original"]) for row in done.decisions()]
    return groups(row for row in rows if row[0] != site.url("/"))


def shared(
    site: Site, folder: Path, server: RedisServer, paths: Sequence[str]
) -> tuple[Fleet, list[tuple[str, str, str | None]], list[str]]:
    """Have four processes crawl shares of the pages, and check what must be so afterwards.

    Returns the decisions on the pages, and the originals, oldest first.
    """
    name = new_name()
    fleet = Fleet(site, folder, server.url(name), paths)
    processes = [fleet.start(number) for number in range(CRAWLERS)]
    logs = [fleet.end(number, process) for number, process in enumerate(processes)]
    assert [process.returncode for process in processes] == [0] * CRAWLERS, logs
    assert not any("Traceback" in log for log in logs), logs
    stores = fleet.stores(server, name)
    assert stores[0].wrong(["simhash", "sketch"]) == []
    rows = [row for row in decisions(stores) if "/start/" not in row[0]]
    assert Counter(urlsplit(url).path for url, _, _ in rows) == dict.fromkeys(paths, 1)
    # Who names an original names one that is stored, and only originals are.
    unique = {url for url, status, _ in rows if status == "unique"}
    assert {original for _, _, original in rows if original} <= unique
    originals = [row.url for row in stores[0].held()]
    assert set(originals) == unique
    kept = {urlsplit(url).path for url, status, _ in rows if status != "duplicate"}
    assert {urlsplit(url).path for url in fleet.stored()} == kept
    return fleet, rows, originals


def test_four_crawlers_come_to_the_groups_of_one(site, tmp_path, redis_server):
    paths = lay_out(site)
    fleet, rows, _ = shared(site, tmp_path, redis_server, paths)
    assert groups(rows) == alone(site, tmp_path, paths)
    assert sorted(map(story_of, fleet.stored())) == sorted(map(str, range(STORIES)))
    seen = json.loads(fleet.outs[0].read_text())
    assert seen["stats"]["simdedup/index/originals"] >= 1
    assert seen["stats"].get("simdedup/errors", 0) == 0


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS.is_dir(), reason="the labelled pages are not part of the project")
def test_six_hundred_real_pages(site, tmp_path, redis_server):
    """Which of alike pages comes first is left to chance, and a longer one may be no copy of a
    shorter one: so each verdict is held against a file with what was there at that moment."""
    paths = []
    for name in ("web-pages", "syndicated-en"):
        for path in sorted((CORPUS / name / "pages").iterdir()):
            paths.append(f"/{name}/{path.name}")
            site.pages[paths[-1]] = Answer(path.read_bytes(), content_type="text/html")
    assert len(paths) > 590
    _, rows, originals = shared(site, tmp_path, redis_server, paths)

    def check(dedup: Deduplicator, url: str) -> Verdict:
        body = site.pages[urlsplit(url).path].body
        # As the crawlers decode it.
        response = HtmlResponse(url, headers={"Content-Type": "text/html"}, body=body)
        return dedup.check(url, html=response.text)

    with Deduplicator(tmp_path / "originals.db") as dedup:
        assert {check(dedup, url).status for url in originals} == {"unique"}
    copies: defaultdict[str, list[str]] = defaultdict(list)
    for url, status, original in rows:
        if status == "duplicate" and original:
            copies[original].append(url)
    assert sum(map(len, copies.values())) > 200
    for number, original in enumerate(copies):
        with Deduplicator(tmp_path / f"{number}.db") as dedup:
            check(dedup, original)
            for url in copies[original]:
                assert check(dedup, url).original == original


@pytest.mark.slow
@pytest.mark.parametrize("wipe", [False, True], ids=["with its data", "without"])
def test_a_crawler_and_the_server_are_killed(site, tmp_path, wipe):
    """Whatever is not stored is at least told of; the others go on."""
    paths = lay_out(site)
    name = new_name()
    folder = tmp_path / "server"
    folder.mkdir()
    with RedisServer(folder) as server:
        fleet = Fleet(site, tmp_path, server.url(name), paths)
        fleet.late = ["late:0.2"]
        # A third of the pages comes after the kill; fewer than a crawler asks for at once.
        killed = threading.Event()
        held_back = paths[-10 * CRAWLERS :]
        for path in held_back:
            site.pages[path].before = killed.wait
        processes = [fleet.start(number) for number in range(CRAWLERS)]
        index = RedisStore(tmp_path, name, server)
        # A crawler that asks for a page of its share has its index open.
        shares = [set(held_back[number::CRAWLERS]) for number in range(CRAWLERS)]
        fleet.wait(lambda: all(share.intersection(site.asked) for share in shares))
        fleet.wait(lambda: len(confirmed(index)) >= STORIES // 4)
        processes[0].send_signal(signal.SIGKILL)
        before_kill = confirmed(index)
        server.kill(wipe=wipe)
        killed.set()
        # The others go on without it: what they cannot judge they pass on.
        others = range(1, CRAWLERS)
        fleet.wait(lambda: any("cannot be reached" in fleet.told(number) for number in others))
        before = len(fleet.stored())
        fleet.wait(lambda: len(fleet.stored()) > before + 4)
        server.start()
        logs = [fleet.end(number, process) for number, process in enumerate(processes)]
        assert [process.returncode for process in processes[1:]] == [0] * 3, logs
        stats = [json.loads(fleet.outs[number].read_text())["stats"] for number in (1, 2, 3)]
        for log, stat in zip(logs[1:], stats, strict=True):
            assert log.count("cannot be reached") <= 2, log
            assert stat.get("simdedup/index/away", 0) <= stat.get("simdedup/errors", 0)
        assert sum(stat.get("simdedup/index/away", 0) for stat in stats) > 0
        # The one that was killed is started again, over all of its pages.
        again = fleet.start(0)
        log = fleet.end(0, again)
        assert again.returncode == 0, log
        stores = fleet.stores(server, name)
        for store in stores:
            # As the next run of each machine does: it is told of what others had to give up.
            Deduplicator(store.index, log=store.log).close()
        # A crawler that ended while the server was away could settle nothing there; the next run
        # on its own log has done so.
        for store in stores:
            assert store.wrong(["simhash", "sketch"]) == []
        stored = Counter(map(story_of, fleet.stored()))
        orphaned = {story_of(url) for url, status, _ in decisions(stores) if status == "orphaned"}
        assert set(stored) | orphaned == set(map(str, range(STORIES)))
        # Who is still called a copy is one of a page that was stored.
        urls = set(fleet.stored())
        for url, status, original in decisions(stores):
            assert status != "duplicate" or original in urls, url
        held = Counter(story_of(row.url) for row in stores[0].held())
        assert set(held) <= set(stored)
        assert set(held.values()) == {1}
        if not wipe:
            assert before_kill <= {row.url for row in stores[0].held()}


def test_a_crawl_does_not_start_without_its_server(crawl, site):
    site.html("/a", page(story(1)))
    done = crawl("/a", settings={"SIMDEDUP_INDEX": "redis://u:s3cret@127.0.0.1:1/0"})
    assert done.exit_code == 1
    assert "redis://127.0.0.1:1/0 cannot be reached" in done.log
    assert "s3cret" not in done.log
    assert site.asked == []


@pytest.mark.parametrize("reset", [False, True])
def test_a_server_that_is_lost_before_the_first_page(site, tmp_path, reset):
    """Pages are passed on, told of once, until the index can be opened."""
    folder = tmp_path / "server"
    folder.mkdir()
    with RedisServer(folder) as server:
        for number in range(12):
            site.html(f"/{number}", page(story(number)))
        site.pages["/0"].before = server.kill

        def start_again() -> None:
            server.start()
            # As long as it takes until the next attempt.
            time.sleep(3)

        site.pages["/6"].before = start_again
        name = new_name()
        done = Crawl.of(
            [site.url(f"/{number}") for number in range(12)],
            tmp_path,
            settings={
                "SIMDEDUP_INDEX": server.url(name),
                "SIMDEDUP_RESET": reset,
                "ADDONS": {"spiders.Impatient": 500},
                "CONCURRENT_REQUESTS": 1,
            },
        )
        assert done.exit_code == 0
        assert len(done.scraped) == 12
        assert done.stat("pages/error") == done.stat("pages/unique") == 6
        # Each of the six was to be judged, and then to be logged.
        assert done.stat("index/away") == done.stat("errors") == 12
        # Not each of them made an attempt.
        assert "could not be opened a moment ago" in done.log
        (error,) = (line for line in done.log.splitlines() if "] ERROR:" in line)
        assert f"{server.url(name)} cannot be reached" in error


def test_items_and_resets(crawl, site, tmp_path, redis_server):
    """Items of one text in flight at once: one is kept. A reset empties the index."""
    for number in range(6):
        site.html(f"/{number}", page(story(100 + number)))
    index = redis_server.url(new_name(), "default:pw@").replace("default:pw@", "")
    settings: Mapping[str, Any] = {
        "SIMDEDUP_INDEX": index,
        "SIMDEDUP_ITEM_FIELDS": {"text": "text"},
    }
    options = {"plan": {"*": ["item:3"]}, "text": story(1)}
    paths = [f"/{number}" for number in range(6)]
    done = crawl(*paths, settings=settings, **options)
    assert (len(done.scraped), done.stat("items/duplicate")) == (1, 17)
    assert done.stat("index/originals") == 7
    again = crawl(*paths, settings=settings, **options)
    assert again.stat("items/revisit") == 1
    assert again.stat("pages/revisit") == 6
    reset = crawl(*paths, settings={**settings, "SIMDEDUP_RESET": "1"}, **options)
    assert reset.stat("pages/unique") == 6
    assert f"keys of {index} were removed" in reset.log
