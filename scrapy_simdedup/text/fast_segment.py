"""rjieba in place of jieba: the same dictionary and the same answers, from Rust.

It is used where it is installed and its answers are those of jieba, which is found out when it
is loaded; nothing that is stored depends on which of the two has cut a text.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

logger = logging.getLogger(__name__)

Cut = Callable[[str], list[str]]

# The XXH3-64 of the one dict.txt that both have.
_DICTIONARY = "2270ae757ed7d697"

# jieba adds up the frequencies of the lines, in which one word comes twice with a 3, rjieba those
# of the words. With another total, cuts that are equally likely would be told apart otherwise.
_TWICE = ("B超", 6, "n")

# So many of a user's words are cut to see whether rjieba does it as jieba does.
_TRIED = 1000

# jieba's own block of Han characters, and any other character, which is a term of its own. rjieba
# knows a larger block, and rounds its sums otherwise where the others stand in it too.
_BLOCK = re.compile("[\u4e00-\u9fd5]+|.", re.DOTALL)
_ALL_IN_BLOCK = re.compile("[\u4e00-\u9fd5]+")

# Made-up runs, cut as jieba does: everyday ones, ambiguous ones, traditional and rare characters,
# and words at random, long enough that another total of the frequencies shows.
_PROBES = """
图书馆 旁边 的 气象站 / 渔民 修补 漁 網 / 圖 書 館 旁 邊 的 氣 象 站
/ 老 木匠 把 竹椅 搬走 了 / 研究 生命 的 起源 / 南京市 长江大桥 / 乒乓球 拍卖 完 了
/ 他 说 的 确实 在 理 / 结婚 的 和 尚未 结婚 的 / 下雨天 留客 天 留 我 不留
/ 从 小学 到 大学 / 工程师 来到 北京大学 / 长春市 长春 药店 / 人民法院 宣判 / 发展中国家
/ 不知不觉 中 国家 强大 了 / 一九九八年 三月 二十一日 / 百分之七十五 / 成都市 武侯区
/ 小 明 硕士 毕业 于 中国科学院 / 今天天气 真不错 / 我们 在 野生 动物园 玩
/ 已经 取得 文凭 的 和 尚未 取得 文凭 的 / 这样 的 人才 能 经受 住 考验
/ 大 學 生活 動 中心 / 臺 灣 東 部 的 鐵 路 / 後 來 他 們 都 離 開 了
/ 計 算 機 軟 體 / 麵 包 店 裡 的 師 傅 / 繁 體 中文 與 簡 體 中文
/ 學 校 食堂 裏 的 菜 / 鼱 鼲 鼴 / 龘 靐 齉 / 饕餮 大餐 / 魑魅魍魉 / 彳亍 而 行
/ 犇 羴 鱻 / 的 的 的 的 的 / 一一二 二三 三 / 之乎者也 / 青花瓷 瓶 / 打磨 得 很 光滑
/ 钥匙 串 / 养蜂人 收集 蜂箱 / 考古学家 鉴定 化石 / 他 把 手机 放在 桌上 / 护林员 守护 林场
/ 石桥 下面 有 一条 运河 / 马上 就要 立冬 了
/ 公臣 公 单极子 宫腔 加升汝 岂知 娜 娜娜 整倍体 温计 报 分 数百万人次 百分之十 余 点 一百七十多
枝 施特德 沃拉 应 给 于观津 切 不 切 剪剪 剪 大 团 购车族 盛 时 西亚诺 相吻合 不 着
/ 读破 读图 位 图 丁烯二 百步 克特西 金堂 二百三十五 十二文 冲冲水 疱 斯 塔贝斯 通扬水 泥工
梅赛德斯 帕克斯 窝里反 转 来 斯拉法 制报 海联 海 靠傍 靠 细雨濛濛 细雨 各 年 次递归性
/ 景阳宫 里 来 调琴 调 进退应对 进退 赤光 赤 女校长 山核桃 西 至 洪博里 政策方针 政策 间歇热
喀斯特 进帐单 纯林 九十多个 字 元 维埃利 伯河 特尼特 攻队 内阿尔斯 特拉特 熟荒地 温表 刚刚 刚
/ 一九二九 百 本 真田广 协济 巴利巴 尔特 求教 于豫州 朝西北 爱 党 追 到 手牵手 忙忙乱乱 腾腾 里
里 里 武东和 瑟斯 高 气 压型板 新体验 收 人 中 气 不足之处 二百五十 廿年 瓦尔卡 里基 军营区 宇
/ 一千五百余处 分 法 奉天省长 线天线 里 色 奥卡河 奥塞罗特 攻队 卧槽马 士著 絮絮 絮 套套 套
联系业务 联系国 中 生发水 粗毛布 斯塔尼 疯疯 疯 多虑平 方 里 番红花 纹板 吹头发 送机 国 一
生双靥
"""


@dataclass(frozen=True)
class Words:
    """Words of a user on top of jieba's dictionary, and how jieba cuts with them.

    ``frequencies`` are those that the words have in jieba's tokenizer by now; its total has grown
    by ``surplus`` more than the frequencies have.
    """

    frequencies: Mapping[str, int]
    surplus: int
    cut: Callable[[str], Iterable[str]]


def load(dictionary: str, words: Words | None = None) -> Cut | None:
    """Return a cutter that answers as jieba does with the HMM off, for runs of Han characters.

    None where rjieba is not installed, where it cannot take the ``words`` of a user, and, with a
    warning, where it would answer otherwise: another version of it may, and so would jieba with
    a ``dictionary`` of another digest.
    """
    try:
        import rjieba
    except ImportError:
        return None
    if words and not all(words.frequencies.values()):
        # To rjieba a word of frequency 0 is still a word.
        return None
    if dictionary != _DICTIONARY:
        logger.warning("rjieba is not used: jieba has another dictionary")
        return None
    try:
        # An own one: to the module's functions, others may add their words.
        own = rjieba.Jieba()
        own.add_word(*_TWICE)
        cut = _cutter(own.cut)
        same = all(cut("".join(terms)) == terms for terms in probes())
        if words:
            same = same and _add(own, words, cut)
    except Exception as error:
        logger.warning("rjieba is not used: %s: %s", type(error).__name__, error)
        return None
    if not same:
        logger.warning("rjieba is not used: this version cuts Chinese otherwise than jieba")
        return None
    return cut


def _add(own: Any, words: Words, cut: Cut) -> bool:
    """Add the words of a user; tell whether they are cut as jieba does."""
    for word, frequency in words.frequencies.items():
        own.add_word(word, frequency, "")
    # A word that no run has makes up for the rest of the total.
    word, frequency, tag = _TWICE
    own.add_word(word, frequency + words.surplus, tag)
    return all(cut(word) == list(words.cut(word)) for word in islice(words.frequencies, _TRIED))


def probes() -> list[list[str]]:
    """Return the runs that rjieba must cut like this, each as its terms."""
    return [probe.split() for probe in _PROBES.split("/")]


def _cutter(cut_block: Callable[..., list[str]]) -> Cut:
    def cut(run: str) -> list[str]:
        if _ALL_IN_BLOCK.fullmatch(run):
            return cut_block(run, hmm=False)
        terms: list[str] = []
        for block in _BLOCK.findall(run):
            if _ALL_IN_BLOCK.match(block):
                terms.extend(cut_block(block, hmm=False))
            else:
                terms.append(block)
        return terms

    return cut
