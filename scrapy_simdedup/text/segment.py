"""Text to terms, by script: jieba for Han, Unicode words elsewhere, n-grams without spaces.

Han runs are cut by jieba with the HMM off (its answer then depends on the dictionary alone).
Kana, Thai, Lao, Khmer and Burmese are written without spaces and become character n-grams.
Everything else is a word: a run of letters, marks and digits as Unicode classes them, so that
no script comes out empty (an a-z tokenizer calls all Arabic or Chinese texts equal).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import regex

from scrapy_simdedup.text import chinese

# Pictures: no letter, mark or digit is among them.
_EMOJI = r"\U0001f300-\U0001faff"
# Latin text, the usual punctuation and signs included, has no marks and no script of its own
# rules: there the standard library's faster engine finds the same words.
_LATIN = rf"\x00-\u02ff\u2000-\u208e\u2090-\u209c\u20a0-\u20cf\u2100-\u2bff{_EMOJI}"
_BEYOND_LATIN = re.compile(f"[^{_LATIN}]")
_LATIN_WORD = re.compile(r"[^\W_]+")
# Western languages need no other letters than Latin-1 has, and no other signs than these; there
# it is faster still to blank out what is no word.
_SIGNS = r"\u2010-\u2027\u2030-\u205e\u20a0-\u20bf\u2190-\u245f\u2500-\u2775\u2794-\u2bff"
_BEYOND_WESTERN = re.compile(rf"[^\x00-\xff{_SIGNS}{_EMOJI}]")
_WORDS_ONLY = bytes(code if chr(code).isalnum() else 0x20 for code in range(256))
# Chinese with such signs and words in it has no other marks and scripts either.
_BEYOND_CHINESE = re.compile(rf"[^{_LATIN}\u3000-\u3004\u3008-\u3020\u4e00-\u9fff]")
_CHINESE_RUN = re.compile(r"([\u4e00-\u9fff]+)|([^\W_\u4e00-\u9fff]+)")
_RUN = regex.compile(
    r"(?P<han>\p{Han}+)"
    r"|(?P<kana>[\p{Hiragana}\p{Katakana}ー]+)"
    r"|(?P<seasian>[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]+)"
    r"|(?P<word>[[\p{L}\p{M}\p{N}]"
    r"--[\p{Han}\p{Hiragana}\p{Katakana}ー\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]]+)",
    flags=regex.VERSION1,
)

# Kana stands between kanji in runs of one to four characters; the others run on for sentences.
_KANA_GRAM = 2
_SEASIAN_GRAM = 3


def _grams(run: str, size: int) -> Iterator[str]:
    if len(run) <= size:
        yield run
    else:
        yield from (run[at : at + size] for at in range(len(run) - size + 1))


def segment(text: str, cut: Callable[[str], list[str]] | None = None) -> list[str]:
    """Return the terms of a normalised text, in reading order, repetitions included.

    ``cut`` segments a run of Han characters; by default jieba's own dictionary does, which is
    loaded when the first such run comes.
    """
    if _BEYOND_WESTERN.search(text) is None:
        # What Latin-1 lacks is a sign, and becomes a question mark, which is another.
        return text.encode("latin-1", "replace").translate(_WORDS_ONLY).decode("latin-1").split()
    if _BEYOND_LATIN.search(text) is None:
        return _LATIN_WORD.findall(text)
    cut = cut or chinese.cut
    terms: list[str] = []
    if _BEYOND_CHINESE.search(text) is None:
        for run, word in _CHINESE_RUN.findall(text):
            if run:
                terms += cut(run)
            else:
                terms.append(word)
        return terms
    for match in _RUN.finditer(text):
        run = match.group()
        kind = match.lastgroup
        if kind == "word":
            terms.append(run)
        elif kind == "han":
            terms.extend(cut(run))
        else:
            terms.extend(_grams(run, _KANA_GRAM if kind == "kana" else _SEASIAN_GRAM))
    return terms
