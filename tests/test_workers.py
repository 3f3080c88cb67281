"""Workers: a page that hangs, dies or fills the memory costs itself alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from crawling import Crawl, linked
from scrapy_simdedup import worker, workers
from scrapy_simdedup.analysis import Analysis, Recipe, Source, analyse
from scrapy_simdedup.worker import Job, Worker, WorkerDiedError, WorkTimeoutError
from scrapy_simdedup.workers import Pool
from texts import chinese, page, story

BAD = Recipe(extractor="spiders.misbehave")


@pytest.fixture(scope="module", autouse=True)
def importable():
    """The child looks for extractors where this process does."""
    sys.path.insert(0, str(Path(__file__).parent))
    yield
    sys.path.pop(0)


def run(own: Worker, source: Source, recipe: Recipe, timeout: float) -> Analysis:
    job = Job(lambda: source, recipe, timeout)
    assert job.begin()
    own.add(job)
    own.work(lambda: None)
    return job.future.result()


def test_a_worker_gives_what_analyse_gives():
    own = Worker()
    for text in (story(1), chinese(1), "short"):
        there = run(own, Source((page(text),)), Recipe(), 30)
        here = analyse(Source((page(text),)), Recipe())
        assert (there.reason, there.digest, there.signature) == (
            here.reason,
            here.digest,
            here.signature,
        )
        assert there.shingles.tolist() == here.shingles.tolist()


@pytest.mark.parametrize(
    ("page", "error"),
    [
        ("hang", WorkTimeoutError),
        ("exit", WorkerDiedError),
        ("crash", WorkerDiedError),
        ("raise", RuntimeError),
        ("memory", RuntimeError),
        ("print", None),
    ],
)
def test_bad_pages_cost_themselves_alone(page, error):
    own = Worker()
    before = run(own, Source(text=(story(1),)), Recipe(), 30)
    first = own.pid
    if error is None:
        run(own, Source((page,)), BAD, 5)
    else:
        with pytest.raises(error):
            run(own, Source((page,)), BAD, 1.0 if page == "hang" else 20)
    after = run(own, Source(text=(story(1),)), Recipe(), 30)
    assert after.digest == before.digest
    assert (own.pid == first) == (error in (None, RuntimeError))


def test_a_killed_worker_is_replaced_and_the_others_go_on():
    pool = Pool()
    futures = [
        pool.submit(lambda: Source(("hang",)), BAD, 2, 3),
        *(pool.submit(lambda n=n: Source(text=(story(n),)), Recipe(), 2, 30) for n in range(20)),
    ]
    done = [future.result(timeout=60) for future in futures[1:]]
    assert len({analysis.digest for analysis in done}) == 20
    with pytest.raises(WorkTimeoutError, match="3 seconds"):
        futures[0].result(timeout=60)


@pytest.mark.parametrize("bad", ["hang", "exit", "crash"])
def test_pages_that_lie_ready_behind_a_bad_one_are_not_lost(bad):
    """A worker has its next page already when it dies; another worker gets that page."""
    pool = Pool()
    submitted = [
        pool.submit(lambda: Source((bad,)), BAD, 1, 3)
        if number % 3 == 1
        else pool.submit(lambda n=number: Source(text=(story(n),)), Recipe(), 1, 30)
        for number in range(8)
    ]
    for number, future in enumerate(submitted):
        if number % 3 == 1:
            with pytest.raises((WorkTimeoutError, WorkerDiedError)):
                future.result(timeout=60)
        else:
            assert (
                future.result(timeout=60).digest
                == analyse(Source(text=(story(number),)), Recipe()).digest
            )


def test_a_worker_is_replaced_after_so_many_pages_even_when_more_are_waiting(tmp_path, monkeypatch):
    monkeypatch.setattr(worker, "_MOST_PAGES", 3)
    pool, notes = Pool(), [tmp_path / str(number) for number in range(10)]
    recipe = Recipe(extractor="spiders.tell_pid")
    for future in [pool.submit(lambda n=note: Source((str(n),)), recipe, 1, 30) for note in notes]:
        future.result(timeout=60)
    pids = [note.read_text() for note in notes]
    assert [pids.count(pid) for pid in dict.fromkeys(pids)] == [3, 3, 3, 1]


def test_a_worker_that_was_killed_while_idle_costs_no_page():
    own = Worker()
    run(own, Source(text=(story(1),)), Recipe(), 30)
    pid = own.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    # To the end of its last thread, and still there to be waited for.
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert run(own, Source(text=(story(2),)), Recipe(), 30).reason is None
    assert own.pid != pid


def test_a_page_that_nobody_waits_for_is_not_worked_on():
    job = Job(lambda: Source(text=(story(1),)), Recipe(), 30)
    assert job.future.cancel()
    assert not job.begin()


def test_a_source_that_raises_tells_its_own_future():
    def broken() -> Source:
        raise LookupError("unknown encoding: klingon")

    with pytest.raises(LookupError, match="klingon"):
        Pool().submit(broken, Recipe(), 1, 30).result(timeout=60)


def test_waiting_does_not_count():
    pool = Pool()
    slow = [pool.submit(lambda: Source(("slow",)), BAD, 1, 6.0) for _ in range(10)]
    assert all(future.result(timeout=60) for future in slow)


def test_cpus_are_those_this_process_may_use():
    assert 1 <= workers.cpus() <= (os.cpu_count() or 1)


def test_no_worker_outlives_its_parent(tmp_path):
    """Not even one that is killed with -9, and no main guard is needed."""
    script, note = tmp_path / "unguarded.py", tmp_path / "pid"
    script.write_text(
        textwrap.dedent(
            f"""
            import sys, time
            sys.path.insert(0, {str(Path(__file__).parent)!r})
            from scrapy_simdedup import workers
            from scrapy_simdedup.analysis import Recipe, Source
            source = lambda: Source(({str(note)!r},))
            recipe = Recipe(extractor="spiders.tell_pid")
            workers.submit(source, recipe, workers=1, timeout=30).result()
            print("done", flush=True)
            time.sleep(60)
            """
        )
    )
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "done\n"
    child = int(note.read_text())
    assert child != process.pid
    process.kill()
    process.wait()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and running(child):
        time.sleep(0.05)
    assert not running(child)


def running(pid: int) -> bool:
    """Tell whether a process runs; one that has ended but was not waited for does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_decisions_do_not_depend_on_the_number_of_workers(crawl, site, number):
    paths = [f"/{n}/{copy}" for n in range(4) for copy in range(2)]
    for path in paths:
        site.html(path, page(story(int(path[1])), path))
    site.html("/", page("", extra=linked(paths)))
    done: Crawl = crawl(settings={"SIMDEDUP_WORKERS": number}, plan={"/": ["links"]})
    assert (done.stat("pages/unique"), done.stat("pages/duplicate")) == (4, 4)


def test_a_crawl_goes_on_around_a_page_that_hangs(crawl, site):
    site.html("/hang", "<html><body>hang</body></html>")
    for number in range(10):
        site.html(f"/{number}", page(story(number)))
    site.html("/", page("", extra=linked(["/hang", *(f"/{n}" for n in range(10))])))
    done: Crawl = crawl(
        settings={
            "SIMDEDUP_EXTRACTOR": "spiders.misbehave",
            "SIMDEDUP_TIMEOUT": "4.5",
            "SIMDEDUP_WORKERS": 2,
        },
        plan={"/": ["links"]},
    )
    assert done.exit_code == 0
    assert done.stat("pages/skipped/timeout") == 1
    assert done.stat("pages/unique") == 10
    assert len(done.scraped) == 11
    assert f"{site.url('/hang')} took longer than 4.5 seconds" in done.log
    assert done.statuses()["/hang"] == "skipped"
    assert "Traceback" not in done.log


def test_a_crawl_goes_on_around_a_page_that_kills_its_worker(crawl, site):
    site.html("/crash", "<html><body>crash</body></html>")
    site.html("/a", page(story(1)))
    site.html("/b", page(story(1)))
    done: Crawl = crawl(
        "/a",
        "/crash",
        "/b",
        settings={"SIMDEDUP_EXTRACTOR": "spiders.misbehave", "SIMDEDUP_WORKERS": 1},
        in_turn=True,
    )
    assert done.verdicts["/crash"]["status"] == "error"
    assert done.verdicts["/b"]["status"] == "duplicate"
    assert len(done.scraped) == 3


def test_a_worker_without_standard_error():
    code = """
from scrapy_simdedup import workers
from scrapy_simdedup.analysis import Recipe, Source

source = Source(text=("short",))
print(workers.submit(lambda: source, Recipe(), workers=1, timeout=30).result().reason)
"""
    ran = subprocess.run(
        ["bash", "-c", '"$@" 2>&-', "bash", sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
    )
    assert ran.stdout == "too-short\n"
