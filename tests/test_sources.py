"""The algorithms of the sources: classic simhash, piecewise signature, five keyword rules."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_simdedup import Deduplicator
from scrapy_simdedup.exceptions import IndexUnusable
from scrapy_simdedup.guards import facts
from scrapy_simdedup.index.bands import Scan, plan_hamming
from scrapy_simdedup.methods import METHODS
from scrapy_simdedup.methods.base import Evidence, Limits, Pair
from scrapy_simdedup.methods.classic import CLASSIC_DISTANCES
from scrapy_simdedup.methods.keywords import abstract, weight_distance
from scrapy_simdedup.methods.piecewise import segments, shared
from scrapy_simdedup.methods.simhash import Simhash
from scrapy_simdedup.text.document import Document, Shape
from scrapy_simdedup.text.extract import describe
from scrapy_simdedup.text.tfidf import heaviest, integer_weights
from texts import chinese, page, reworded, story

ALL = ["simhash", "sketch", "classic", "piecewise", *(f"keywords-{rule}" for rule in range(1, 6))]


@pytest.mark.parametrize("name", [*ALL, "keywords"])
def test_each_method_alone_finds_an_equal_text_and_no_other(tmp_path, name):
    with Deduplicator(tmp_path / "index.db", {"SIMDEDUP_METHODS": [name]}) as dedup:
        for number in range(6):
            assert dedup.check(f"en {number}", text=story(number)).status == "unique"
            assert dedup.check(f"zh {number}", text=chinese(number)).status == "unique"
        for number in range(6):
            found = dedup.check(f"copy {number}", text=story(number))
            assert (found.original, found.method) == (f"en {number}", found.method)
            assert found.method is not None
            assert found.method.startswith(name)
            assert dedup.check(f"kopie {number}", text=chinese(number)).original == f"zh {number}"


def test_methods_combine(tmp_path):
    """A page is a duplicate when any of them says so; the log tells which."""
    with Deduplicator(
        tmp_path / "index.db", {"SIMDEDUP_METHODS": "keywords-1,piecewise,simhash"}
    ) as dedup:
        text = story(1, 400)
        dedup.check("a", text=text)
        assert dedup.check("b", text=text).method == "keywords-1"
        changed = "Quite another beginning, and a long one at that. " * 12 + text
        assert dedup.check("c", text=changed).method == "piecewise"


# Classic


def test_classic_weights_are_integers_that_grow_with_tf_idf():
    text = "渡口 " * 3 + "的 " * 50 + "望远镜 观星社 " * 2 + "我们 今天 可以"
    document = Document.from_text(text)
    weights = integer_weights(document)
    assert all(isinstance(weight, int) and weight >= 1 for weight in weights.values())
    assert "的" not in weights
    table = dict(heaviest(document, 100))
    ranked = sorted(weights, key=lambda term: table[term])
    assert weights[ranked[-1]] == max(weights.values())


def test_classic_limit_by_length():
    classic = METHODS["classic"]
    assert isinstance(classic, Simhash)
    assert CLASSIC_DISTANCES == ((100, 3), (0, 10))
    assert classic.limit(Limits(), 100) == 3
    assert classic.limit(Limits(), 99) == 10
    evidence = Evidence(0, 0.0, 0.0, 8, resembles=False)
    near, far = bytes(8), (2**7 - 1).to_bytes(8, "little")
    for new, old, same in ((60, 60, True), (60, 200, False), (200, 60, False), (200, 200, False)):
        pair = Pair({"classic": far}, {"classic": near}, new, old, evidence)
        # Symmetric: the smaller limit of the two texts holds, and no verification.
        assert classic.accepts(pair, Limits()) is same


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.lists(st.integers(0, 31), max_size=9), max_size=30),
    st.integers(0, 8),
    st.sampled_from([None, 16, 0]),
)
def test_32_bit_look_ups_are_exact(value, flips, limit, width):
    simhash = Simhash()
    others = [value]
    for bits in flips:
        other = value
        for bit in bits:
            other ^= 1 << bit
        others.append(other)
    rows = [
        (band, key, number)
        for number, other in enumerate(others)
        for band, key in simhash.rows(other.to_bytes(4, "little"))
    ]
    plan = plan_hamming(value, limit, len(others), width, bits=32)
    hit = [
        row
        for row in rows
        if (
            row[0] == plan.band
            if isinstance(plan, Scan)
            else any(row[0] == band and low <= row[1] <= high for band, low, high in plan.ranges)
        )
    ]
    limits = Limits(distances=((0, limit),))
    got = set(simhash.pick(value.to_bytes(4, "little"), 50, limits, hit))
    assert got == {n for n, other in enumerate(others) if (value ^ other).bit_count() <= limit}


def test_32_bits_end_to_end(tmp_path):
    path = tmp_path / "index.db"
    with Deduplicator(path, {"SIMDEDUP_HASH_BITS": 32}) as dedup:
        dedup.check("a", text=story(1))
        found = dedup.check("b", text=story(1) + " And one more thing.")
        assert found.original == "a"
        assert found.distance is not None
        assert found.distance < 6
        rows = dedup._index.connection.execute("SELECT count(*) FROM bands WHERE band < 32")
        # Its name, its body, and two rotations.
        assert rows.fetchone() == (4,)
    with pytest.raises(IndexUnusable, match="bits 32"):
        Deduplicator(path)


def test_many_pages_are_too_many_for_32_bits(tmp_path, caplog):
    path = tmp_path / "index.db"
    with Deduplicator(path, {"SIMDEDUP_HASH_BITS": 32}) as dedup:
        dedup.check("a", text=story(1))
        dedup._index.connection.execute("UPDATE pages SET id = 100001")
        dedup._index.connection.execute("UPDATE bands SET page = 100001")
    assert not caplog.records
    Deduplicator(path, {"SIMDEDUP_HASH_BITS": 32}).close()
    assert "32-bit fingerprints meet by chance" in caplog.text


# Piecewise


def test_segments_end_where_sentences_do():
    assert segments("One harbour, two boats. He said so! Was it late?\nIt was rather late.") == [
        "oneharbourtwoboats",
        "hesaidsowasitlate",
        "itwasratherlate",
    ]
    assert segments("清晨的渡口很安静，老船工系好木船。第二班的乘客已经在石阶上等了！") == [
        "清晨的渡口很安静老船工系好木船",
        "第二班的乘客已经在石阶上等了",
    ]


@pytest.mark.parametrize("seed", range(5))
def test_one_inserted_word_harms_one_segment(seed):
    text = story(seed, 300)
    words = text.split(" ")
    words.insert(len(words) // 2, "meanwhile")
    piecewise = METHODS["piecewise"]
    one, other = (piecewise.sign(Document.from_text(each)) for each in (text, " ".join(words)))
    common, smaller = shared(other, one, 64)
    assert smaller - common <= 1
    assert smaller >= 15


def test_a_short_page_inside_a_long_one_is_no_copy(tmp_path):
    settings = {"SIMDEDUP_METHODS": "piecewise"}
    long = story(1, 900)
    short = ". ".join(long.split(". ")[:14])
    with Deduplicator(tmp_path / "index.db", settings) as dedup:
        dedup.check("long", text=long)
        assert dedup.check("short", text=short).status == "unique"


def test_n_and_m_are_tunable(tmp_path):
    base = story(1, 300)
    half = base[: len(base) // 2] + story(2, 150)
    for number, (pieces, status) in enumerate(
        [([16, 4], "duplicate"), ([16, 15], "unique"), ("32,8", "duplicate")]
    ):
        settings = {"SIMDEDUP_METHODS": "piecewise", "SIMDEDUP_SEGMENTS": pieces}
        with Deduplicator(tmp_path / f"{number}.db", settings) as dedup:
            dedup.check("a", text=base)
            assert dedup.check("b", text=half).status == status


# Keywords


def keywords(rule: int, one: str, other: str, limits: Limits | None = None, **about: str) -> bool:
    """Tell whether a rule holds for two texts (``about``: their descriptions, a and b)."""
    method = METHODS[f"keywords-{rule}"]
    documents = [
        Document.from_text(text, about.get(name, "")) for name, text in (("a", one), ("b", other))
    ]
    parts = [{"keywords": method.sign(document)} for document in documents]
    evidence = Evidence(9, 0.9 if one == other else 0.0, 0.5, 0, resembles=False)
    return method.accepts(Pair(*parts, 60, 60, evidence), limits or Limits())


HEAVY = " ".join(
    f"{word} " * (30 - number)
    for number, word in enumerate(
        ["anchor", "barley", "canoe", "dune", "ember", "fjord", "gorge", "heron", "iris", "jug"]
    )
)


def test_rule_1_is_the_abstract():
    text = story(1, 300)
    start = text.encode()[:520].decode()
    assert keywords(1, text, start + story(2, 200))
    assert not keywords(1, text, "X" + text)
    description = "A long and telling description of the one story that this page is about."
    assert keywords(1, story(3), story(3), a=description, b=description)
    # The same description on pages with different texts is the site's slogan.
    assert not keywords(1, story(3), story(4), a=description, b=description)
    # Cut at a character, never inside one.
    document = Document.from_text("渡口" * 200)
    assert abstract(document) == ("渡口" * 85, False)


def test_rules_2_and_3_are_the_heaviest_terms():
    more = HEAVY + " kettle lagoon meadow"
    assert keywords(2, HEAVY, more)
    assert keywords(3, HEAVY, more)
    other_order = HEAVY + " barley" * 3
    assert not keywords(2, HEAVY, other_order)
    assert keywords(3, HEAVY, other_order)
    assert not keywords(3, HEAVY, HEAVY + " nettle" * 40)
    # Too few terms: no digest, and nothing equals nothing.
    assert not keywords(2, "anchor barley canoe", "anchor barley canoe")


def test_rules_4_and_5_want_the_weights_close():
    # Twice the length, the same densities: length alone changes nothing.
    assert keywords(4, HEAVY, f"{HEAVY} {HEAVY}")
    assert keywords(5, HEAVY, f"{HEAVY} {HEAVY}")
    skewed = HEAVY + " anchor" * 300
    assert keywords(2, HEAVY, skewed)
    assert not keywords(4, HEAVY, skewed)
    assert not keywords(5, HEAVY, skewed)
    assert keywords(4, HEAVY, skewed, Limits(keyword_distance=1.0))


@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=20), st.randoms())
def test_weight_distance_is_symmetric_and_between_0_and_1(weights, random):
    one = np.array(weights)
    other = np.array([weight * random.random() for weight in weights])
    assert weight_distance(one, one) == 0
    assert weight_distance(one, other) == weight_distance(other, one)
    assert 0 <= weight_distance(one, other) <= 1


def test_ties_among_keywords_have_a_rule():
    words = [
        "zebra",
        "yacht",
        "walnut",
        "velvet",
        "umbrella",
        "tulip",
        "sparrow",
        "raven",
        "quartz",
        "pepper",
    ]
    assert [term for term, _ in heaviest(Document.from_text(" ".join(words)), 10)] == sorted(words)


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ('<meta name="description" content="A &amp; B">', "A & B"),
        ("<META content='x > y' NAME=Description>", "x > y"),
        ('<meta property="og:description" content="no">', ""),
        ("<p>none</p>", ""),
        ("<meta name=description content=short>", "short"),
    ],
)
def test_meta_descriptions(html, found):
    assert describe(f"<html><head>{html}</head></html>") == found


def test_keywords_use_the_meta_description(tmp_path):
    about = "How the ferry crew of a small island mended the landing stage before the storms."
    with Deduplicator(tmp_path / "index.db", {"SIMDEDUP_METHODS": "keywords-1"}) as dedup:
        for url, text in (("a", story(1)), ("b", reworded(story(1), 0.2))):
            html = page(text).replace(
                "<head>", f'<head><meta name="description" content="{about}">'
            )
            found = dedup.check(url, html=html)
        assert (found.original, found.method) == ("a", "keywords-1")


def test_the_number_of_keywords_is_part_of_the_identity(tmp_path):
    path = tmp_path / "index.db"
    Deduplicator(path, {"SIMDEDUP_METHODS": "keywords-2"}).close()
    with pytest.raises(IndexUnusable, match="keywords 10"):
        Deduplicator(path, {"SIMDEDUP_METHODS": "keywords-2", "SIMDEDUP_KEYWORDS": 20})
    assert Shape().keywords == 10


# Guards


def product(model: str, number: str, price: str, name: str = "Aldersen") -> str:
    return page(
        f"The Kestrel {model} is a quiet garden lantern by {name} for paths and small terraces.\n\n"
        + story(1, 200)
        + f"\n\nArticle number {number}. It costs {price} crowns, weighs {price}0 grams and is"
        f" delivered from the {name} workshop within {model[1:]} days."
    )


def test_products_of_one_template_are_told_apart_by_their_numbers(tmp_path):
    with Deduplicator(tmp_path / "off.db") as dedup:
        dedup.check("a", html=product("K12", "12-447", "899"))
        found = dedup.check("b", html=product("K31", "31-902", "1250"))
        assert found.status == "duplicate"
    with Deduplicator(tmp_path / "on.db", {"SIMDEDUP_NUMBERS": 0.5}) as dedup:
        dedup.check("a", html=product("K12", "12-447", "899"))
        found = dedup.check("b", html=product("K31", "31-902", "1250"))
        # Kept both, and the log has the pair with its distance.
        assert (found.status, found.nearest) == ("unique", "a")
        assert found.distance is not None
        assert dedup.check("c", html=product("K12", "12-447", "899")).status == "duplicate"


def test_notices_that_name_another_company(tmp_path):
    with Deduplicator(tmp_path / "on.db", {"SIMDEDUP_NAMES": 0.9}) as dedup:
        dedup.check("a", html=product("K12", "12-447", "899", "Aldersen"))
        assert (
            dedup.check("b", html=product("K12", "12-447", "899", "Brockholm")).status == "unique"
        )


def test_facts_of_a_text():
    text = "In 2019 the P40 pump of Osterhall cost 1 290 crowns. Berit paid. She met Jon Salno."
    document = Document.from_text(text)
    assert facts.numbers(document) == {"2019", "p40", "1", "290"}
    assert facts.names(document) == {"p40", "osterhall", "jon", "salno"}
    assert facts.shares(facts.sign(document), facts.sign(document)) == (1.0, 1.0)
    empty = facts.sign(Document.from_text(""))
    assert facts.shares(empty, facts.sign(document)) == (1.0, 1.0)
    assert facts.shares(facts.sign(document), empty) == (0.0, 0.0)


def consent(article: str) -> str:
    notice = "<p>" + story(90, 90) + "</p><button>Accept</button>"
    return (
        "<html><body><div class='cookie-consent' role='dialog'>" + notice + "</div>"
        f"<aside class='entry'><h2>Title</h2><p>{article}</p></aside></body></html>"
    )


def test_a_consent_notice_is_not_the_article(tmp_path):
    with Deduplicator(tmp_path / "index.db") as dedup:
        found = [dedup.check(str(n), html=consent(story(n, 150))) for n in range(2)]
    assert all(verdict.status != "duplicate" for verdict in found)


def test_an_article_about_cookies_stays(tmp_path):
    html = page(story(1)).replace("<body>", "<body class='cookie-news'>", 1)
    with Deduplicator(tmp_path / "index.db") as dedup:
        dedup.check("a", html=page(story(1)))
        assert dedup.check("b", html=html).status == "duplicate"


def listing(lead: str) -> str:
    links = "".join(f"<li><a href='/{n}'>{story(50 + n, 14)}</a></li>" for n in range(12))
    return f"<html><body><main><h1>{lead}</h1><ul>{links}</ul></main></body></html>"


def test_listings_and_scraps_are_tagged_with_a_reason(tmp_path):
    with Deduplicator(tmp_path / "index.db") as dedup:
        dedup.check("a", html=listing("Monday"))
        found = dedup.check("b", html=listing("Tuesday"))
        assert (found.status, found.reason) == ("duplicate", "links")


def report(body: str, introduction: str) -> str:
    paragraphs = "".join(f"<p>{part}</p>" for part in body.split("\n\n"))
    return (
        "<html><body><nav><a href='/'>Home</a> <a href='/reports'>Reports</a></nav>"
        f"<article><p>{introduction}</p></article><article>{paragraphs}</article>"
        "<footer>The harbour office</footer></body></html>"
    )


def test_two_reports_under_one_introduction_are_never_dropped(tmp_path):
    """Only the first container is extracted; what differs is in the second one."""
    introduction = story(70, 80)
    with Deduplicator(tmp_path / "index.db") as dedup:
        dedup.check("a", html=report(story(80, 350), introduction))
        found = dedup.check("b", html=report(story(81, 350), introduction))
        assert (found.status, found.reason) == ("duplicate", "other-text")
        # The same report again is a copy without a doubt.
        again = dedup.check("c", html=report(story(80, 350), introduction))
        assert (again.status, again.reason) == ("duplicate", None)


def results(seed: int) -> str:
    import random

    chance = random.Random(seed)
    boats = ["Aro", "Belm", "Corr", "Dast", "Elno", "Finn", "Garo", "Holt", "Irra", "Jost"]
    chance.shuffle(boats)
    rows = "".join(
        f"<tr><td>{place}</td><td>{boat}</td><td>{chance.randint(10, 99)}</td></tr>"
        for place, boat in enumerate(boats, 1)
    )
    return (
        "<html><body><article><h1>Results</h1><p>These are the results of the harbour race as"
        " confirmed by the jury on the evening of the last day of the regatta.</p>"
        f"<table><tr><th>Place</th><th>Boat</th><th>Points</th></tr>{rows}</table></article>"
        "</body></html>"
    )


def test_tables_that_differ_in_their_cells_are_distinct(tmp_path):
    with Deduplicator(tmp_path / "index.db") as dedup:
        assert dedup.check("a", html=results(1)).status == "unique"
        assert dedup.check("b", html=results(2)).status == "unique"


def test_spelling_variants_are_copies(tmp_path):
    text = story(5, 300)
    other = text
    for word in sorted(set(text.split()))[::16]:
        other = other.replace(f" {word} ", f" {word[:-1]}z ")
    with Deduplicator(tmp_path / "index.db") as dedup:
        dedup.check("en-GB", text=text)
        assert dedup.check("en-US", text=other).original == "en-GB"


def test_a_notice_with_another_name_is_a_copy_by_default(tmp_path):
    """Tagging is recommended; the log shows both hosts."""
    text = story(33, 900)
    other = text
    for word in [word for word in text.split() if len(word) > 6][::50][:9]:
        other = other.replace(word, "Brockholm", 1)
    with Deduplicator(tmp_path / "index.db") as dedup:
        dedup.check("https://one.example/privacy", text=text)
        found = dedup.check("https://two.example/privacy", text=other)
        assert found.original == "https://one.example/privacy"
    with Deduplicator(tmp_path / "site.db", {"SIMDEDUP_SCOPE": "site"}) as dedup:
        dedup.check("https://one.example/privacy", text=text)
        assert dedup.check("https://two.example/privacy", text=other).status == "unique"


def test_canonical_links_prove_nothing(tmp_path):
    link = '<head><link rel="canonical" href="https://news.example/">'
    with Deduplicator(tmp_path / "index.db") as dedup:
        found = [
            dedup.check(f"{n}", html=page(story(n)).replace("<head>", link)) for n in range(10)
        ]
    assert {verdict.status for verdict in found} == {"unique"}
