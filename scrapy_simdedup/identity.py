"""What an index file records of how it was made: its identity, and each run's circumstances."""

from __future__ import annotations

import json
from dataclasses import fields
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from scrapy_simdedup.config import Config, setting_name
from scrapy_simdedup.index.redis.address import masked
from scrapy_simdedup.text import chinese, idf, stopwords
from scrapy_simdedup.text.user_dict import UserDict

# Raised whenever the same text would be signed otherwise; part of every index's identity.
ALGORITHM = 1

_RECORDED = (
    *("scrapy-simdedup", "scrapy", "trafilatura", "resiliparse", "lxml"),
    *("jieba", "rjieba", "regex", "numpy"),
)


def identity_of(config: Config) -> dict[str, Any]:
    """Return all that shapes what an index stores; a file keeps to the one it began with."""
    return {
        "algorithm": ALGORITHM,
        "bits": config.hash_bits,
        "methods": sorted(config.methods),
        "extractor": config.extractor,
        "scope": config.scope,
        "stop_words": stopwords.digest(),
        "dictionary": chinese.dictionary_digest(),
        "user_dict": config.user_dict.digest if config.user_dict else "",
        **_weighting(config),
    }


def _weighting(config: Config) -> dict[str, Any]:
    """Return what shapes the parts that weigh by TF-IDF, where one of them is used."""
    weighed = [name for name in config.methods if name == "classic" or name.startswith("keywords")]
    return {"idf": idf.digest(config.idf), "keywords": config.keywords} if weighed else {}


def versions() -> dict[str, str]:
    """Return the versions of what shapes the text, for the run's record."""
    found = {}
    for package in _RECORDED:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def shown(value: Any) -> Any:
    """Return a setting's value without the password of an address."""
    return masked(value) if isinstance(value, str) else value


def written(config: Config) -> str:
    """Return the settings that are not the defaults, as JSON, for the run's record."""
    changed = {
        setting_name(each): shown(getattr(config, each.name))
        for each in fields(config)
        if getattr(config, each.name) != each.default
    }
    record = json.dumps(changed, default=_as_given, ensure_ascii=False)
    # Halves of surrogate pairs, which SQLite refuses.
    return record.encode("utf-8", "backslashreplace").decode("utf-8")


def _as_given(value: Any) -> str:
    return value.path if isinstance(value, UserDict) else repr(value)
