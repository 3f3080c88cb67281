"""Settings and addresses: what is taken, what is refused, and how that is said."""

from __future__ import annotations

import json
import logging
import math
import pickle
from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scrapy.settings import Settings

from scrapy_simdedup import ConfigError, Deduplicator, parse
from scrapy_simdedup.config import Config, setting_name, unknown_settings
from scrapy_simdedup.item_rules import ItemRule
from scrapy_simdedup.sites import site_of, stored_url
from scrapy_simdedup.workers import cpus


def read(name: str, value: Any) -> Any:
    config = Config.from_settings({f"SIMDEDUP_{name}": value})
    return getattr(config, name.lower())


def test_defaults() -> None:
    config = Config()
    assert config == Config.from_settings({}) == Config.from_settings(Settings())
    assert {each.name: getattr(config, each.name) for each in fields(config)} == {
        "enabled": True,
        "index": ".scrapy/simdedup/%(spider)s.db",
        "action": "tag",
        "callbacks": (),
        "item_fields": (),
        "item_action": "drop",
        "tag_field": "",
        "methods": ("simhash", "sketch"),
        "max_distance": ((0, 3),),
        "min_resemblance": 0.3,
        "min_containment": 0.35,
        "min_terms": 17,
        "segments": (32, 16),
        "keywords": 10,
        "keyword_distance": 0.05,
        "numbers": 0,
        "names": 0,
        "hash_bits": 64,
        "idf": "",
        "user_dict": None,
        "scope": "index",
        "since": "ever",
        "confirm": "item",
        "revisit_action": "keep",
        "close_after": 0,
        "reset": False,
        "store_text": False,
        "max_age": 0.0,
        "export": "",
        "extractor": "trafilatura",
        "workers": min(cpus(), 4),
        "timeout": 10,
        "cache_mb": 64,
    }


@pytest.mark.parametrize("each", fields(Config), ids=setting_name)
def test_every_setting_takes_its_own_default_and_says_what_it_means(each: Any) -> None:
    written = each.metadata["default"]
    assert read(each.name.upper(), written) == each.default
    assert read(each.name.upper(), None) == each.default
    assert each.metadata["takes"]
    assert each.metadata["meaning"].endswith(".")


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("ENABLED", "0", False),
        ("ENABLED", "False", False),
        ("ENABLED", "true", True),
        ("ENABLED", 1, True),
        ("RESET", "1", True),
        ("INDEX", "/data/%(spider)s.db", "/data/%(spider)s.db"),
        ("INDEX", Path("/data/all.db"), "/data/all.db"),
        ("INDEX", "/data/100%%/%(name)s.db", "/data/100%%/%(name)s.db"),
        ("INDEX", "redis://:p%40ss@h/0", "redis://:p%40ss@h/0"),
        ("ACTION", "drop-items", "drop-items"),
        ("CALLBACKS", "parse_article, parse_note", ("parse_article", "parse_note")),
        ("CALLBACKS", ["parse_article"], ("parse_article",)),
        ("CALLBACKS", '["parse_article", "parse_note"]', ("parse_article", "parse_note")),
        ("TAG_FIELD", "dedup", "dedup"),
        ("METHODS", "sketch", ("sketch",)),
        ("METHODS", ["sketch", "simhash", "sketch"], ("sketch", "simhash")),
        ("METHODS", '["simhash"]', ("simhash",)),
        ("MAX_DISTANCE", "3", ((0, 3),)),
        ("MAX_DISTANCE", 0, ((0, 0),)),
        ("MAX_DISTANCE", 64, ((0, 64),)),
        ("MAX_DISTANCE", [(0, 10), (200, 3)], ((200, 3), (0, 10))),
        ("MAX_DISTANCE", "[[0, 10], [200, 3]]", ((200, 3), (0, 10))),
        ("MIN_RESEMBLANCE", "0.45", 0.45),
        ("MIN_RESEMBLANCE", 0, 0.0),
        ("MIN_CONTAINMENT", 1, 1.0),
        ("MIN_TERMS", "25", 25),
        ("MIN_TERMS", 0, 0),
        ("MIN_TERMS", 30.0, 30),
        ("SCOPE", "site", "site"),
        ("SINCE", "run", "run"),
        ("CONFIRM", "close", "close"),
        ("REVISIT_ACTION", "drop-items", "drop-items"),
        ("MAX_AGE", "30d", 2_592_000.0),
        ("MAX_AGE", " 1.5 h", 5400.0),
        ("MAX_AGE", "", 0.0),
        ("EXPORT", "out/%(name)s-%(time)s.csv.gz", "out/%(name)s-%(time)s.csv.gz"),
        ("EXTRACTOR", "html.unescape", "html.unescape"),
        ("EXTRACTOR", "resiliparse", "resiliparse"),
    ],
)
def test_good_values(name: str, value: Any, expected: Any) -> None:
    found = read(name, value)
    assert found == expected
    assert type(found) is type(expected)


BAD = [
    ("CACHE_MB", 0, "1 to 65536"),
    ("CLOSE_AFTER", -1, "0 to 1000000000"),
    ("ENABLED", "yes", "a boolean"),
    ("ENABLED", [], "a boolean"),
    ("ENABLED", 2, "a boolean"),
    ("RESET", "maybe", "a boolean"),
    ("STORE_TEXT", "all", "a boolean"),
    ("INDEX", "", "a file path"),
    ("INDEX", "mongodb://localhost/0", "a file path"),
    ("INDEX", "%(crawler)s.db", "a file path"),
    ("INDEX", "50%.db", "a file path"),
    ("INDEX", "%s.db", "a file path"),
    ("ACTION", "delete", "`drop-items`"),
    ("ACTION", ["drop"], "`drop-items`"),
    ("CALLBACKS", 5, "callback names"),
    ("CALLBACKS", [print], "callback names"),
    ("ITEM_FIELDS", "{", "a dict"),
    ("ITEM_FIELDS", ["html"], "a dict"),
    ("ITEM_FIELDS", {"key": "url"}, "a dict"),
    ("ITEM_FIELDS", {"html": 5}, "a dict"),
    ("ITEM_FIELDS", {"html": "body", "field": "x"}, "a dict"),
    ("ITEM_FIELDS", {"shop.items.Product": "body"}, "a dict"),
    ("ITEM_FIELDS", {"html": "body", "key": ["url"]}, "a dict"),
    ("ITEM_ACTION", "drop-items", "`drop` or `tag`"),
    ("TAG_FIELD", True, "a field name"),
    ("METHODS", [], "`sketch`"),
    ("METHODS", "minhash", "`sketch`"),
    ("METHODS", ["simhash", "minhash"], "`sketch`"),
    ("MAX_DISTANCE", "abc", "0 to 64 bits"),
    ("MAX_DISTANCE", "99", "0 to 64 bits"),
    ("MAX_DISTANCE", "-1", "0 to 64 bits"),
    ("MAX_DISTANCE", 65, "0 to 64 bits"),
    ("MAX_DISTANCE", 2.5, "0 to 64 bits"),
    ("MAX_DISTANCE", True, "0 to 64 bits"),
    ("MAX_DISTANCE", [], "0 to 64 bits"),
    ("MAX_DISTANCE", [3, 10], "0 to 64 bits"),
    ("MAX_DISTANCE", [(0, 10), (200, 99)], "0 to 64 bits"),
    ("MAX_DISTANCE", "[[0, 10], [200]]", "0 to 64 bits"),
    ("MAX_DISTANCE", "Infinity", "0 to 64 bits"),
    ("MAX_DISTANCE", {"long": 3}, "0 to 64 bits"),
    ("MIN_RESEMBLANCE", "abc", "0 to 1"),
    ("MIN_RESEMBLANCE", "99", "0 to 1"),
    ("MIN_RESEMBLANCE", "-1", "0 to 1"),
    ("MIN_RESEMBLANCE", math.nan, "0 to 1"),
    ("MIN_CONTAINMENT", True, "0 to 1"),
    ("MIN_CONTAINMENT", 10**400, "0 to 1"),
    ("MIN_TERMS", "abc", "0 to 10000"),
    ("MIN_TERMS", "-1", "0 to 10000"),
    ("MIN_TERMS", "3.5", "0 to 10000"),
    ("MIN_TERMS", 10_001, "0 to 10000"),
    ("MIN_TERMS", math.inf, "0 to 10000"),
    ("MIN_TERMS", False, "0 to 10000"),
    ("SEGMENTS", 8, "(N, m)"),
    ("SEGMENTS", "8,9", "m is more than N"),
    ("SEGMENTS", [65, 3], "<= 64"),
    ("SEGMENTS", "8", "(N, m)"),
    ("KEYWORDS", 0, "1 to 100"),
    ("KEYWORD_DISTANCE", -0.1, "0 to 1"),
    ("NUMBERS", "most", "0 to 1"),
    ("NAMES", 2, "0 to 1"),
    ("HASH_BITS", 48, "64 or 32"),
    ("IDF", "/nowhere/table.gz", "idf build"),
    ("IDF", __file__, "idf build"),
    ("USER_DICT", "/nowhere/words.txt", "user dictionary"),
    ("USER_DICT", __file__, "no word that consists of Han characters"),
    ("USER_DICT", "/", "user dictionary"),
    ("SCOPE", "host", "`site`"),
    ("SINCE", "day", "`run`"),
    ("CONFIRM", True, "`close`"),
    ("REVISIT_ACTION", "drop", "`drop-items`"),
    ("MAX_AGE", "30", "with its unit"),
    ("MAX_AGE", 30, "with its unit"),
    ("MAX_AGE", "0d", "with its unit"),
    ("MAX_AGE", "-1d", "with its unit"),
    ("MAX_AGE", "a month", "with its unit"),
    ("MAX_AGE", "101000d", "100 years"),
    ("MAX_AGE", "9" * 400 + "w", "100 years"),
    ("EXPORT", "decisions.parquet.gz", ".jsonl"),
    ("EXPORT", "%(spider)s.csv", ".jsonl"),
    ("EXTRACTOR", "readability", "dotted path"),
    ("EXTRACTOR", "html.nothing", "dotted path"),
    ("EXTRACTOR", "string.digits", "dotted path"),
    ("EXTRACTOR", 3, "dotted path"),
    ("WORKERS", -1, "0 to 256"),
    ("WORKERS", "many", "`auto`"),
    ("TIMEOUT", 0, "more than 0"),
    ("TIMEOUT", "inf", "more than 0"),
]


@pytest.mark.parametrize(
    ("name", "value", "takes"), BAD, ids=[f"{name}-{at}" for at, (name, _, _) in enumerate(BAD)]
)
def test_bad_values_are_refused_with_name_value_and_range(
    name: str, value: Any, takes: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        read(name, value)
    message = str(caught.value)
    assert message.startswith(f"SIMDEDUP_{name} is {value!r}")
    assert takes in message
    assert "\n" not in message


def test_every_setting_refuses_something() -> None:
    assert {name.lower() for name, _, _ in BAD} == {each.name for each in fields(Config)}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(fields(Config)), JSON, st.booleans())
def test_any_value_is_taken_or_refused_with_our_own_error(
    each: Any, value: Any, as_string: bool
) -> None:
    if as_string:
        value = json.dumps(value)
    try:
        config = Config.from_settings({setting_name(each): value})
    except ConfigError as error:
        assert setting_name(each) in str(error)  # noqa: PT017  (a good value is fine too)
    else:
        hash(config)


def test_settings_from_the_command_line_reach_the_config() -> None:
    given_settings = Settings({"SIMDEDUP_MIN_TERMS": 5})
    given_settings.set("SIMDEDUP_MIN_TERMS", "7", priority="cmdline")
    assert Config.from_settings(given_settings).min_terms == 7


def test_item_rules_for_all_items() -> None:
    assert read("ITEM_FIELDS", {"html": "body_html"}) == (ItemRule("", ("body_html",), (), ""),)
    assert read("ITEM_FIELDS", {"text": ["title", "body"], "key": "url"}) == (
        ItemRule("", (), ("title", "body"), "url"),
    )
    assert read("ITEM_FIELDS", '{"html": "page", "text": "lead"}') == (
        ItemRule("", ("page",), ("lead",), ""),
    )


def test_item_rules_by_class() -> None:
    rules = {
        "shop.items.Product": {"html": ["description", "details"]},
        "shop.items.Review": {"text": "body", "key": "id"},
    }
    expected = (
        ItemRule("shop.items.Product", ("description", "details"), (), ""),
        ItemRule("shop.items.Review", (), ("body",), "id"),
    )
    assert read("ITEM_FIELDS", rules) == read("ITEM_FIELDS", json.dumps(rules)) == expected


def test_a_bad_item_rule_is_named() -> None:
    with pytest.raises(ConfigError, match=r"shop\.items\.Review: only html, text and key"):
        read("ITEM_FIELDS", {"shop.items.Review": {"body": "text"}})


def test_a_request_can_set_thresholds_and_actions_only() -> None:
    config = Config()
    changed = config.override(
        {"max_distance": "5", "action": "drop", "min_terms": 3, "revisit_action": "tag"}
    )
    assert (changed.max_distance, changed.action) == (((0, 5),), "drop")
    assert (changed.min_terms, changed.revisit_action) == (3, "tag")
    assert changed.methods == config.methods
    assert config == Config()
    allowed = {each.name for each in fields(Config) if each.metadata["request"]}
    assert allowed == {
        "action",
        "max_distance",
        "min_resemblance",
        "min_containment",
        "min_terms",
        "segments",
        "keyword_distance",
        "numbers",
        "names",
        "revisit_action",
    }
    for each in fields(Config):
        if each.name not in allowed:
            with pytest.raises(ConfigError, match=f"{each.name}.* max_distance"):
                config.override({each.name: each.metadata["default"]})


@pytest.mark.parametrize("values", [{"max_distnce": 3}, {"SIMDEDUP_MAX_DISTANCE": 3}])
def test_an_unknown_override_is_refused_with_what_is_known(values: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=f"{next(iter(values))}.*min_resemblance"):
        Config().override(values)


def test_a_bad_override_names_the_meta_key_value_and_range() -> None:
    with pytest.raises(ConfigError) as caught:
        Config().override({"max_distance": 99})
    assert str(caught.value) == (
        'meta["simdedup"]["max_distance"] is 99, but it takes 0 to 64 bits, or a list of'
        " (minimum distinct terms, bits)"
    )


def test_misspelt_settings_are_found_with_the_nearest_name() -> None:
    known = {setting_name(each): None for each in fields(Config)}
    assert unknown_settings({**known, "BOT_NAME": "x", "MIDDEDUP_X": 1}) == {}
    assert unknown_settings(
        {"SIMDEDUP_MAX_DISTNCE": 3, "SIMDEDUP_MINTERMS": 3, "SIMDEDUP_METHOD": "sketch"}
    ) == {
        "SIMDEDUP_MAX_DISTNCE": "SIMDEDUP_MAX_DISTANCE",
        "SIMDEDUP_MINTERMS": "SIMDEDUP_MIN_TERMS",
        "SIMDEDUP_METHOD": "SIMDEDUP_METHODS",
    }


@pytest.mark.parametrize("name", ["SIMDEDUP_TRESHOLD", "SIMDEDUP_ZZZ", "SIMDEDUP_X"])
def test_a_name_like_no_other_gets_no_wrong_suggestion(name: str) -> None:
    assert unknown_settings({name: 3}) == {name: None}


def test_the_deduplicator_warns_of_unknown_settings(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    misspelt = {"SIMDEDUP_TRESHOLD": 3, "SIMDEDUP_MAX_DISTNCE": 3}
    with caplog.at_level(logging.WARNING), Deduplicator(tmp_path / "index.db", misspelt):
        pass
    assert "SIMDEDUP_TRESHOLD" in caplog.text
    assert "SIMDEDUP_MAX_DISTNCE: SIMDEDUP_MAX_DISTANCE?" in caplog.text


def test_a_config_is_frozen_hashable_and_goes_through_pickle() -> None:
    config = Config.from_settings(
        {"SIMDEDUP_ITEM_FIELDS": {"text": "body"}, "SIMDEDUP_MAX_DISTANCE": [(0, 10), (99, 3)]}
    )
    again = pickle.loads(pickle.dumps(config))
    assert again == config
    assert hash(again) == hash(config)
    assert config != Config()
    with pytest.raises(FrozenInstanceError):
        config.min_terms = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("url", "stored"),
    [
        ("https://user:secret@news.example/a", "https://news.example/a"),
        ("https://user@news.example:8080/a?b=c#d", "https://news.example:8080/a?b=c#d"),
        ("https://us@er:p@ss@news.example/a@b?c=@", "https://news.example/a@b?c=@"),
        ("ftp://anonymous:me@files.example/", "ftp://files.example/"),
        ("//user:secret@news.example/a", "//news.example/a"),
        ("https://user:secret@[2001:db8::1]:80/", "https://[2001:db8::1]:80/"),
        ("https://user:secret@news.example", "https://news.example"),
        # Nothing else is touched, however odd.
        ("HTTPS://user:secret@News.Example/a?", "HTTPS://News.Example/a?"),
        ("https://user:secret@news.example/?#", "https://news.example/?#"),
        ("https://user:secret@news.example/a;b?#x", "https://news.example/a;b?#x"),
        # Python refuses to parse these; the password must go all the same.
        ("https://user:secret@[broken/a", "https://[broken/a"),
        ("https://user:secret@news\u2100.example/a", "https://news\u2100.example/a"),
    ],
)
def test_credentials_are_not_stored(url: str, stored: str) -> None:
    assert stored_url(url) == stored


@pytest.mark.parametrize(
    "url",
    [
        "",
        "https://news.example/@author/2024?",
        "https://news.example?mail=me@example.com",
        "https://news.example#me@example.com",
        "mailto:me@example.com",
        "pages/user@home.html",
        "HTTP://News.Example/%7Euser/?a=%20b&c=+#",
        "https://пример.example/путь",
        "../data/page 1.html",
        "https://[broken",
    ],
)
def test_urls_without_credentials_are_stored_as_they_are(url: str) -> None:
    assert stored_url(url) == url


def test_stored_urls_have_no_broken_characters() -> None:
    assert stored_url("https://news.example/\0a\ud800b") == "https://news.example/ab"


@settings(max_examples=100, deadline=None)
@given(st.text(st.characters(exclude_categories=("Cs", "Cc", "Cn")), max_size=30))
def test_storing_twice_changes_nothing(tail: str) -> None:
    once = stored_url(f"https://user:secret@news.example/{tail}")
    assert once == f"https://news.example/{tail}"
    assert stored_url(once) == once


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("https://www.news.example.co.uk/a", "example.co.uk"),
        ("https://example.co.uk:8080/", "example.co.uk"),
        ("https://a.b.example.com/", "example.com"),
        ("https://WWW.Example.COM/", "example.com"),
        ("https://user:secret@www.example.com/", "example.com"),
        ("http://192.0.2.7:8000/a", "192.0.2.7"),
        ("http://[2001:db8::1]/a", "2001:db8::1"),
        ("http://localhost:6800/", "localhost"),
        ("http://intranet/", "intranet"),
        # A public suffix that is a host itself.
        ("https://gov.uk/bank-holidays", "gov.uk"),
        ("pages/a.html", ""),
        ("", ""),
        ("mailto:me@example.com", ""),
        ("https://[broken/", ""),
    ],
)
def test_the_site_of_a_url(url: str, site: str) -> None:
    assert site_of(url) == site


def test_an_export_as_parquet_needs_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read("EXPORT", "%(name)s.parquet") == "%(name)s.parquet"
    monkeypatch.setattr(parse, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install scrapy-simdedup\[parquet\]"):
        read("EXPORT", "%(name)s.parquet")
    assert read("EXPORT", "%(name)s.csv") == "%(name)s.csv"
