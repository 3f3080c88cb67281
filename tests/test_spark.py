"""The Spark job comes to the decisions of ``scan``, in a real Spark on this machine."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scrapy_simdedup import ConfigError, SimDedupError
from scrapy_simdedup.methods import METHODS
from sparking import PATIENT, by_scan, by_spark, chain, markup, table
from texts import chinese, page, reworded, story

pytestmark = pytest.mark.slow

# All that there is, which takes minutes.
FULL = bool(os.environ.get("SIMDEDUP_FULL"))

CORPUS = Path(__file__).resolve().parents[2] / "shared" / "corpus"


def deduplicate(frame: Any, options: Any = None, **arguments: Any) -> Any:
    # Late: it needs PySpark.
    from scrapy_simdedup.batch.spark import deduplicate

    return deduplicate(frame, {**PATIENT, **(options or {})}, **arguments)


# The same decisions as scan


def labelled() -> list[tuple[str, bytes, None]]:
    """Return the labelled pages, each set as a site; a few made-up ones where there are none.

    Of each set the first ones, unless all are asked for.
    """
    most = None if FULL else 16
    pages = [
        (f"https://{path.parts[-3]}.example/{path.name}", path.read_bytes(), None)
        for folder in sorted(CORPUS.glob("*/pages"))
        for path in sorted(folder.glob("*.html"))[:most]
    ]
    for at in range(0 if pages else 60):
        text = chinese(at % 12) if at % 3 else reworded(story(at % 5), 0.02 * (at % 7), at)
        html = page(text, template="wire" if at % 2 else "plain").encode()
        pages.append((f"https://{'zh' if at % 3 else 'en'}.example/{at}", html, None))
    return pages


def test_the_labelled_sets(spark, tmp_path):
    rows, options = labelled(), {"SIMDEDUP_SCOPE": "site"}
    found = deduplicate(table(spark, rows), options)
    scanned = by_scan(rows, tmp_path / "i.db", options)
    assert by_spark(found) == scanned
    assert found.full_keys == 0
    statuses = Counter(each["status"] for each in scanned)
    assert min(statuses["unique"], statuses["duplicate"]) > 10
    copies = Counter(each["original"] for each in scanned if each["status"] == "duplicate")
    assert {row["original"]: row["copies"] for row in found.clusters.collect()} == copies
    connected = {row["url"]: row["component"] for row in found.components().collect()}
    for each in scanned:
        if each["status"] == "duplicate":
            assert connected[each["url"]] == connected[each["original"]]


SETTINGS = [
    {},
    {"SIMDEDUP_SINCE": "run"},
    {
        "SIMDEDUP_METHODS": ["simhash", "sketch", "piecewise", "keywords"],
        "SIMDEDUP_MAX_DISTANCE": [(30, 5), (0, 8)],
    },
    {"SIMDEDUP_NUMBERS": 0.5, "SIMDEDUP_NAMES": 0.9},
    {"SIMDEDUP_METHODS": ["classic", "keywords-2"]},
    {"SIMDEDUP_HASH_BITS": 32},
    {"SIMDEDUP_MIN_RESEMBLANCE": 0, "SIMDEDUP_MIN_CONTAINMENT": 0, "SIMDEDUP_MAX_DISTANCE": 6},
]


def site(number: int, pages: list[tuple[int, int, int, int]]) -> Iterator[tuple[str, Any, Any]]:
    texts = [*chain(number, 4), *chain(100 + number, 1), "Too little."]
    for url, which, change, around in pages:
        text = texts[which] if change == 0 else reworded(texts[which], 0.1 * change - 0.05, url)
        yield f"https://s{number}.example/{url}", *markup(text, around)


def together(sites: list[list[tuple[int, int, int, int]]]) -> list[tuple[str, Any, Any]]:
    """Return the pages of many sites, which take turns."""
    queues = [iter(site(number, pages)) for number, pages in enumerate(sites)]
    rows = []
    while queues:
        for queue in list(queues):
            row = next(queue, None)
            if row is None:
                queues.remove(queue)
            else:
                rows.append(row)
    return rows


# All settings with SIMDEDUP_FULL=1, else any two of them, which take turns.
CASES = random.sample(SETTINGS, len(SETTINGS) if FULL else 2)


@pytest.mark.parametrize("at", range(len(CASES)))
def test_near_copies_chains_and_revisits(spark, tmp_path, at):
    """One job for many small sets: they are sites that do not see each other.

    With buckets that are full with 8 rows, nearly all of a job goes by waves.
    """
    seed = random.randrange(1 << 32)
    print(f"seed {seed}, {CASES[at]}")
    pick = random.Random(seed)
    # Of a page: which URL, which text, how that is changed, what is around it.
    sites = [
        [tuple(map(pick.randrange, (5, 6, 4, 4))) for _ in range(pick.randrange(11))]
        for _ in range(20)
    ]
    rows = together(sites)
    options = {**CASES[at], "SIMDEDUP_SCOPE": "site", "SIMDEDUP_WORKERS": 1}
    scanned = by_scan(rows, tmp_path / "i.db", options)
    with pytest.MonkeyPatch.context() as patched:
        for method in METHODS.values() if at % 2 else ():
            patched.setattr(method, "most_rows", 8)
        found = deduplicate(table(spark, rows), options)
        assert by_spark(found) == scanned
        assert found.full_keys == 0


def test_a_column_gives_the_order_and_a_bad_page_costs_itself_alone(spark, tmp_path):
    """The extractor raises for one page, and kills its process at another."""
    sites = together([[(url, url % 3, url % 2, 1 + url % 2) for url in range(5)] for _ in range(6)])
    rows: list[tuple[Any, Any, Any]] = list(sites)
    for number, word in ((1, "explode"), (7, "die")):
        rows[number] = (rows[number][0], page(f"{word} now"), None)
    rows += [(None, "no url", None), ("https://e.example/none", None, None)]
    places = list(range(len(rows)))
    random.Random(5).shuffle(places)
    frame = spark.createDataFrame(
        [(*rows[place][:2], f"{place:04}") for place in places],
        "url string, html string, day string",
    )
    options = {"SIMDEDUP_EXTRACTOR": "spark_extractor.extract_text"}
    found = by_spark(deduplicate(frame.repartition(5), options, order="day"))
    assert [(each["status"], each["reason"]) for each in found[-2:]] == [
        ("skipped", "no-url"),
        ("skipped", "no-field"),
    ]
    scanned = by_scan(rows[:-2], tmp_path / "i.db", {**options, "SIMDEDUP_WORKERS": 1})
    assert found[:-2] == scanned
    assert [found[number]["reason"] for number in (1, 7)] == ["RuntimeError", "WorkerDiedError"]
    statuses = Counter(each["status"] for each in found)
    assert min(statuses["unique"], statuses["duplicate"]) > 5


# Crowds


def crowd(size: int, change: float = 0.02) -> list[tuple[str, None, str]]:
    """Return one text and one template with slight variations, each so many times."""
    wall, template = story(1, 40), story(2, 40)
    same = [(f"https://a.example/{n}", None, wall) for n in range(size)]
    varied = [(f"https://b.example/{n}", None, reworded(template, change, n)) for n in range(size)]
    rows = [row for pair in zip(same, varied, strict=True) for row in pair]
    return [("https://c.example/", None, story(3, 40)), *rows]


def test_a_crowd_is_not_compared_with_itself(spark, tmp_path):
    """A template that is repeated many times takes so much more work, and not its square."""
    size = 300
    rows = crowd(size)
    found = deduplicate(table(spark, rows))
    decisions = by_spark(found)
    originals = {each["original"] for each in decisions if each["status"] == "duplicate"}
    assert len(originals) <= 12
    assert Counter(each["status"] for each in decisions)["duplicate"] > 1.9 * size
    compared = found.evidence.count()
    assert compared < 10 * size, "every variation was held against every other one"
    assert found.full_keys == 0
    assert decisions == by_scan(rows, tmp_path / "i.db", {})


def test_full_keys_are_counted(spark, tmp_path):
    """A catalogue, in which numbers keep all pages apart: there are no copies to be found."""
    words = story(4, 60)
    rows = [
        (f"https://shop.example/{n}", None, f"{words} Model {n * 7919} costs {n * 104729} crowns.")
        for n in range(60)
    ]
    options = {"SIMDEDUP_NUMBERS": 0.6}
    found = deduplicate(table(spark, rows), options)
    assert found.full_keys > 0
    assert {each["status"] for each in by_spark(found)} == {"unique"}


# Chains


def test_chains(spark, tmp_path):
    """A chain is cut where its ends are too far apart; and takes as many rounds as it has links."""
    rows = [(f"https://a.example/{n}", None, text) for n, text in enumerate(chain(7, 9))]
    found = deduplicate(table(spark, rows))
    decisions = by_spark(found)
    assert decisions == by_scan(rows, tmp_path / "i.db", {})
    statuses = [each["status"] for each in decisions]
    assert 2 <= statuses.count("unique") < 9
    assert found.rounds > 2
    with pytest.raises(SimDedupError, match=r"after 1 rounds \d+ pages .* https://a.example/1"):
        deduplicate(table(spark, rows), rounds=1)


def test_connected_components(spark):
    """Pages hang together by whatever way; those of one text do, and the others are alone."""
    from scrapy_simdedup.batch.spark.clusters import components

    pick = random.Random(11)
    ends = [(at, at + 1) for at in range(30)]
    ends += [(pick.randrange(40, 90), pick.randrange(40, 90)) for _ in range(40)]
    pages = [(at, f"u{at}", at) for at in range(100)] + [(100, "again", 99)]
    root = list(range(100))

    def find(text: int) -> int:
        while root[text] != text:
            text = root[text]
        return text

    for one, other in ends:
        low, high = sorted((find(one), find(other)))
        root[high] = low
    found = components(
        spark.createDataFrame(pages, "order long, url string, text long"),
        spark.createDataFrame(
            [(max(pair), min(pair), "sketch") for pair in ends] + [(95, 96, None)],
            "new long, old long, method string",
        ),
        20,
    )
    assert [tuple(row) for row in found.collect()] == [
        (order, url, f"u{find(text)}") for order, url, text in pages
    ]


# What cannot be


def test_bad_tables_and_settings(spark):
    with pytest.raises(ValueError, match="url and html or text, not address, text"):
        deduplicate(spark.createDataFrame([("a", "b")], "address string, text string"))
    with pytest.raises(ValueError, match="column html is int"):
        deduplicate(spark.createDataFrame([("a", 1)], "url string, html int"))
    one = spark.createDataFrame([("a", "b")], "url string, text string")
    with pytest.raises(ConfigError, match=r"simhash finds texts up to 20 of 64 bits"):
        deduplicate(one, {"SIMDEDUP_MAX_DISTANCE": 20})
    assert by_spark(deduplicate(one.limit(0))) == []
