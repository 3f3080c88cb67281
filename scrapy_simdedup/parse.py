"""Readers of setting values: what ``settings.py`` holds, or the strings of ``-s NAME=VALUE``."""

from __future__ import annotations

import json
import logging
import math
import os
import re
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from scrapy_simdedup.index.redis import address
from scrapy_simdedup.methods import GROUPS, METHODS
from scrapy_simdedup.methods.piecewise import MOST_SEGMENTS
from scrapy_simdedup.text import idf as idf_table
from scrapy_simdedup.text.user_dict import UserDict
from scrapy_simdedup.text.user_dict import read as read_user_dict
from scrapy_simdedup.workers import cpus

logger = logging.getLogger(__name__)

# How the name of an export ends, and what it is written as.
EXPORT_FORMATS = {
    ".csv": "csv",
    ".csv.gz": "csv",
    ".jsonl": "jsonl",
    ".jsonl.gz": "jsonl",
    ".parquet": "parquet",
}


def boolean(value: Any) -> bool:
    """Read a boolean as Scrapy does: True, 1, "True", "1" and their opposites."""
    known = {True: True, False: False, "1": True, "0": False, "true": True, "false": False}
    return known[value.lower() if isinstance(value, str) else value]


def string(value: Any) -> str:
    """Read a string."""
    if not isinstance(value, str):
        raise TypeError
    return value


def index_place(value: Any) -> str:
    """Read the place of an index: a path or an address, with ``%(spider)s`` in it at most."""
    place = str(value)
    if not place:
        raise ValueError("empty")
    if address.is_address(place):
        if find_spec("redis") is None:
            raise ValueError("not installed: pip install scrapy-simdedup[redis]")
        address.read(filled(place, "spider"))
        return place
    if "://" in place:
        raise ValueError("no store for this kind of address")
    _fill(place, "spider", "name")
    return place


def filled(place: str, spider: str) -> str:
    """Return the place of a spider's index."""
    if address.is_address(place):
        # Where a % may also begin an escape.
        return address.filled(place, spider)
    return place % {"spider": spider, "name": spider}


def export_path(value: Any) -> str:
    """Read the path of an export, whose ending names the format."""
    path = str(value)
    if path and not path.endswith(tuple(EXPORT_FORMATS)):
        raise ValueError
    if path.endswith(".parquet") and find_spec("pyarrow") is None:
        raise ValueError("not installed: pip install scrapy-simdedup[parquet]")
    _fill(path, "name", "time")
    return path


def _fill(pattern: str, *names: str) -> None:
    """Raise ValueError or KeyError unless ``pattern`` takes these names and nothing else."""
    if "\0" in pattern:
        raise ValueError("no path has a NUL in it")
    # Half of a surrogate pair is no part of a file's name.
    os.fsencode(pattern)
    if re.search(r"%(?!\(|%)", pattern.replace("%%", "")):
        raise ValueError("a % that is no %(name)s must be written %%")
    pattern % dict.fromkeys(names, "")


def one_of(*choices: str) -> Callable[[Any], str]:
    """Return a reader for one of some words."""

    def read(value: Any) -> str:
        if value not in choices:
            raise ValueError
        return str(value)

    return read


def names(value: Any) -> tuple[str, ...]:
    """Read a list of names: a list, or a string with commas."""
    if isinstance(value, str):
        value = json.loads(value) if value.lstrip().startswith("[") else value.split(",")
    parts = list(value)
    if not all(isinstance(part, str) for part in parts):
        raise TypeError
    return tuple(part.strip() for part in parts if part.strip())


def methods(value: Any) -> tuple[str, ...]:
    """Read a list of method names, at least one, each once."""
    chosen: dict[str, None] = {}
    for name in names(value):
        if name not in METHODS and name not in GROUPS:
            raise ValueError(f"{name!r} is no method")
        chosen.update(dict.fromkeys(GROUPS.get(name, (name,))))
    if not chosen:
        raise ValueError("empty")
    return tuple(chosen)


def whole(low: int, high: int) -> Callable[[Any], int]:
    """Return a reader for a whole number of a range."""

    def read(value: Any) -> int:
        number = int(value)
        if isinstance(value, bool) or number != float(value) or not low <= number <= high:
            raise ValueError
        return number

    return read


def share(value: Any) -> float:
    """Read a number from 0 to 1."""
    number = float(value)
    if isinstance(value, bool) or math.isnan(number) or not 0 <= number <= 1:
        raise ValueError
    return number


def distances(value: Any) -> tuple[tuple[int, int], ...]:
    """Read a bit limit, or limits by text length, as (minimum distinct terms, bits) pairs."""
    if isinstance(value, str):
        value = json.loads(value)
    bits = whole(0, 64)
    if not isinstance(value, Sequence):
        return ((0, bits(value)),)
    pairs = [(whole(0, 10**9)(least), bits(limit)) for least, limit in value]
    if not pairs:
        raise ValueError("empty")
    return tuple(sorted(pairs, reverse=True))


def segments(value: Any) -> tuple[int, int]:
    """Read (N, m): how many segments are held against each other, how many must be shared."""
    if isinstance(value, str):
        value = json.loads(value) if value.lstrip().startswith("[") else value.split(",")
    most, least = (whole(1, MOST_SEGMENTS)(number) for number in value)
    if least > most:
        raise ValueError("m is more than N")
    return most, least


def bits(value: Any) -> int:
    """Read the length of a simhash."""
    if whole(0, 64)(value) not in (32, 64):
        raise ValueError
    return int(value)


def idf(value: Any) -> str:
    """Read the path of an IDF table, which must be there and be one."""
    path = str(value)
    if path:
        try:
            idf_table.load(path)
        except (OSError, EOFError) as error:
            raise ValueError(str(error)) from error
    return path


def user_dict(value: Any) -> UserDict | None:
    """Read the path of a user dictionary, which must be there and be one; ``""`` is None."""
    if not str(value):
        return None
    # Workers are other processes, and may begin in another folder.
    path = str(Path(str(value)).absolute())
    try:
        words, others = read_user_dict(path)
    except OSError as error:
        raise ValueError(str(error)) from error
    if not words:
        raise ValueError(f"{path} holds no word that consists of Han characters")
    if others:
        logger.warning(
            "%s: %d words that are not all Han characters have no effect, e.g. %s",
            path,
            len(others),
            others[0],
        )
    return UserDict.of(path, words)


# A page costs Scrapy's process two fifths of what it costs a worker: more than these would wait
# for it (docs/performance.md).
_MOST_WORKERS = 4


def workers(value: Any) -> int:
    """Read a number of worker processes."""
    if value == "auto":
        return min(cpus(), _MOST_WORKERS)
    return whole(0, 256)(value)


def seconds(value: Any) -> float:
    """Read a time in seconds."""
    number = float(value)
    if isinstance(value, bool) or not 0 < number < math.inf:
        raise ValueError
    return number


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_MOST_AGE = 36_525 * 86_400


def age(value: Any) -> float:
    """Read an age with its unit, ``12h`` or ``30d``, in seconds; an empty one is 0.

    A number alone could mean seconds as well as days.
    """
    if value == "":
        return 0.0
    found = re.fullmatch(r"\s*(\d{1,12}(?:\.\d{1,12})?)\s*([smhdw])\s*", string(value), re.ASCII)
    if not found:
        raise ValueError
    seconds = float(found[1]) * _UNITS[found[2]]
    if not 0 < seconds <= _MOST_AGE:
        raise ValueError
    return seconds


def extractor(value: Any) -> str:
    """Read the name of an extractor, which must be installed, or lead to a function."""
    name = string(value)
    if name == "resiliparse":
        if find_spec(name) is None:
            raise ValueError("not installed: pip install scrapy-simdedup[fast]")
    elif name != "trafilatura":
        from scrapy.utils.misc import load_object

        try:
            found = load_object(name)
        except (ImportError, NameError) as error:
            raise ValueError(str(error)) from error
        if not callable(found):
            raise TypeError
    return name
