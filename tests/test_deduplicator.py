"""The Deduplicator without Scrapy: what a user expects of whole pages and texts."""

from __future__ import annotations

import threading

import pytest

from scrapy_simdedup import Deduplicator, Verdict
from scrapy_simdedup.exceptions import ConfigError
from texts import chinese, page, reworded, story


@pytest.fixture
def dedup(store):
    with store.open() as opened:
        yield opened


def test_a_reprint_in_another_template_is_a_duplicate(dedup):
    assert dedup.check("a", html=page(story(1), "One headline", "plain")).status == "unique"
    reprint = story(1) + "\n\nThis report first appeared in the Harbour Gazette."
    found = dedup.check("b", html=page(reprint, "Quite another one", "wire"))
    assert (found.status, found.original, found.nearest) == ("duplicate", "a", "a")
    assert found.resemblance > 0.8
    # The same furniture around another story makes no copy.
    assert dedup.check("c", html=page(story(2), "One headline", "plain")).status == "unique"


def test_reader_comments_do_not_matter(dedup):
    comments = "".join(
        f'<div class="comment"><p>{story(100 + number, 40)}</p></div>' for number in range(5)
    )
    section = f'<section id="comments" class="comments"><h2>Comments</h2>{comments}</section>'
    assert dedup.check("a", html=page(story(1))).status == "unique"
    assert dedup.check("b", html=page(story(1), extra=section)).status == "duplicate"


def test_what_cannot_be_seen_does_not_hide_a_copy(dedup):
    clean = story(1)
    words = clean.split(" ")
    dirty = " ".join(
        word[:2] + "\u00ad\u200b\x00\x0b\ud83d"[number % 5] + word[2:] if number % 9 == 4 else word
        for number, word in enumerate(words)
    )
    assert dedup.check("clean", html=page(clean)).status == "unique"
    assert dedup.check("dirty", html=page(dirty)).status == "duplicate"
    item = dedup.check("item", text=dirty + " \ud83d\x00")
    assert (item.status, item.original) == ("duplicate", "clean")


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t",
        "。。！！？？——",
        "😀😀🎉",
        "\u200b\u200d\ufeff",
        "the of and to in",
        "中",
        "我喜欢健身。",
    ],
)
def test_texts_without_enough_terms_never_match(dedup, text):
    for url in ("a", "b"):
        found = dedup.check(url, text=text)
        assert (found.status, found.reason) == ("skipped", "too-short")
    assert dedup.originals() == 0


def test_one_word_over_and_over_is_too_short(dedup):
    assert dedup.check("a", text="test " * 200).reason == "too-short"
    assert dedup.check("b", text="test " * 700).reason == "too-short"


def test_short_texts_without_the_minimum(store):
    with store.open({"SIMDEDUP_MIN_TERMS": 0}) as dedup:
        assert dedup.check("a", text="我喜欢健身。").status == "unique"
        assert dedup.check("b", text="我喜欢普洱茶。").status == "unique"
        assert dedup.check("none", text="。。！！").reason == "too-short"


def test_translations_and_other_scripts_are_distinct(dedup):
    texts = {
        "hans": "港口的老吊桥修好以后，清晨的渔船又能一路开到集市旁边的石阶。"
        "修理队花了整个冬天更换齿轮和木板，"
        "镇上的孩子每天放学都来数还剩几块。管理员说，最难的不是钢铁，而是让大家相信桥还值得修。",
        "hant": "港口的老吊橋修好以後，清晨的漁船又能一路開到集市旁邊的石階。"
        "修理隊花了整個冬天更換齒輪和木板，"
        "鎮上的孩子每天放學都來數還剩幾塊。管理員說，最難的不是鋼鐵，而是讓大家相信橋還值得修。",
        "en": "Now that the old swing bridge in the harbour has been mended, the fishing boats"
        " can sail up to the stone steps beside the market again at dawn. The repair crew"
        " spent the whole winter replacing gears and planks, and the children of the town"
        " came after school each day to count how many were left. The keeper says that"
        " steel was not the hardest part; it was to make everybody believe that the"
        " bridge was worth mending.",
        "fr": "Maintenant que le vieux pont tournant du port est réparé, les bateaux de pêche"
        " peuvent de nouveau remonter à l'aube jusqu'aux marches de pierre près du"
        " marché. L'équipe a passé tout l'hiver à remplacer engrenages et planches, et"
        " les enfants de la ville venaient chaque jour après l'école compter ce qu'il en"
        " restait. Le gardien dit que le plus dur ne fut pas l'acier, mais de faire"
        " croire à tous que le pont valait la peine d'être réparé.",
    }
    for name, text in texts.items():
        assert dedup.check(name, html=page(text)).status == "unique", name
    assert dedup.check("again", html=page(texts["hans"], "另一个标题", "wire")).original == "hans"


def test_chinese_reprints(dedup):
    for seed in range(5):
        assert dedup.check(f"{seed}", text=chinese(seed)).status == "unique"
    for seed in range(5):
        found = dedup.check(f"copy {seed}", text=chinese(seed) + "（本文转载自《渡口日报》）")
        assert found.original == str(seed)


def test_a_cut_copy_is_a_copy_and_a_page_that_quotes_is_not(dedup):
    """Direction: does the new page bring anything new?"""
    whole = story(1, 400)
    paragraphs = whole.split("\n\n")
    assert dedup.check("whole", text=whole).status == "unique"
    cut = "\n\n".join(paragraphs[: max(1, len(paragraphs) * 6 // 10)])
    found = dedup.check("cut", text=cut)
    assert (found.status, found.original) == ("duplicate", "whole")
    assert found.containment > 0.9 > found.resemblance
    wrapped = story(2, 500) + "\n\n" + whole + "\n\n" + story(3, 500)
    assert dedup.check("wrapped", text=wrapped).status == "unique"
    quoting = story(4, 400) + "\n\n" + paragraphs[0]
    assert dedup.check("quoting", text=quoting).status == "unique"


def test_a_reworded_copy(dedup):
    assert dedup.check("a", text=story(1, 400)).status == "unique"
    assert dedup.check("b", text=reworded(story(1, 400), 0.04)).status == "duplicate"
    assert dedup.check("c", text=reworded(story(1, 400), 0.9)).status == "unique"


def test_unrelated_texts_are_apart(store):
    """200 unrelated long texts: no pair within the limit, with verification off."""
    only_bits = {
        "SIMDEDUP_METHODS": ["simhash"],
        "SIMDEDUP_MIN_RESEMBLANCE": 0,
        "SIMDEDUP_MIN_CONTAINMENT": 0,
    }
    with store.open(only_bits) as dedup:
        found = [dedup.check(str(seed), text=story(seed, 1000)) for seed in range(200)]
    assert {verdict.status for verdict in found} == {"unique"}


def test_limits_by_length(store):
    widest = 64 if store.kind == "sqlite" else 11
    settings = {
        "SIMDEDUP_METHODS": "simhash",
        "SIMDEDUP_MIN_RESEMBLANCE": 0,
        "SIMDEDUP_MIN_CONTAINMENT": 0,
        "SIMDEDUP_MAX_DISTANCE": f"[[1000, 0], [12, {widest}]]",
    }
    with store.open(settings) as dedup:
        assert dedup.check("a", text=story(1)).status == "unique"
        found = dedup.check("b", text=story(2) if widest == 64 else reworded(story(1), 0.05))
        assert (found.status, found.max_distance) == ("duplicate", widest)
        assert found.distance > 0


def test_the_nearest_is_told_even_when_it_is_not_near_enough(store):
    with store.open({"SIMDEDUP_MIN_RESEMBLANCE": 0.99}) as dedup:
        dedup.check("a", text=story(1))
        found = dedup.check("b", text=reworded(story(1), 0.03))
        assert (found.status, found.original, found.nearest) == ("unique", None, "a")
        assert 0 < found.resemblance < 0.99
        assert found.distance is not None


def test_the_nearest_original_is_named(dedup):
    base = story(1, 400)
    dedup.check("far", text=reworded(base, 0.08, seed=1))
    dedup.check("near", text=base + "\n\n" + story(5, 300) + story(6, 300))
    assert dedup.check("copy", text=reworded(base, 0.08, seed=1) + " indeed").original == "far"


def test_the_same_page_again(dedup):
    assert dedup.check("a", text=story(1)).status == "unique"
    again = dedup.check("a", text=story(1))
    assert (again.status, again.changed) == ("revisit", False)
    changed = dedup.check("a", text=story(2))
    assert (changed.status, changed.changed) == ("revisit", True)
    # A key of one's own makes the page, whatever its URL.
    assert dedup.check("b", text=story(2), key="a").status == "revisit"


def test_six_times_the_same_page_is_six_times_the_same_text(dedup):
    html = page("\n\n".join(["One paragraph that stands here twice, word by word, for once."] * 2))
    html = html.replace("for once", story(3, 60))
    found = {dedup.check(f"page {number}", html=html).resemblance for number in range(6)}
    assert found == {None, 1.0}


def test_pages_that_cannot_be_analysed_are_errors(store, caplog):
    with store.open({"SIMDEDUP_EXTRACTOR": "spiders.explode"}) as dedup:
        found = dedup.check("a", html=page(story(1)))
        assert (found.status, found.reason) == ("error", "RuntimeError")
        assert dedup.check("b", text=story(1)).status == "unique"
        assert dedup.check("c", html=page(story(2))).status == "error"
    # One traceback tells enough.
    told = [(each.getMessage(), bool(each.exc_info)) for each in caplog.records]
    assert told == [
        ("cannot analyse a (RuntimeError)", True),
        ("cannot analyse c (RuntimeError)", False),
    ]


def test_bytes_are_decoded(dedup):
    text = chinese(1)
    html = page(text).replace('charset="utf-8"', 'charset="gbk"')
    assert dedup.check("gbk", html=html.encode("gbk", "replace")).status == "unique"
    assert dedup.check("utf-8", html=page(text, template="wire")).original == "gbk"


def test_arguments_are_checked(dedup, tmp_path, caplog):
    with pytest.raises(ValueError, match="either html or text"):
        dedup.check("a")
    with pytest.raises(ValueError, match="either html or text"):
        dedup.check("a", html="", text="")
    with pytest.raises(ConfigError, match="SIMDEDUP_MIN_TERMS"):
        Deduplicator(tmp_path / "other.db", {"SIMDEDUP_MIN_TERMS": -1})
    assert not (tmp_path / "other.db").exists()
    Deduplicator(tmp_path / "other.db", {"SIMDEDUP_TRESHOLD": 1}).close()
    assert "SIMDEDUP_TRESHOLD" in caplog.text


def test_credentials_are_not_stored(dedup):
    dedup.check("https://user:secret@a.example/x?y=1#z", text=story(1))
    found = dedup.check("b", text=story(1))
    assert found.original == "https://a.example/x?y=1#z"


def test_threads_take_turns(dedup):
    found: list[Verdict] = []

    def work(number: int) -> None:
        found.extend(dedup.check(f"{number}/{seed}", text=story(seed)) for seed in range(10))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(verdict.status == "unique" for verdict in found) == 10
    assert sum(verdict.status == "duplicate" for verdict in found) == 50


def test_a_verdict_is_plain_and_frozen(dedup):
    verdict = dedup.check("a", text=story(1))
    assert set(verdict.as_dict()) == {
        "status", "reason", "original", "distance", "resemblance", "containment", "method",
        "nearest", "max_distance", "changed",
    }  # fmt: skip
    with pytest.raises(AttributeError):
        verdict.status = "duplicate"  # type: ignore[misc]


def test_closing_twice_is_fine(tmp_path):
    dedup = Deduplicator(tmp_path / "index.db")
    dedup.close()
    dedup.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index.db", "index.db.lock"]
