"""``scrapy simdedup tune``: histograms of the log, labels, and the limit that it suggests."""

from __future__ import annotations

import argparse
import random
import re
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from scrapy.exceptions import UsageError
from scrapy.settings import Settings

from scrapy_simdedup import Deduplicator
from scrapy_simdedup.commands import tune as command
from scrapy_simdedup.logs.labels import Untunable, cases, read_labels, score
from scrapy_simdedup.logs.measures import (
    CONTAINMENT,
    DISTANCE,
    RESEMBLANCE,
    NoSuchRun,
    emptiest,
)
from test_command import simdedup
from texts import reworded, story

Tune = Callable[..., str]
Judged = tuple[str, float | None, int | None]


@pytest.fixture
def tune(capsys: pytest.CaptureFixture[str]) -> Tune:
    def call(*arguments: object) -> str:
        parser = argparse.ArgumentParser()
        command.add_parser(parser.add_subparsers())
        opts = parser.parse_args(["tune", *map(str, arguments)])
        opts.function(opts, Settings())
        return capsys.readouterr().out

    return call


def fill(path: Path, judged: Sequence[Judged], **settings: object) -> Path:
    """Write a log of decisions (status, resemblance, distance) into a new run of an index."""
    with Deduplicator(path, {f"SIMDEDUP_{k.upper()}": v for k, v in settings.items()}) as dedup:
        run = dedup.run
    with sqlite3.connect(path) as connection:
        connection.executemany(
            "INSERT INTO decisions (run, time, kind, url, status, distance, max_distance,"
            " resemblance, containment, nearest) VALUES (?, '', 'page', ?, ?, ?, 3, ?, ?, ?)",
            [
                (run, f"{status}-{at}", status, distance, alike, alike, f"near-{at}")
                for at, (status, alike, distance) in enumerate(judged)
            ],
        )
    connection.close()
    return path


def heaps(kept: int, copies: int) -> list[Judged]:
    """Return kept pages about 0.12 and copies about 0.8 alike, and three without a candidate."""
    near: list[Judged] = [("duplicate", 0.8 + at % 3 / 50, at % 4) for at in range(copies)]
    return [("unique", 0.12, 28)] * kept + near + [("unique", None, None)] * 3


def bars(shown: str, column: str) -> dict[str, tuple[int, int, str]]:
    block = shown.split(f"nearest {column}")[1].partition("\n\n")[0]
    found = re.findall(r"^([\d.]+(?: - [\d.]+)?) +(\d+) #* +(\d+)(.*)$", block, re.MULTILINE)
    return {name: (int(kept), int(copies), rest) for name, kept, copies, rest in found}


def test_histograms_and_the_gap(tmp_path: Path, tune: Tune) -> None:
    rows = [*heaps(40, 30), ("skipped", None, None), ("error", None, None)]
    shown = tune("--index", fill(tmp_path / "i.db", rows))
    alike = bars(shown, "resemblance")
    assert len(alike) == 20
    assert alike["0.10 - 0.15"][:2] == (40, 0)
    assert alike["0.80 - 0.85"][:2] == (0, 30)
    assert sum(kept + copies for kept, copies, _ in alike.values()) == 70
    assert [name for name, bar in alike.items() if "<-" in bar[2]] == ["0.30 - 0.35"]
    apart = bars(shown, "distance")
    # One empty bin beyond the last one that holds something.
    assert list(apart)[-1] == "30 - 31"
    assert apart["28 - 29"][:2] == (40, 0)
    assert "<- SIMDEDUP_MAX_DISTANCE 3" in apart["2 - 3"][2]
    assert shown.startswith("73 decisions, 3 of them without a candidate\n")
    assert "the distance only proposes pages" in shown
    assert shown.endswith("the emptiest gap is 0.15 to 0.8\nSIMDEDUP_MIN_RESEMBLANCE = 0.475\n")
    assert max(map(len, shown.splitlines())) < 120
    shown.encode("ascii")


def test_each_value_falls_into_its_bin(tmp_path: Path, tune: Tune) -> None:
    # 0.3 and 0.15 are no exact sums of 0.05.
    values = [0.0, 0.05, 0.15, 0.3, 0.35, 0.7, 0.9999, 1.0]
    rows: list[Judged] = [("unique", value, 0) for value in values]
    alike = bars(tune("--index", fill(tmp_path / "i.db", rows)), "resemblance")
    full = [name for name, bar in alike.items() if bar[0]]
    assert " ".join(name[:4] for name in full) == "0.00 0.05 0.15 0.30 0.35 0.70 0.95"
    assert alike["0.95 - 1.00"][0] == 2


def test_limits_of_the_run_are_marked(tmp_path: Path, tune: Tune) -> None:
    path = fill(tmp_path / "i.db", heaps(30, 30))
    fill(path, heaps(2, 1), min_resemblance=0.52)
    both, first, second = (tune("--index", path, *run) for run in ([], ["--run", 1], ["--run", 2]))
    assert "<- SIMDEDUP_MIN_RESEMBLANCE 0.52" in bars(both, "resemblance")["0.50 - 0.55"][2]
    assert "<- SIMDEDUP_MIN_RESEMBLANCE 0.3" in bars(first, "resemblance")["0.30 - 0.35"][2]
    assert "69 decisions" in both
    assert "6 decisions" in second
    with pytest.raises(NoSuchRun, match="no run 3"):
        tune("--index", path, "--run", 3)


def test_without_verification_the_distance_is_suggested(tmp_path: Path, tune: Tune) -> None:
    path = fill(tmp_path / "i.db", heaps(40, 30), min_resemblance=0, min_containment=0)
    # Empty from 4 to 27 bits.
    shown = tune("--index", path)
    assert shown.endswith("SIMDEDUP_MAX_DISTANCE = 16\n")
    assert "only proposes" not in shown
    assert nearest(shown)[0][:2] == ("28", "kept")


def nearest(shown: str) -> list[tuple[str, ...]]:
    return re.findall(r"^([\d.]+) +(kept|duplicate) +A (.+)\n +B (.+)$", shown, re.MULTILINE)


def test_decisions_nearest_to_the_limit_are_named(tmp_path: Path, tune: Tune) -> None:
    kept: list[Judged] = [("unique", value, 9) for value in (0.1, 0.29, 0.05, 0.2, 0.28)]
    copies: list[Judged] = [("duplicate", value, 9) for value in (0.9, 0.35, 1.0, 0.31, 0.4)]
    shown = tune("--index", fill(tmp_path / "i.db", [*kept, ("unique", None, None), *copies]))
    assert nearest(shown) == [
        (value, status, f"near-{at}", f"{'unique' if status == 'kept' else status}-{at}")
        for value, status, at in (
            ("0.2", "kept", 3),
            ("0.28", "kept", 4),
            ("0.29", "kept", 1),
            ("0.31", "duplicate", 9),
            ("0.35", "duplicate", 7),
            ("0.4", "duplicate", 10),
        )
    ]
    assert "nearest to the limit" not in tune("--index", fill(tmp_path / "none.db", []))


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([], "fewer than 50"),
        (heaps(30, 19), "fewer than 50"),
        (heaps(60, 0), "no gap"),
        (heaps(0, 60), "no gap"),
        ([*heaps(30, 30), *[("unique", 0.05 * at, 9) for at in range(20)] * 20], "no gap"),
    ],
)
def test_the_limits_are_kept(rows: list[Judged], why: str, tmp_path: Path, tune: Tune) -> None:
    last = tune("--index", fill(tmp_path / "i.db", rows)).splitlines()[-1]
    assert last.startswith("keep the current limits: ")
    assert why in last


@pytest.mark.parametrize(
    ("left", "right", "gap"),
    [
        ([9, 0, 0, 0, 0], [0, 0, 0, 0, 9], range(1, 4)),
        ([9, 0, 1, 0, 0, 0], [0, 0, 0, 0, 0, 9], range(3, 5)),
        ([9, 3, 2, 2, 3, 0], [0, 0, 0, 0, 0, 9], range(2, 4)),
        ([9, 3, 3, 3, 3, 0], [0, 0, 0, 0, 0, 9], None),
        ([0, 0, 9], [9, 0, 0], None),
        ([9, 0], [0, 9], None),
        ([1, 0, 1, 0, 0], [0, 0, 0, 0, 1], range(3, 4)),
        ([0, 0, 0], [0, 0, 5], None),
    ],
)
def test_the_emptiest_gap(left: list[int], right: list[int], gap: range | None) -> None:
    assert emptiest(left, right) == gap


@pytest.fixture(scope="module")
def scanned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scan of stories, copies of them, and other stories that quote them, with labels."""
    folder = tmp_path_factory.mktemp("tune")
    pick = random.Random("tune")
    sample = ["url\toriginal\tlabel"]
    complete = ["a\tb\tlabel\thow"]
    with Deduplicator(folder / "i.db") as dedup:
        for at in range(30):
            text = story(at)
            dedup.check(f"{at}", text=text)
            dedup.check(f"{at}-copy", text=reworded(text, pick.uniform(0, 0.12)))
            dedup.check(f"{at}-quote", text=f"{text[:500]}\n\n{story(100 + at, 500)}")
            sample += [f"{at}-copy\t{at}\tduplicate", f"{at}-quote\t{at}\tdistinct"]
            complete.append(f"{at}-copy\t{at}\tduplicate\tedit")
    (folder / "sample.tsv").write_text("\n".join(sample) + "\n")
    (folder / "pairs.tsv").write_text("\n".join(complete) + "\n")
    return folder


@pytest.mark.parametrize("labels", ["sample.tsv", "pairs.tsv"])
def test_labels_score_each_limit(labels: str, scanned: Path, tune: Tune) -> None:
    shown = tune("--index", scanned / "i.db", "--labels", scanned / labels)
    assert "30 pages copy a kept page by the labels" in shown
    assert "as judged: recall 1.000, precision 1.000, F1 1.000" in shown
    scores = shown.split("each limit by itself:")[1]
    grids = re.findall(r"^(\w+) +recall.*\n((?:[\d.]+ .*\n)+)", scores, re.MULTILINE)
    table = {
        column: {
            row.split()[0]: (float(row.split()[1]), float(row.split()[2]))
            for row in lines.splitlines()
        }
        for column, lines in grids
    }
    assert list(table) == ["resemblance", "containment", "distance"]
    alike = table["resemblance"]
    assert list(alike) == [f"{at / 20:g}" for at in range(2, 19)]
    assert alike["0.3"] == (1.0, 1.0)
    assert alike["0.1"][1] < 0.8
    assert alike["0.9"][0] < 0.5
    recalls = [recall for recall, _ in alike.values()]
    assert recalls == sorted(recalls, reverse=True)
    assert list(table["distance"])[:4] == ["0", "1", "2", "3"]
    assert table["distance"]["24"][0] > table["distance"]["3"][0]
    perfect = [float(limit) for limit, got in alike.items() if got == (1.0, 1.0)]
    middle = (perfect[0] + perfect[-1]) / 2
    assert shown.endswith(f"\nSIMDEDUP_MIN_RESEMBLANCE = {middle:g}\n")


def test_limits_that_do_better_together_are_kept(tmp_path: Path, tune: Tune) -> None:
    # No resemblance, containment or distance by itself tells these two heaps apart.
    heap: list[Judged] = [(status, 0.5, 9) for status in ("duplicate", "unique")] * 30
    path = fill(tmp_path / "i.db", heap)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE decisions SET nearest = 'first'")
        connection.execute(
            "INSERT INTO decisions (id, run, time, kind, url, status)"
            " VALUES (0, 1, '', 'page', 'first', 'unique')"
        )
    connection.close()
    labels = tmp_path / "pairs.tsv"
    pairs = [f"first\tduplicate-{at}\tduplicate\tx" for at in range(0, 60, 2)]
    labels.write_text("\n".join(["a\tb\tlabel\thow", *pairs]))
    shown = tune("--index", path, "--labels", labels)
    assert "as judged: recall 1.000, precision 1.000" in shown
    assert shown.splitlines()[-1].startswith("keep the current limits: together")


def test_labels_of_other_pages(scanned: Path, tmp_path: Path, tune: Tune) -> None:
    labels = tmp_path / "labels.tsv"
    labels.write_text("url\toriginal\tlabel\nhttps://a.example/\thttps://b.example/\tduplicate\n")
    with pytest.raises(Untunable, match="none of the labelled pages"):
        tune("--index", scanned / "i.db", "--labels", labels)
    labels.write_text("url\toriginal\tlabel\n1-quote\t1\tdistinct\n")
    shown = tune("--index", scanned / "i.db", "--labels", labels)
    assert "keep the current limits" in shown.splitlines()[-1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "columns"),
        ("url,original,label\n1,2,duplicate\n", "columns"),
        ("url\tlabel\n1\tduplicate\n", "columns"),
        ("url\toriginal\tlabel\n1\t2\tduplicate\n1\t3\tmaybe\n", "line 3.*'maybe'"),
        ("a\tb\tlabel\n1\n", "line 2"),
        ("a\tb\tlabel\n\udcff\t1\tduplicate\n", "cannot read"),
    ],
)
def test_labels_that_are_none(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "labels.tsv"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(Untunable, match=said):
        read_labels(path)


def row(url: str, nearest: str | None, alike: float | None, status: str) -> dict[str, object]:
    return {
        "url": url,
        "nearest": nearest,
        "resemblance": alike,
        "containment": alike,
        "distance": None if alike is None else 5,
        "status": status,
    }


def test_scores_are_counted_by_the_page(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text(
        "\ufeffa\tb\tlabel\thow\n1\t2\tduplicate\tx\n1\t3\tduplicate\tx\n4\t1\tambiguous\tx\n",
        encoding="utf-8",
    )
    log = [
        row("1", None, None, "unique"),
        row("2", "1", 0.8, "duplicate"),
        row("3", None, None, "unique"),  # a copy that nothing proposed
        row("4", "1", 0.9, "duplicate"),  # counts neither way
        row("5", "1", 0.7, "duplicate"),  # a wrong call
    ]
    judged = cases(log, read_labels(path))
    assert [case.wanted for case in judged] == [False, True, True, False, False]
    got = score(judged, lambda each: RESEMBLANCE.near(each, 5000))
    assert (got.recall, got.precision) == (0.5, 0.5)
    assert got.f1 == 0.5
    got = score(judged, lambda each: CONTAINMENT.near(each, 7500))
    assert (got.recall, got.precision) == (0.5, 1.0)
    assert score(judged, lambda each: DISTANCE.near(each, 4)).recall == 0
    # In a sample what is not listed counts neither way.
    path.write_text("url\toriginal\tlabel\n2\t1\tduplicate\n")
    got = score(cases(log, read_labels(path)), lambda each: RESEMBLANCE.near(each, 5000))
    assert (got.recall, got.precision) == (1.0, 1.0)


def test_copies_by_their_address_are_left_out(tmp_path: Path, tune: Tune) -> None:
    path = fill(tmp_path / "i.db", heaps(3, 3))
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE decisions SET method = 'same-page' WHERE url = 'duplicate-3'")
    connection.close()
    assert "8 decisions, 3 of them without a candidate" in tune("--index", path)


def test_labels_that_are_missing(scanned: Path, tune: Tune) -> None:
    with pytest.raises(UsageError, match=r"there is no nowhere\.tsv"):
        tune("--index", scanned / "i.db", "--labels", "nowhere.tsv")


def test_tune_from_a_shell(scanned: Path) -> None:
    ran = simdedup(scanned, "tune", "--index", "i.db")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines()[-1].startswith("SIMDEDUP_MIN_RESEMBLANCE = 0.")
    assert simdedup(scanned, "tune", "--index", "nowhere.db").returncode == 1
    assert simdedup(scanned, "tune").returncode == 2
