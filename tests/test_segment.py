"""Terms by script, and jieba's manners."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scrapy_simdedup import Deduplicator
from scrapy_simdedup.analysis import Recipe, Source, analyse
from scrapy_simdedup.text import segment as segment_module
from scrapy_simdedup.text.normalise import normalise
from scrapy_simdedup.text.segment import segment
from texts import chinese, story

# Content words of each script, little words between them, the end of a sentence, and what
# stands between words.
SCRIPTS = {
    "Arabic": (
        """
        سفينة ميناء بحر صياد شبكة منارة قمر رمال قرية مدرسة معلم كتاب نافذة شجرة زيتون حقل قمح
        طاحونة جسر نهر جبل ثلج راع قطيع سوق خبز ملح عسل نحلة حديقة وردة طبيب مستشفى دواء قطار
        محطة رسالة موسيقى عود شاعر قصيدة متحف
        """,
        "في من على إلى عن مع",
        ". ",
        " ",
    ),
    "Hindi": (
        """
        नाव बंदरगाह समुद्र मछुआरा जाल दीपस्तंभ चंद्रमा रेत गाँव विद्यालय शिक्षक पुस्तक खिड़की पेड़ आम खेत गेहूँ
        चक्की पुल नदी पहाड़ बर्फ़ चरवाहा झुंड बाज़ार रोटी नमक शहद मधुमक्खी बगीचा गुलाब चिकित्सक अस्पताल
        दवा रेलगाड़ी स्टेशन चिट्ठी संगीत सितार कवि कविता संग्रहालय
        """,
        "में से पर को का के",
        "। ",
        " ",
    ),
    "Russian": (
        """
        паром гавань море рыбак сеть маяк луна песок деревня школа учитель книга окно дерево яблоня
        поле пшеница мельница мост река гора снег пастух стадо рынок хлеб соль мёд пчела сад роза
        врач больница лекарство поезд вокзал письмо музыка скрипка поэт стихи музей
        """,
        "в на из под за над",
        ". ",
        " ",
    ),
    "Greek": (
        """
        πλοίο λιμάνι θάλασσα ψαράς δίχτυ φάρος φεγγάρι άμμος χωριό σχολείο δάσκαλος βιβλίο παράθυρο
        δέντρο ελιά χωράφι σιτάρι μύλος γέφυρα ποτάμι βουνό χιόνι βοσκός κοπάδι αγορά ψωμί αλάτι
        μέλι μέλισσα κήπος τριαντάφυλλο γιατρός νοσοκομείο φάρμακο τρένο σταθμός γράμμα μουσική
        βιολί ποιητής ποίημα μουσείο
        """,
        "το στη με από για και",
        ". ",
        " ",
    ),
    "Korean": (
        """
        여객선이 항구에서 바다를 어부는 그물을 등대가 달빛이 모래를 마을에 학교는 교사가 책을 창문에
        나무가 사과를 들판에 보리를 방앗간이 다리를 강물이 산에서 눈이 목동은 양떼를 시장에서 빵을
        소금이 꿀을 벌이 정원에 장미가 의사는 병원에서 약을 기차가 역에서 편지를 음악이 거문고를
        시인은 시를 박물관에
        """,
        "그 이 저 또 더 그리고",
        ". ",
        " ",
    ),
    "Thai": (
        """
        เรือข้ามฟาก ท่าเรือ ทะเล ชาวประมง ตาข่าย ประภาคาร พระจันทร์ หาดทราย หมู่บ้าน โรงเรียน ครูใหญ่ หนังสือ
        หน้าต่าง ต้นไม้ มะม่วง ทุ่งนา ข้าวเหนียว โรงสี สะพาน แม่น้ำ ภูเขา หมอกหนา คนเลี้ยงแกะ ฝูงวัว ตลาดเช้า
        ขนมปัง เกลือ น้ำผึ้ง ผึ้งงาน สวนดอกไม้ กุหลาบ แพทย์ โรงพยาบาล ยารักษา รถไฟ สถานี จดหมาย ดนตรี
        ระนาด กวีนิพนธ์ บทเพลง พิพิธภัณฑ์
        """,
        "ใน จาก บน ของ และ ที่",
        " ",
        "",
    ),
    "Japanese": (
        """
        連絡船 漁港 海辺 りょうし 網戸 灯台 月明かり
        すなはま 村役場 小学校 先生 絵本 窓枠 さくらの木 みかん
        田んぼ 小麦粉 水車小屋 石橋 川上 雪山 ひつじ飼い
        群れ 朝市 パン屋 塩田 はちみつ ミツバチ 庭園
        バラの花 医者 病院 くすり箱 機関車 駅前 手紙 音楽会 バイオリン 詩人 短歌 博物館 てぶくろ
        """,
        "は が を に の で",
        "。",
        "",
    ),
    "Lao": (
        """
        ເຮືອ ທ່າເຮືອ ແມ່ນ້ຳ ຊາວປະມົງ ຕາໜ່າງ ດວງຈັນ ຫາດຊາຍ ໝູ່ບ້ານ ໂຮງຮຽນ ນາຍຄູ ປຶ້ມອ່ານ ປ່ອງຢ້ຽມ ຕົ້ນໄມ້ ໝາກມ່ວງ
        ທົ່ງນາ ເຂົ້າໜຽວ ໂຮງສີ ຂົວຫີນ ພູເຂົາ ໝອກ ຝູງຄວາຍ ຕະຫຼາດ ເກືອ ນ້ຳເຜິ້ງ ສວນດອກໄມ້ ທ່ານໝໍ ໂຮງໝໍ ຢາ ລົດໄຟ ສະຖານີ
        """,
        "ໃນ ຈາກ ຂອງ ແລະ",
        " ",
        "",
    ),
    "Khmer": (
        """
        ទូក កំពង់ផែ សមុទ្រ អ្នកនេសាទ សំណាញ់ ព្រះចន្ទ ខ្សាច់ ភូមិ សាលារៀន គ្រូ សៀវភៅ បង្អួច ដើមឈើ ស្វាយ វាលស្រែ
        ស្រូវ ម៉ាស៊ីនកិន ស្ពាន ទន្លេ ភ្នំ អ័ព្ទ ហ្វូងគោ ផ្សារ នំប៉័ង អំបិល ទឹកឃ្មុំ សួនច្បារ គ្រូពេទ្យ មន្ទីរពេទ្យ រថភ្លើង
        """,
        "ក្នុង ពី របស់ និង",
        "។ ",
        "",
    ),
    "Burmese": (
        """
        လှေ ဆိပ်ကမ်း ပင်လယ် ငါးဖမ်းသမား ပိုက်ကွန် လမင်း သဲသောင် ရွာ ကျောင်း ဆရာမ စာအုပ် ပြတင်းပေါက် သစ်ပင် သရက်သီး
        လယ်ကွင်း ဆန်စပါး ဆန်စက် တံတား မြစ် တောင်ပေါ် မြူ နွားအုပ် ဈေး ပေါင်မုန့် ဆား ပျားရည် ပန်းခြံ ဆရာဝန် ဆေးရုံ ရထား
        """,
        "မှာ က ၏ နှင့်",
        "။ ",
        "",
    ),
}


def written(script: str, half: int, words: int = 150) -> str:
    """Return an invented text of a script, made of one half of its content words."""
    content, little, stop, gap = SCRIPTS[script]
    pick = random.Random(f"{script} {half}")
    nouns, others = content.split()[half::2], little.split()
    if script == "Arabic":
        nouns += [f"ال{noun}" for noun in nouns] + [f"وال{noun}" for noun in nouns]
    sentences = []
    for _ in range(words // 10):
        parts = [pick.choice(others if at % 3 == 2 else nouns) for at in range(10)]
        sentences.append(gap.join(parts) + stop)
    return "".join(sentences)


def python(code: str, *options: str, **environment: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *options, "-c", code],
        env={**os.environ, **{name: str(value) for name, value in environment.items()}},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def terms(text: str) -> list[str]:
    return segment(normalise(text))


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_script_has_terms(script: str) -> None:
    text = written(script, 0)
    assert len(set(terms(text))) >= 20
    assert analyse(Source(text=(text,)), Recipe()).reason is None


@pytest.mark.parametrize("script", SCRIPTS)
def test_different_texts_differ_and_a_changed_sentence_does_not_hide_a_copy(
    script: str, tmp_path: Path
) -> None:
    one, other = written(script, 0), written(script, 1)
    stop = SCRIPTS[script][2]
    changed = stop.join([*one.split(stop)[:7], other.split(stop)[0], *one.split(stop)[8:]])
    with Deduplicator(tmp_path / "index.db") as dedup:
        assert dedup.check("https://a.example/1", text=one).status == "unique"
        assert dedup.check("https://a.example/2", text=other).status == "unique"
        copy = dedup.check("https://a.example/3", text=changed)
        assert (copy.status, copy.original) == ("duplicate", "https://a.example/1")


def test_marks_stay_inside_their_words() -> None:
    assert terms("बर्फ़ की चक्की, रेलगाड़ी।") == [
        normalise(word) for word in ("बर्फ़", "की", "चक्की", "रेलगाड़ी")
    ]
    assert terms("الْبَحْرُ وَالسَّفِينَةُ") == ["الْبَحْرُ", "وَالسَّفِينَةُ"]
    assert terms("x\u0331y zz\u0331") == ["x\u0331y", "z\u1e95"]


def test_words_of_other_scripts() -> None:
    assert terms("Маяк, гавань—и 12 чаек!") == ["маяк", "гавань", "и", "12", "чаек"]
    assert terms("Ο φάρος στο λιμάνι.") == ["ο", "φάροσ", "στο", "λιμάνι"]
    assert terms("여객선이 항구에 도착했다.") == ["여객선이", "항구에", "도착했다"]
    assert terms("snake_case e-mail o'clock") == ["snake", "case", "e", "mail", "o", "clock"]


def test_scripts_without_spaces_are_cut_to_overlapping_pieces() -> None:
    assert terms("ประภาคาร") == ["ประ", "ระภ", "ะภา", "ภาค", "าคา", "คาร"]
    assert terms("灯台のあかり") == ["灯台", "のあ", "あか", "かり"]
    assert terms("ｺｰﾋｰ") == ["コー", "ーヒ", "ヒー"]
    assert terms("の") == ["の"]


def test_chinese_words_in_both_scripts() -> None:
    assert terms("图书馆旁边的气象站。") == ["图书馆", "旁边", "的", "气象站"]
    traditional = terms("圖書館旁邊的氣象站，漁民修補漁網。")
    assert "".join(traditional) == "圖書館旁邊的氣象站漁民修補漁網"
    assert len(traditional) > 5
    assert not set(traditional) & set(terms("图书馆旁边的气象站，渔民修补渔网。")) - {"的"}


def test_han_latin_and_emoji_in_one_text() -> None:
    assert terms("新版RocketStove 2.0炉子🔥卖了300台，OK👍🏽吗？") == [
        *terms("新版"),
        "rocketstove",
        "2",
        "0",
        "炉子",
        *terms("卖了"),
        "300",
        "台",
        "ok",
        "吗",
    ]


def test_a_long_run_of_han_loses_nothing() -> None:
    run = "".join(part for part in chinese(5, 900) if "\u4e00" <= part <= "\u9fff")
    assert len(run) > 3 * 4096
    assert "".join(segment(run)) == run


def test_rare_han_are_terms_too() -> None:
    # Outside the basic block, which is all that jieba's own patterns know.
    assert "".join(terms("㐀𠀀々〇")) == "㐀𠀀々〇"


# Assigned characters only: the standard library and regex know different versions of Unicode.
LATIN = st.text(
    st.one_of(
        st.characters(max_codepoint=0x2FF, exclude_categories=("Cn", "Cs")),
        st.characters(min_codepoint=0x2000, max_codepoint=0x2BFF, exclude_categories=("Cn",)),
        st.sampled_from("abc  12'-_\u20e3"),
    ),
    max_size=60,
)


@settings(max_examples=200, deadline=None)
@given(LATIN)
@example("press 1\ufe0f\u20e3 or 2\ufe0f\u20e3x")
@example("vector a\u20d7b")
@example("x\u00b2 \u2460 \u2776 \u2180 \u212a \u00aa")
def test_one_greek_word_adds_one_term_and_changes_no_other(text: str) -> None:
    assert terms(f"{text} φάρε") == [*terms(text), "φάρε"]


@pytest.mark.parametrize("before", ["ab", "灯塔ab"], ids=["Latin", "Chinese"])
def test_no_character_is_a_letter_in_one_text_and_none_in_another(before: str) -> None:
    differing = [
        f"U+{code:04X}"
        for code in (*range(0x300), *range(0x2000, 0x2C00), *range(0x3000, 0xA000))
        if unicodedata.category(chr(code)) != "Cn"
        and segment(normalise(f"{before}{chr(code)}cd φάρε"), list)[:-1]
        != segment(normalise(f"{before}{chr(code)}cd"), list)
    ]
    assert differing == []


def test_a_given_cutter_is_used_for_han_only() -> None:
    assert segment("port 灯塔在港 φάρος", cut=list) == ["port", *"灯塔在港", "φάρος"]


JIEBA_REPORT = """
import sys
from scrapy_simdedup.analysis import Recipe, Source, analyse
from scrapy_simdedup.text import chinese
for text in {texts!r}:
    assert analyse(Source(text=(text,)), Recipe()).reason is None
print(chinese.loaded(), "jieba" in sys.modules)
"""


def test_jieba_is_not_loaded_without_han() -> None:
    texts = [story(1), *(written(script, 0) for script in SCRIPTS if script != "Japanese")]
    ran = python(JIEBA_REPORT.format(texts=texts))
    assert (ran.stdout, ran.stderr) == ("False False\n", "")


# rjieba, where it is installed, would answer in jieba's place.
LOAD = """
import logging, sys, warnings
sys.modules["rjieba"] = None
from scrapy_simdedup.text import chinese
from scrapy_simdedup.text.segment import segment
assert segment("图书馆旁边的气象站") == ["图书馆", "旁边", "的", "气象站"]
assert chinese.loaded()
"""


def test_loading_jieba_is_silent_and_private(tmp_path: Path) -> None:
    shared, cache = tmp_path / "shared", tmp_path / "cache" / "deep"
    shared.mkdir()
    # A fresh place for byte code: SyntaxWarnings come when jieba's files are compiled.
    ran = python(
        LOAD,
        "-W",
        "error",
        SIMDEDUP_CACHE=cache,
        TMPDIR=shared,
        PYTHONPYCACHEPREFIX=tmp_path / "code",
    )
    assert (ran.stdout, ran.stderr, ran.returncode) == ("", "", 0)
    assert list(shared.iterdir()) == []
    assert cache.stat().st_mode & 0o777 == 0o700
    assert [found.name for found in cache.iterdir()] == ["jieba.cache"]
    assert (cache / "jieba.cache").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_a_cache_folder_that_others_can_write_to_is_not_used(tmp_path: Path, mode: int) -> None:
    shared, cache = tmp_path / "shared", tmp_path / "cache"
    shared.mkdir()
    cache.mkdir()
    cache.chmod(mode)
    # Loading this as a marshal file would fail loudly, or run what a stranger planted.
    (cache / "jieba.cache").write_bytes(b"planted")
    ran = python(LOAD, SIMDEDUP_CACHE=cache, TMPDIR=shared)
    assert (ran.stdout, ran.stderr, ran.returncode) == ("", "", 0)
    assert (cache / "jieba.cache").read_bytes() == b"planted"
    assert list(shared.iterdir()) == []


def test_works_where_no_cache_folder_can_be_made(tmp_path: Path) -> None:
    shared, blocked = tmp_path / "shared", tmp_path / "file"
    shared.mkdir()
    blocked.write_text("in the way")
    ran = python(LOAD, SIMDEDUP_CACHE=blocked / "cache", TMPDIR=shared)
    assert (ran.stdout, ran.stderr, ran.returncode) == ("", "", 0)
    assert list(shared.iterdir()) == []


def test_a_planted_file_in_the_shared_folder_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "jieba.cache").write_bytes(b"planted")
    ran = python(LOAD, SIMDEDUP_CACHE=tmp_path / "cache", TMPDIR=tmp_path)
    assert (ran.stdout, ran.stderr, ran.returncode) == ("", "", 0)
    assert (tmp_path / "jieba.cache").read_bytes() == b"planted"


THREADS = """
import threading
from scrapy_simdedup.text import chinese
texts = {texts!r}
barrier = threading.Barrier(8)
found = []
def work():
    barrier.wait()
    found.append([chinese.cut(text) for text in texts])
threads = [threading.Thread(target=work) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert len(found) == 8
assert all(one == found[0] for one in found)
assert found[0] == [chinese.cut(text) for text in texts]
assert max(map(len, found[0][0])) > 1
"""


def test_first_use_from_eight_threads_gives_the_same_terms(tmp_path: Path) -> None:
    code = THREADS.format(texts=[chinese(seed) for seed in range(3)])
    ran = python(code, SIMDEDUP_CACHE=tmp_path)
    assert (ran.stdout, ran.stderr, ran.returncode) == ("", "", 0)


@given(
    st.text(
        st.one_of(
            st.characters(max_codepoint=0x2FF),
            st.characters(min_codepoint=0x2000, max_codepoint=0x2BFF),
            st.characters(min_codepoint=0x3000, max_codepoint=0x9FFF),
            st.sampled_from("’“”—…€ µ²ßéœłðþ_灯塔，。々〆〇"),
        ),
        max_size=60,
    )
)
@settings(max_examples=1000, deadline=None)
def test_the_faster_ways_find_the_same_words(text: str) -> None:
    text = normalise(text)
    words = [match.group() for match in segment_module._RUN.finditer(text)]
    if segment_module._BEYOND_LATIN.search(text) is None:
        assert segment(text) == words
    if segment_module._BEYOND_CHINESE.search(text) is None:
        assert segment(text, lambda run: [run]) == words
    if segment_module._BEYOND_WESTERN.search(text) is None:
        assert segment_module._LATIN_WORD.findall(text) == words


def test_the_faster_ways_leave_out_no_letter() -> None:
    """Every character that they are used for, in a word and by itself."""
    plain = [chr(code) for code in range(0x20000) if normalise(chr(code)) == chr(code)]
    for beyond in ("_BEYOND_LATIN", "_BEYOND_CHINESE", "_BEYOND_WESTERN"):
        pattern = getattr(segment_module, beyond)
        text = " ".join(f"a{one}b {one}" for one in plain if pattern.search(one) is None)
        words = [match.group() for match in segment_module._RUN.finditer(text)]
        assert len(words) > 500
        assert segment(text, lambda run: [run]) == words
