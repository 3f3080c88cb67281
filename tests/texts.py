"""Invented articles and pages for the tests; the same seed always gives the same text."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from html import escape

_WORDS = """
acorn actor address adult advice afternoon agency agent airport album alley almond amateur anchor
angle ankle anthem apple apron arch archive area armour army arrow artist aspect athlete attic
auction author autumn avenue award axle bakery balance balcony ballad bamboo banana band bank
barber bargain barley barn barrel basin basket battery beach beacon beak bean bear beard bed bee
beetle bell belt bench berry bicycle bird biscuit blanket blossom board boat bonus book boot border
bottle bowl box branch brass bread breeze brick bridge broom brother bucket budget buffalo builder
bulb bundle burner bus butcher butter button cabbage cabin cable cactus cake calendar camel camera
camp canal candle candy canoe canvas canyon captain caravan carbon card cargo carpet carrot cart
castle catalogue cathedral cattle cave cedar ceiling cellar cement century cereal chain chair
chalk chamber channel chapel chapter charcoal charter cheese chef cherry chess chicken chief
chimney choir cider cinema circle citizen clarinet class clay clerk cliff clinic clock cloth cloud
clover club coach coal coast coat cobbler coffee coin collar college colony column comet compass
concert copper coral corner cottage cotton council counter country couple court cousin cradle
crane crater crew cricket crop crown crystal cupboard curtain cushion customer cyclist dairy dam
dance daughter dawn dealer debate decade deck deer delta dentist deposit desert desk diary diesel
dinner diploma district doctor dolphin donkey door dragon drawer dress drill driver drum duck dune
dust eagle earth echo editor eel egg elbow election elephant elm embassy emperor engine engineer
envelope error estate evening exam exhibit expert fabric factory falcon family farmer farmhouse
father feather fence fern ferry festival fiddle field figure filter finger fire fisher flag flame
flask fleet flood floor flour flower flute foal fog forest forge fork fortress fossil fountain fox
frame freight frog frost fruit funnel furnace galaxy gallery garage garden garlic gate gazette
geese geologist ginger giraffe glacier glass glider glove goat gold gorge granite grape graph grass
gravel guest guide guitar gull gutter gym hail hall hammer harbour harp harvest hawk hay hazel
heater hedge helmet herb hero heron hill hinge history hobby holiday honey hood hook horizon
horse hospital hotel hour hunter hut ice inch ink inn insect institute island ivory ivy jacket jam
jar jeweller journal journey judge jug juice jungle jury kayak kettle key kidney king kiosk kitchen
kite knee knife knight knot label laboratory ladder lagoon lake lamb lamp lane lantern lawn lawyer
leaf leather lecture lemon lens letter lever library lid lighthouse lily lime linen lion liquid
lizard loaf lobby lobster lock locomotive lodge log lorry lunch lute machine magnet maize mallet
manor mansion manuscript map maple marble market marsh mason mast mat mayor meadow medal medicine
melody melon member memorial menu merchant metal meteor metre mile milk mill miner mineral minister
mint mirror mole monastery monk monkey monument moor moose mosaic moss moth mother motor mountain
mouse mud mule muscle museum mushroom musician mustard nail nation needle neighbour nephew nest net
nettle nickel niece north notebook novel nurse nut oak oar oasis oats ocean officer olive onion
opera orange orbit orchard orchestra organ otter oven owl ox oyster paddle painter palace palm pan
panel paper parade parcel parish park parrot partner pasture path patient pavement peach pear
pebble pedal pelican pencil pepper petal petrol pharmacy piano pier pigeon pilgrim pillow pilot
pine pipe pitch planet plank plaster plate platform plough plum pocket poem poet pole pond pony
porch portrait postcard potato potter powder prairie prince printer prison prize professor propeller
puddle pump pupil puppet puzzle quarry quartz queen quilt rabbit raft railway rain ranch raven razor
reader reef refuge reservoir restaurant ribbon rice ring river road robin rocket roof rope rose
route rubber ruin sack saddle sailor salad salmon salt sand satellite sauce sausage scale scarf
scholar school scissors sculptor sea seal season senator shed sheep shelf shell shepherd shield
shirt shoe shop shore shovel signal silk silver singer sister skater slate sledge slope smoke snail
snake snow soap soil soldier song soup south spade spice spider spoon spring square squirrel stable
stadium stage staircase stamp station statue steam steel stone stork storm stove straw stream
street student studio sugar suitcase summer surgeon swan table tailor tank teacher temple tent
theatre thread thunder ticket tiger timber tin tobacco tomato tool tower toy tractor trader train
tram treaty trumpet tunnel turbine turtle twig uncle uniform valley van vase vessel veteran village
vine violin visitor volcano voyage wagon waiter wall walnut warehouse water wave weaver wharf wheat
wheel whistle widow willow window winter wire witness wolf wood wool workshop yacht yard zebra
"""

VOCABULARY: tuple[str, ...] = tuple(dict.fromkeys(_WORDS.split()))

_LITTLE_WORDS = """
the the the a a of of to to and in in that was for with as it on by from at which but had were
when after before they their this into over one all not
"""
_FUNCTION = tuple(_LITTLE_WORDS.split())


def story(seed: int, words: int = 220) -> str:
    """Return an invented English-like article; texts of two seeds are unrelated."""
    pick = random.Random(f"story {seed}")
    subset = pick.sample(VOCABULARY, 90)
    paragraphs: list[str] = []
    sentences: list[str] = []
    wanted = pick.randint(3, 5)
    written = 0
    while written < words:
        length = min(pick.randint(8, 18), max(8, words - written))
        # Function words between content words, as in English about half and half.
        sentence = [
            pick.choice(subset if at % 2 or pick.random() < 0.25 else _FUNCTION)
            for at in range(length)
        ]
        written += length
        sentences.append(" ".join(sentence).capitalize() + ".")
        if len(sentences) == wanted:
            paragraphs.append(" ".join(sentences))
            sentences, wanted = [], pick.randint(3, 5)
    if sentences:
        paragraphs.append(" ".join(sentences))
    return "\n\n".join(paragraphs)


_PLAIN = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>{title} | The Harrow Gazette</title>
<meta name="description" content="News from Harrow and around"></head>
<body>
<div id="cookie-consent" class="cookie-banner" role="dialog">
We use cookies. <button>Fine</button></div>
<header><a class="logo" href="/">The Harrow Gazette</a>
<nav class="menu"><ul><li><a href="/">Home</a></li>
<li><a href="/sport">Sport</a></li>{links}</ul></nav>
</header>
<main>
<article>
<h1>{title}</h1>
{paragraphs}
</article>
</main>
<aside class="sidebar"><h2>Most read</h2><ul>
<li><a href="/most-read/1">Ten walks for a wet day</a></li>
<li><a href="/most-read/2">Who won the prize</a></li></ul></aside>
<footer><p>&copy; The Harrow Gazette</p><a href="/imprint">Imprint</a>
<a href="/privacy">Privacy</a></footer>
{extra}</body>
</html>
"""

_WIRE = """<!DOCTYPE html>
<html>
<head><title>Wirepost - {title}</title><meta charset="utf-8">
<link rel="stylesheet" href="/w.css"></head>
<body class="layout-two">
<div class="topbar"><ul class="nav navbar"><li><a href="/index">Latest</a></li>
<li><a href="/regions">Regions</a></li><li><a href="/login">Log in</a></li>{links}</ul></div>
<div class="page-wrapper">
<div class="left-col sidebar"><div class="widget"><a href="/subscribe">Subscribe</a></div>
<div class="widget"><a href="/app">Get the app</a></div></div>
<div class="content"><div class="story-body" id="content">
{paragraphs}
</div>
<div class="share-buttons"><a href="#">Share</a> <a href="#">Print</a></div>
</div>
</div>
<div class="footer"><span>Wirepost Media Group</span> <a href="/terms">Terms of use</a></div>
<div class="cookie-notice">
<span>This site stores cookies.</span> <a href="/cookies">Settings</a></div>
{extra}</body>
</html>
"""

_TEMPLATES = {"plain": _PLAIN, "wire": _WIRE}


def page(
    text: str,
    title: str = "Story",
    template: str = "plain",
    links: Sequence[str] = (),
    extra: str = "",
) -> str:
    """Wrap the paragraphs of a text in an HTML page of one of two sites."""
    return _TEMPLATES[template].format(
        title=escape(title),
        links="".join(f'<li><a href="{escape(link)}">{escape(link)}</a></li>' for link in links),
        paragraphs="\n".join(f"<p>{escape(part)}</p>" for part in text.split("\n\n")),
        extra=extra,
    )


# Subjects, objects, places, times, verbs and qualities, in this order.
_CHINESE_WORDS = """
老木匠 图书馆 女船长 茶农 地质队 小学教师 修表师傅 面包店 植物园 气象站 渔民
编辑部 合唱团 登山队 牧羊人 博物馆 邮递员 农科院 消防队 陶瓷厂 画家 棋手 天文台
果园主人 志愿者 乐器行 裁缝 养蜂人 考古学家 公交司机 护林员 钢琴家 工程师 药剂师
摄影师 导游 火车站 旧书店 石匠 厨师

竹椅 地图 望远镜 稻种 青花瓶 旧相册 蜂箱 手稿 铜钟 渔网 水渠 石桥 灯塔 梯田
风车 油画 琴弦 化石 帐篷 航线 档案 药方 菜谱 剧本 花圃 屋顶 水库 船帆 木偶
壁画 年历 信件 雨伞 钥匙 羊毛 纸鸢 苹果树 天平 罗盘 车轮 砖窑 茶壶 棉花 笔记
雕像 木门 井台 磨坊 旗帜 乐谱

河边 山谷 北门 码头 旧城区 西郊 海岛 湖畔 高原 南街 码头仓库 林场 盆地 桥头
小镇 车站广场 果园 沙洲 工业园 半山腰 郊外 古渡口 雪线附近 渔港 东湖 老巷子 草原
运河沿岸 采石场 钟楼下

清晨 去年秋天 上个月 十年前 周末 雨季 黄昏 新年第一天 五月初 深夜 暑假 立冬那天
春分前后 昨天下午 三十年来 腊月 中秋过后 上世纪末 麦收时节 停电的晚上

修补 搬走 绘制 收集 寻找 重建 展出 称量 清洗 出售 借阅 描写 挖掘 测量 涂刷
悬挂 保存 运送 拍摄 嫁接 鉴定 打磨 包装 捐赠 编号 翻译 改造 守护 拆除 晾晒

安静 热闹 缓慢 陌生 温暖 潮湿 明亮 古怪 结实 轻巧 昂贵 朴素 危险 顺利 孤单
甜美 粗糙 遥远 忙碌 整齐 漫长 罕见
"""
_STOCK = {
    kind: words.split() for kind, words in zip("soptvq", _CHINESE_WORDS.split("\n\n"), strict=True)
}
_ALL_CHINESE = tuple(word for words in _STOCK.values() for word in words)
_WORD = re.compile(r"[\u4e00-\u9fff]{1,2}|[^\W\u4e00-\u9fff]+")
_PATTERNS = (
    "{t}，{s}在{p}{v}{o}，场面十分{q}。",
    "{s}说，{o}和{o2}一样{q}，谁也不愿意{v}。",
    "据{s}回忆，{p}曾经堆满{o}，后来有人来{v}。",
    "为了{v}{o}，{s}走遍{p}，一路{q}。",
    "{p}的{o}越来越{q}，{s}决定{t}动手{v}。",
    "没有人想到{o}会出现在{p}，连{s}也觉得{q}。",
    "{t}的{p}格外{q}，{s}把{o}交给{s2}{v}。",
    "{s}与{s2}商量三次，终于同意{v}{o2}旁边的{o}。",
    "这件事并不{q}：先{v}{o}，再请{s}到{p}检查{o2}。",
    "孩子们围着{o}，听{s}讲{p}如何变得{q}。",
    "如果{o}损坏，{s}就得重新{v}，费用由{s2}承担。",
    "从{p}望去，{o}显得{q}，{s2}因此改变主意。",
    "{s2}写信给{s}，询问{o}能否在{t}{v}。",
    "{q}的一天过去，{s}留在{p}继续{v}{o2}。",
)


def chinese(seed: int, sentences: int = 14) -> str:
    """Return an invented Chinese article; texts of two seeds are unrelated."""
    pick = random.Random(f"chinese {seed}")
    sizes = {"s": 8, "o": 12, "p": 7, "t": 5, "v": 9, "q": 7}
    stock = {kind: pick.sample(_STOCK[kind], size) for kind, size in sizes.items()}
    written = []
    for at in range(sentences):
        pattern = _PATTERNS[pick.randrange(len(_PATTERNS))]
        words = {kind: pick.choice(stock[kind]) for kind in "ptvq"}
        words["s"], words["s2"] = pick.sample(stock["s"], 2)
        words["o"], words["o2"] = pick.sample(stock["o"], 2)
        written.append(pattern.format(**words) + ("\n\n" if at % 4 == 3 else ""))
    return "".join(written).strip()


def reworded(text: str, share: float, seed: int = 1) -> str:
    """Return the text with that share of its words replaced by others; two Han are a word."""
    pick = random.Random(f"reworded {seed}")
    places = [match.span() for match in _WORD.finditer(text)]
    for start, end in sorted(pick.sample(places, round(share * len(places))), reverse=True):
        old = text[start:end]
        new = old.lower()
        while new == old.lower():
            new = pick.choice(VOCABULARY if old.isascii() else _ALL_CHINESE)
        text = text[:start] + new + text[end:]
    return text
