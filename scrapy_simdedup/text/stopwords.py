"""Words that say nothing about a text: jusText's lists for a hundred languages, ours for Chinese.

The language of a text is the list that knows most of its distinct words; no detector, no
model. Near-duplicates share nearly all their words, hence their list.
"""

from __future__ import annotations

import pkgutil
from collections import defaultdict
from collections.abc import Collection
from functools import lru_cache

import numpy as np
import xxhash

from scrapy_simdedup.text.normalise import normalise

# Function words of Chinese in both scripts, as jieba cuts them; jusText has no Chinese list.
_CHINESE = frozenset(
    normalise(
        """
        的 了 和 是 在 也 就 都 而 及 与 着 或 之 于 以 其 为 被 把 让
        向 从 对 由 到 将 但 并 等 又 很 还 更 最 再 才 只 不 没 没有 有
        这 那 该 此 我 你 他 她 它 我们 你们 他们 她们 它们 自己 这个 那个
        这些 那些 这样 那样 这里 那里 什么 怎么 如何 哪 谁 一个 一些 一种 每
        各 某 个 们 地 得 吗 呢 吧 啊 呀 所 如 若 则 因 因为 所以 如果
        虽然 但是 而且 并且 以及 或者 然后 可以 可 能 会 要 应 应该 已 已经
        曾 正在 上 下 中 里 后 前 时 内 外 间 来 去 说 做 使 给 用 比 跟
        同 按 通过 根据 关于 对于 由于 之后 之前 其中 其他 另外 同时 还是 就是
        不是 也是 都是 虽 且 即 却 乃 與 於 為 讓 從 對 將 並 還 沒 沒有
        這 該 妳 牠 我們 你們 他們 她們 它們 這個 那個 這些 這樣 這裡 那裡
        什麼 怎麼 誰 一個 一種 個 們 嗎 裡 後 時 內 間 來 說 給 過 雖 雖然
        則 因為 會 應 應該 已經 通過 根據 關於 對於 由於 之後 同時 還是
        """
    ).split()
)


# jusText's lists run from the most frequent word on, to 400 words or to 13,000; so many of each
# are function words, and languages are treated alike.
_LONGEST_LIST = 200


def _languages() -> list[str]:
    import justext

    # One list a language: the two English lists would otherwise share the vote.
    return sorted(justext.get_stoplists() - {"Simple_English"})


@lru_cache(maxsize=1)
def _files() -> dict[str, bytes]:
    return {
        language: pkgutil.get_data("justext", f"stoplists/{language}.txt") or b""
        for language in _languages()
    }


@lru_cache(maxsize=1)
def digest() -> str:
    """Return the digest of all lists: they shape every fingerprint, so an index records it."""
    state = xxhash.xxh3_64(" ".join(sorted(_CHINESE)).encode())
    for language, data in _files().items():
        state.update(language.encode())
        state.update(data)
    return state.hexdigest()


# Votes are counted in one sum of integers, a lane of so many bits for each language: more than
# all lists together have words.
_LANE = 16


@lru_cache(maxsize=1)
def _table() -> tuple[dict[str, int], list[frozenset[str]]]:
    """Return the votes of each word, and the lists."""
    votes: defaultdict[str, int] = defaultdict(int)
    lists = []
    for number, data in enumerate(_files().values()):
        words = frozenset(map(normalise, data.decode("utf-8").splitlines()[:_LONGEST_LIST]))
        lists.append(words)
        for word in words:
            votes[word] |= 1 << (_LANE * number)
    # They have no vote: their script is no other language's.
    return {**dict.fromkeys(_CHINESE, 0), **votes}, lists


def stop_words(words: Collection[str]) -> frozenset[str]:
    """Return the stop words among the distinct ``words`` of a text."""
    votes, lists = _table()
    known = votes.keys() & words
    total = sum(map(votes.__getitem__, known))
    found = _CHINESE & known
    if total:
        lanes = total.to_bytes(_LANE // 8 * len(lists), "little")
        # The most votes; of equal ones the language that comes first in the alphabet.
        best = int(np.argmax(np.frombuffer(lanes, dtype="<u2")))
        found |= lists[best] & known
    return found
