"""Every setting once: name, default, what it takes, and what it means."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any

from scrapy_simdedup import item_rules, parse
from scrapy_simdedup.exceptions import ConfigError
from scrapy_simdedup.index.bands import farthest
from scrapy_simdedup.index.redis.address import is_address, masked
from scrapy_simdedup.methods import METHODS
from scrapy_simdedup.methods.base import Limits
from scrapy_simdedup.methods.simhash import Simhash
from scrapy_simdedup.text.document import Shape
from scrapy_simdedup.text.user_dict import UserDict

PREFIX = "SIMDEDUP_"


def _setting(
    default: Any,
    read: Callable[[Any], Any],
    takes: str,
    meaning: str,
    *,
    request: bool = False,
    secret: bool = False,
) -> Any:
    """Declare a setting; ``request`` ones can be overridden in ``meta["simdedup"]``.

    ``default`` is as a user would write it; ``read`` turns that into the field's value and
    raises ValueError or TypeError where it cannot. A ``secret`` is not shown with the others.
    """
    return field(
        default=read(default),
        repr=not secret,
        metadata={
            "default": default,
            "read": read,
            "takes": takes,
            "meaning": meaning,
            "request": request,
        },
    )


@dataclass(frozen=True)
class Config:
    """All ``SIMDEDUP_`` settings, checked. Field ``max_distance`` is ``SIMDEDUP_MAX_DISTANCE``."""

    enabled: bool = _setting(True, parse.boolean, "a boolean", "Switches everything on or off.")
    index: str = _setting(
        ".scrapy/simdedup/%(spider)s.db",
        parse.index_place,
        "a file path, or the address of a Redis server:"
        " `redis://USER:PASSWORD@HOST:PORT/DB?prefix=NAME`, also `rediss://`",
        "The index. A relative path lies under `.scrapy/simdedup` of the project; `%(spider)s` is"
        " the spider's name. Spiders that name one file, or one server and prefix, share it.",
        secret=True,
    )
    action: str = _setting(
        "tag",
        parse.one_of("tag", "drop-items", "drop"),
        "`tag`, `drop-items` or `drop`",
        "What happens to a duplicate page.",
        request=True,
    )
    callbacks: tuple[str, ...] = _setting(
        [],
        parse.names,
        "a list of callback names",
        "The spider callbacks whose responses are judged; empty: all of them.",
    )
    item_fields: item_rules.ItemRules = _setting(
        {},
        item_rules.read,
        'a dict: `{"html": FIELD}` or `{"text": FIELD or [FIELDS], "key": FIELD}`, or one such'
        " dict for each item class path",
        "Which items are judged by their own content.",
    )
    item_action: str = _setting(
        "drop",
        parse.one_of("drop", "tag"),
        "`drop` or `tag`",
        "What happens to a duplicate item that is judged by its own content.",
    )
    tag_field: str = _setting(
        "",
        parse.string,
        "a field name",
        "The item field that receives the verdict as a dict (None when unique or not judged);"
        " empty: none.",
    )
    methods: tuple[str, ...] = _setting(
        ["simhash", "sketch"],
        parse.methods,
        "a list of `simhash`, `sketch`, `piecewise`, `keywords-1` to `keywords-5`, `keywords`"
        " (all five) and `classic`",
        "A page is a duplicate when any of these methods says so.",
    )
    max_distance: tuple[tuple[int, int], ...] = _setting(
        3,
        parse.distances,
        "0 to 64 bits, or a list of (minimum distinct terms, bits)",
        "How many bits two simhashes may differ in.",
        request=True,
    )
    min_resemblance: float = _setting(
        0.3,
        parse.share,
        "0 to 1",
        "How alike the two texts must be at least, as sets of shingles; 0 switches it off.",
        request=True,
    )
    min_containment: float = _setting(
        0.35,
        parse.share,
        "0 to 1",
        "How much of the new text must be in the kept one, and something of all but two of its"
        " eight parts; 0 switches both off.",
        request=True,
    )
    min_terms: int = _setting(
        17,
        parse.whole(0, 10_000),
        "0 to 10000",
        "A text with fewer distinct terms (stop words do not count) is `skipped: too-short`.",
        request=True,
    )
    segments: tuple[int, int] = _setting(
        [32, 16],
        parse.segments,
        "(N, m) with 1 <= m <= N <= 64",
        "`piecewise`: at least m of N segments are shared (in proportion on a page with fewer).",
        request=True,
    )
    keywords: int = _setting(
        10,
        parse.whole(1, 100),
        "1 to 100",
        "`keywords-2` to `keywords-5`: how many of the heaviest terms are compared.",
    )
    keyword_distance: float = _setting(
        0.05,
        parse.share,
        "0 to 1",
        "`keywords-4` and `keywords-5`: the weights of equal keywords must be closer than this.",
        request=True,
    )
    numbers: float = _setting(
        0,
        parse.share,
        "0 to 1",
        "A copy must have at least this share of its numbers (amounts, dates, model names) from"
        " the original; 0: numbers do not matter.",
        request=True,
    )
    names: float = _setting(
        0,
        parse.share,
        "0 to 1",
        "The same for capitalised words inside sentences.",
        request=True,
    )
    hash_bits: int = _setting(
        64,
        parse.bits,
        "64 or 32",
        "The length of a simhash; 32 bits serve collections of up to 100,000 pages.",
    )
    idf: str = _setting(
        "",
        parse.idf,
        "the path of a table made by `scrapy simdedup idf build`",
        "Inverse document frequencies for `classic` and `keywords`; empty: jieba's, for Chinese.",
    )
    user_dict: UserDict | None = _setting(
        "",
        parse.user_dict,
        "the path of a user dictionary of jieba",
        "Words by which Chinese is cut besides jieba's: one a line, with or without a frequency and"
        " a tag.",
    )
    scope: str = _setting(
        "index",
        parse.one_of("index", "site"),
        "`index` or `site`",
        "Whether pages match all pages of the index, or only those of their own site"
        " (registered domain).",
    )
    since: str = _setting(
        "ever",
        parse.one_of("ever", "run"),
        "`ever` or `run`",
        "Whether copies are judged against all that was ever kept, or against this run alone.",
    )
    confirm: str = _setting(
        "item",
        parse.one_of("item", "close"),
        "`item` or `close`",
        "When a claim is settled: as soon as a page's items are, or when the feeds are stored.",
    )
    revisit_action: str = _setting(
        "keep",
        parse.one_of("keep", "tag", "drop-items"),
        "`keep`, `tag` or `drop-items`",
        "What happens to an unchanged page that is seen again.",
        request=True,
    )
    close_after: int = _setting(
        0,
        parse.whole(0, 10**9),
        "0 to 1000000000",
        "So many pages and items in a row that bring nothing new close the spider; 0: none do.",
    )
    reset: bool = _setting(
        False,
        parse.boolean,
        "a boolean",
        "Starts the run with an empty index: the old file is moved aside, an index in Redis is"
        " removed.",
    )
    store_text: bool = _setting(
        False,
        parse.boolean,
        "a boolean",
        "Stores the main text of each judged page and item, compressed; `report` shows texts side"
        " by side, and `rebuild` signs them anew.",
    )
    max_age: float = _setting(
        "",
        parse.age,
        "a number with its unit, `s`, `m`, `h`, `d` or `w`, of up to 100 years: `30d`",
        "Pages that no run has met for so long are no originals any more, and are pruned when a"
        " run starts; empty: none grows too old.",
    )
    export: str = _setting(
        "",
        parse.export_path,
        "a path that ends in .csv, .jsonl, .csv.gz, .jsonl.gz or .parquet (needs the extra"
        " `parquet`)",
        "Where the run's decisions are written at close; `%(name)s` and `%(time)s` as in FEEDS.",
    )
    extractor: str = _setting(
        "trafilatura",
        parse.extractor,
        "`trafilatura`, `resiliparse` (faster; needs the extra `fast`) or the dotted path of a"
        " function from HTML to text",
        "What turns a page into its main text.",
    )
    workers: int = _setting(
        "auto",
        parse.workers,
        "`auto` or 0 to 256",
        "Processes that analyse pages, shared by all crawlers of a process; `auto`: as"
        " many as the process may use CPUs, at most four; 0: a thread, without time limit.",
    )
    timeout: float = _setting(
        10,
        parse.seconds,
        "more than 0, in seconds",
        "How long a page may be worked on; after that it is `skipped: timeout`.",
    )

    cache_mb: int = _setting(
        64,
        parse.whole(1, 65_536),
        "1 to 65536, in MiB",
        "How much of the index is kept in memory, for each crawler.",
    )

    def __post_init__(self) -> None:
        if is_address(self.index):
            self._check_reach()

    def _check_reach(self) -> None:
        """Raise ConfigError where a method looks farther than an index in Redis reaches."""
        most = farthest(self.hash_bits)
        for name in self.methods:
            method = METHODS[name]
            if isinstance(method, Simhash) and method.widest(self.limits) > most:
                what = "SIMDEDUP_MAX_DISTANCE is" if name == "simhash" else f"{name} takes"
                raise ConfigError(
                    f"{what} {method.widest(self.limits)} bits, but an index in Redis finds pages"
                    f" up to {most} bits apart, with SIMDEDUP_HASH_BITS = {self.hash_bits}"
                )

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Config:
        """Read all ``SIMDEDUP_`` settings of a mapping (Scrapy's settings are one).

        Raises ConfigError with the name, the value and the range of the first bad one.
        """
        values = {}
        for each in fields(cls):
            name = setting_name(each)
            given = settings.get(name)
            if given is not None:
                values[each.name] = _read(each, name, given)
        return cls(**values)

    def override(self, values: Mapping[str, Any]) -> Config:
        """Return this config with some thresholds and actions replaced, by their short names.

        This is what ``meta={"simdedup": {"max_distance": 5}}`` means. Raises ConfigError.
        """
        allowed = {each.name: each for each in fields(self) if each.metadata["request"]}
        for name in values:
            if name not in allowed:
                raise ConfigError(
                    f'meta["simdedup"] has {name!r}; a request can set {", ".join(allowed)}'
                )
        read = {
            name: _read(allowed[name], f'meta["simdedup"]["{name}"]', value)
            for name, value in values.items()
        }
        return replace(self, **read)

    @property
    def limits(self) -> Limits:
        """What of the config a comparison depends on."""
        return Limits(
            self.max_distance,
            self.min_resemblance,
            self.min_containment,
            self.segments,
            self.keyword_distance,
            self.numbers,
            self.names,
        )

    @property
    def shape(self) -> Shape:
        """What of the config shapes signatures."""
        return Shape(self.hash_bits, self.keywords, self.idf, self.user_dict)


def setting_name(each: Field[Any]) -> str:
    """Return the Scrapy setting of a config field."""
    return PREFIX + each.name.upper()


def _read(each: Field[Any], name: str, given: Any) -> Any:
    try:
        return each.metadata["read"](given)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        detail = f" ({error})" if str(error) else ""
        raise ConfigError(
            f"{name} is {masked(repr(given))}{detail}, but it takes {each.metadata['takes']}"
        ) from None


def unknown_settings(names: Mapping[str, Any]) -> dict[str, str | None]:
    """Return each unknown ``SIMDEDUP_`` name of a mapping with the nearest known one, or None."""
    known = [each.name.upper() for each in fields(Config)]
    found: dict[str, str | None] = {}
    for name in names:
        if name.startswith(PREFIX) and (short := name.removeprefix(PREFIX)) not in known:
            # Without the prefix: it alone would make any two names alike.
            near = difflib.get_close_matches(short, known, 1)
            found[name] = PREFIX + near[0] if near else None
    return found
