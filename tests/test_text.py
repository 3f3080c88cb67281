"""Normalising, weighing, extracting and decoding."""

from __future__ import annotations

import codecs
import gzip
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scrapy_simdedup import Deduplicator
from scrapy_simdedup.analysis import Recipe, Source, analyse
from scrapy_simdedup.text.document import Document
from scrapy_simdedup.text.extract import decode, extract
from scrapy_simdedup.text.normalise import clean, normalise
from scrapy_simdedup.text.weigh import weigh
from texts import chinese, page, story

UNSEEN = {
    "NUL": "\0",
    "control": "\x07",
    "C1 control": "\x91",
    "soft hyphen": "\u00ad",
    "zero-width space": "\u200b",
    "zero-width joiner": "\u200d",
    "word joiner": "\u2060",
    "direction mark": "\u202b",
    "variation selector": "\ufe0f",
    "byte order mark": "\ufeff",
    "high surrogate": "\ud83d",
    "low surrogate": "\udc00",
    "noncharacter": "\uffff",
    "tag": "\U000e0041",
}

# Whatever str can hold, and often what makes trouble.
ANY_TEXT = st.text(
    st.one_of(
        st.characters(exclude_categories=()),
        st.sampled_from(
            [*UNSEEN.values(), *"aÅǰßİΣςﬃ①½K\u0301\u0327\u0345\u3099ｶﾞ\uffa0\u1160¨ \t\n\x85"]
        ),
    )
)


@settings(max_examples=200, deadline=None)
@given(ANY_TEXT)
@example("ǰ\u0323")
@example("\u00a8\ufeff\u0301")
@example("Α\u0345\u200b\u0301")
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once


@settings(max_examples=200, deadline=None)
@given(ANY_TEXT)
def test_whatever_comes_in_what_goes_out_is_utf8(text: str) -> None:
    assert normalise(text).encode("utf-8").decode("utf-8") == normalise(text)
    clean(text).encode("utf-8")


@pytest.mark.parametrize("unseen", UNSEEN.values(), ids=UNSEEN)
@pytest.mark.parametrize("word", ["lighthouse", "gewölbe", "маяк", "灯塔", "cafe\u0301"])
def test_what_a_reader_cannot_see_changes_nothing(unseen: str, word: str) -> None:
    for at in range(len(word) + 1):
        assert normalise(f"the {word[:at]}{unseen}{word[at:]} keeper") == normalise(
            f"the {word} keeper"
        )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Old HARBOUR", "old harbour"),
        ("STRASSE", "straße"),
        ("ΟΔΥΣΣΕΥΣ", "οδυσσευς"),
        ("cafe\u0301", "caf\u00e9"),
        ("ﬁnal ﬂood", "final flood"),
        ("ＡＢＣ１２３", "abc123"),
        ("ｶﾞﾗｽ", "ガラス"),
        ("\u212bngstrom", "\u00e5ngstrom"),
        ("  one\t two\r\n\n three\u00a0four\u2003five\u3000six ", "one two three four five six"),
    ],
)
def test_case_compatibility_forms_and_white_space(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)


def test_different_texts_stay_different() -> None:
    assert normalise("rock cod") != normalise("rockcod")
    assert normalise("résumé") != normalise("resume")


def test_clean_leaves_markup_and_white_space() -> None:
    html = "<p>\tone\r\n two\u200b</p>"
    assert clean(html) == html
    assert clean("<p>\0on\ud800e\x0b</p>") == "<p>one</p>"


@pytest.mark.parametrize("rare", ["\U00020000", "\U000e0061", "\U0010fffd", "😀", "x"])
def test_a_long_text_loses_what_a_short_one_does(rare: str) -> None:
    piece = f"Wide，{rare} of\0t\u200ben…\u2028Ｓigns\ud800\xa0\x1e "
    assert normalise(piece * 300) == " ".join([normalise(piece)] * 300)


def test_weights_are_damped_whole_numbers_in_reading_order() -> None:
    counts = {"zinc": 1, "harbour": 2, "granite": 3, "lantern": 4, "meadow": 7, "otter": 8}
    # The function words make English the language whose stop words go.
    text = "the zinc of the " + " and ".join(f"{word} " * n for word, n in counts.items())
    weights = weigh(Counter(f"{text} zinc".split()))
    assert list(weights.items()) == [
        ("zinc", 2),
        ("harbour", 2),
        ("granite", 2),
        ("lantern", 3),
        ("meadow", 3),
        ("otter", 4),
    ]
    assert weigh({"zinc": 1}) == {"zinc": 1}
    assert all(type(weight) is int for weight in weights.values())


@pytest.mark.parametrize(
    ("text", "stops", "kept"),
    [
        (
            "The keeper of the lighthouse was not in the harbour when they came for him",
            {"the", "of", "was", "not", "in", "when", "they", "for"},
            {"keeper", "lighthouse", "harbour"},
        ),
        (
            "Der Wärter und die Möwe sind nicht auf dem Turm, sie sind in der Bucht",
            {"der", "und", "die", "nicht", "auf", "dem"},
            {"wärter", "möwe", "turm", "bucht"},
        ),
        (
            "老船工的木船和渔网都在石桥下面，他们没有离开",
            {"的", "和", "都", "在", "他们", "没有"},
            {"木船", "渔网"},
        ),
    ],
)
def test_stop_words_have_no_weight_but_stay_in_the_text(
    text: str, stops: set[str], kept: set[str]
) -> None:
    document = Document.from_text(text)
    assert not stops & document.weights.keys()
    assert kept <= document.weights.keys()
    assert stops | kept <= set(document.terms)


def test_shingles_are_distinct_in_reading_order_and_know_word_order() -> None:
    document = Document.from_text("kelp sand reef kelp sand reef kelp sand")
    shingles = document.shingles(3).tolist()
    # kelp-sand-reef, sand-reef-kelp, reef-kelp-sand; then they come again.
    assert len(shingles) == len(set(shingles)) == 3
    assert Document.from_text("kelp sand reef").shingles(3).tolist() == shingles[:1]
    assert Document.from_text("reef kelp sand").shingles(3).tolist() == shingles[2:]
    assert Document.from_text("sand kelp reef").shingles(3).tolist()[0] not in shingles
    assert not len(Document.from_text("kelp sand").shingles(3))


def test_a_digest_tells_texts_apart_and_nothing_else() -> None:
    text = story(3)
    digest = Document.from_text(text).digest
    assert len(digest) == 16
    assert Document.from_text(text.upper().replace(" ", "  ")).digest == digest
    assert Document.from_text(text + " more").digest != digest


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   \n\t",
        "。。！！……",
        "🔥🚀 🙂",
        "\u200b\u200d\ufeff\u2060",
        "--- *** !?",
        "the of and in",
        "和",
    ],
    ids=["empty", "blank", "stops", "emoji", "zero-width", "signs", "stop words", "one Han"],
)
@pytest.mark.parametrize("least", [0, 12])
def test_texts_without_terms_are_too_short_even_without_a_minimum(text: str, least: int) -> None:
    analysis = analyse(Source(text=(text,)), Recipe(min_terms=least))
    assert (analysis.reason, analysis.terms, analysis.signature) == ("too-short", 0, {})


def test_the_minimum_counts_distinct_terms() -> None:
    words = "the acorn and badger with cedar dingo ember fjord gravel heron iris jackal kestrel"
    words += " meadow nettle orchid pebble quartz"
    assert analyse(Source(text=(words,)), Recipe()).reason == "too-short"
    assert analyse(Source(text=(f"{words} " * 50,)), Recipe()).reason == "too-short"
    enough = analyse(Source(text=(f"{words} lagoon",)), Recipe())
    assert (enough.reason, enough.terms) == (None, 17)
    assert enough.signature.keys() == {"simhash", "sketch", "facts", "rest"}


@pytest.mark.parametrize("template", ["plain", "wire"])
@pytest.mark.parametrize("text", [story(11), chinese(11)], ids=["English", "Chinese"])
def test_extraction_gives_the_paragraphs_and_no_frame(template: str, text: str) -> None:
    found = extract(page(text, "A quiet day", template, links=["/tides", "/ferries"])).text
    assert normalise(found).removeprefix("a quiet day ") == normalise(text)


def test_extraction_leaves_comments_out() -> None:
    comment = "Lovely piece, my aunt kept bees on that very hill for thirty years and more."
    thread = f'<div id="comments" class="comments"><h3>Comments</h3><p>{comment}</p></div>'
    article = page(story(12))
    with_comments = article.replace("</article>", f"</article>{thread}")
    assert "aunt" in with_comments
    assert extract(with_comments).text == extract(article).text


def test_extraction_keeps_the_cells_of_tables() -> None:
    rows = "".join(
        f"<tr><td>Rowing club {at}</td><td>{at * 17} points</td></tr>" for at in range(9)
    )
    html = page(story(13)).replace("</article>", f"<table>{rows}</table></article>")
    found = extract(html).text
    assert "Rowing club 8" in found
    assert "136 points" in found


def test_six_calls_give_one_text() -> None:
    # An article that repeats itself, which is what trafilatura's own deduplication removes.
    html = page("\n\n".join([story(14)] * 3))
    assert len({extract(html).text for _ in range(6)}) == 1
    assert normalise(story(14)) in normalise(extract(html).text)


def test_a_lone_surrogate_does_not_cut_the_text() -> None:
    text = story(15)
    middle = len(text) // 2
    broken = page(f"{text[:middle]}\ud83d\0{text[middle:]}")
    assert extract(broken).text == extract(page(text)).text


def test_character_references_to_nothing_hide_no_copy(tmp_path: Path) -> None:
    html = page(story(16))
    broken = html.replace(". ", ".&#0; &#xD800;&#x110000; ").replace("a", "&#173;a", 40)
    with Deduplicator(tmp_path / "index.db") as dedup:
        assert dedup.check("https://a.example/", html=html).status == "unique"
        assert dedup.check("https://b.example/", html=broken).status == "duplicate"


@pytest.mark.parametrize(
    "html",
    [
        "",
        "<html><body></body></html>",
        '<html><head><title>Pictures</title></head><body><div class="gallery">'
        + "".join(f'<a href="/{at}"><img src="/{at}.jpg"></a>' for at in range(40))
        + "</div></body></html>",
        "<script>var text = 'only code';</script>",
    ],
    ids=["nothing", "empty body", "gallery", "script"],
)
@pytest.mark.parametrize("least", [0, 12])
def test_a_page_without_main_text_says_so(html: str, least: int) -> None:
    analysis = analyse(Source((html,)), Recipe(min_terms=least))
    assert (analysis.reason, analysis.signature) == ("no-text", {})


@pytest.mark.parametrize("levels", [300, 3000])
def test_deep_nesting_raises_nothing(levels: int) -> None:
    def nested(text: str) -> str:
        return f"<html><body>{'<div>' * levels}<p>{text}</p>{'</div>' * levels}</body></html>"

    one, other = (analyse(Source((nested(story(seed)),)), Recipe()) for seed in (17, 18))
    # Either the text is found, or there is none; a constant in its place would match.
    assert one.reason == other.reason
    assert one.reason == "no-text" or one.signature["simhash"] != other.signature["simhash"]


def test_utf8_beats_a_wrong_meta() -> None:
    html = f'<html><head><meta charset="gb2312"></head><body><p>{chinese(1)} café</p></body></html>'
    assert decode(html.encode("utf-8")) == html


def test_gbk_without_declaration_behind_much_ascii() -> None:
    head = "<script>" + "var a = 1; " * 2000 + "</script>"
    html = f"<html><head>{head}</head><body><p>{chinese(2)}</p></body></html>"
    assert decode(html.encode("gbk")) == html


def test_meta_decides_where_utf8_is_out() -> None:
    html = '<html><head><meta charset="windows-1251"></head><body>Смотритель маяка</body></html>'
    assert decode(html.encode("cp1251")) == html
    html = '<html><head><meta charset="big5"></head><body>燈塔在港口的東邊</body></html>'
    assert decode(html.encode("big5")) == html


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ],
    ids=["utf-8", "utf-16-le", "utf-16-be"],
)
def test_a_byte_order_mark_decides_and_goes(mark: bytes, encoding: str) -> None:
    html = f'<html><head><meta charset="latin-1"></head><body>{chinese(3)}</body></html>'
    assert decode(mark + html.encode(encoding)) == html


def test_western_bytes_without_declaration() -> None:
    html = "<html><body>Le gardien du phare a bu son café à l'été, déjà.</body></html>"
    assert decode(html.encode("cp1252")) == html


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\xfe\xfd",
        bytes(range(256)),
        gzip.compress(b"page", mtime=0),
        b"<meta charset=nonsense>\xe9",
    ],
)
def test_undecodable_bytes_raise_nothing(body: bytes) -> None:
    assert isinstance(decode(body), str)
    analyse(Source((decode(body),)), Recipe())


def test_declared_utf8_with_broken_bytes_keeps_the_rest() -> None:
    html = f'<html><head><meta charset="utf-8"></head><body>{chinese(4)}</body></html>'
    body = html.encode("utf-8")
    broken = decode(body.replace("。".encode(), b"\xe3\x80", 1))
    assert "\ufffd" in broken
    assert broken[-200:] == html[-200:]
