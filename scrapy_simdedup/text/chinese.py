"""Chinese text to words: rjieba where it answers as jieba does, else jieba's dictionary.

jieba keeps its compiled dictionary as a marshal file in the shared temporary folder, where any
user of the machine may plant one, logs to stderr whatever the logging settings say, and warns
on import on newer Pythons. Here it is loaded late, and gets a private tokenizer, a private
folder that nobody else can write to, and no voice.
"""

from __future__ import annotations

import logging
import os
import stat
import tempfile
import threading
import warnings
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import platformdirs
import xxhash

from scrapy_simdedup.text import fast_segment
from scrapy_simdedup.text.user_dict import UserDict, Word
from scrapy_simdedup.text.word_graph import WordGraph

# jieba builds a graph of a whole run at once; a run this long is no sentence.
_LONGEST_RUN = 4096

_lock = threading.Lock()
_cuts: dict[UserDict | None, fast_segment.Cut] = {}


def dictionary_digest() -> str:
    """Return the XXH3-64 of jieba's dictionary, on which the answers depend, or ``none``."""
    spec = find_spec("jieba")
    if spec is None or spec.origin is None:
        return "none"
    return xxhash.xxh3_64_hexdigest(Path(spec.origin).with_name("dict.txt").read_bytes())


def cache_folder() -> Path | None:
    """Return the folder for jieba's compiled dictionary, or None when none can be trusted.

    It is made with mode 0700 and must belong to this user alone; the environment variable
    ``SIMDEDUP_CACHE`` names another place.
    """
    named = os.environ.get("SIMDEDUP_CACHE")
    folder = Path(named) if named else Path(platformdirs.user_cache_dir("scrapy-simdedup"))
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = folder.stat()
        if hasattr(os, "getuid") and (
            state.st_uid != os.getuid() or state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        ):
            return None
        if not os.access(folder, os.W_OK):
            return None
    except OSError:
        return None
    return folder


def _load(user_dict: UserDict | None) -> fast_segment.Cut:
    if user_dict is not None:
        tokenizer = _load_jieba()
        words = _add(tokenizer, user_dict.words())
        fast = fast_segment.load(dictionary_digest(), words)
    else:
        tokenizer = None
        fast = fast_segment.load(dictionary_digest())
    if fast is not None:
        return fast
    tokenizer = tokenizer or _load_jieba()
    return WordGraph(tokenizer.FREQ, tokenizer.total).cut


def _add(tokenizer: Any, words: Sequence[Word]) -> fast_segment.Words:
    """Add words to a tokenizer of jieba's, and return what another one must do to be like it."""
    before = {word: tokenizer.FREQ.get(word, 0) for word, _ in words}
    total = tokenizer.total
    for word, frequency in words:
        if frequency == 0:
            # In jieba's own way this would change all tokenizers of the process.
            tokenizer.FREQ[word] = 0
        else:
            tokenizer.add_word(word, frequency)
    after = {word: tokenizer.FREQ[word] for word in before}
    surplus = tokenizer.total - total - sum(after.values()) + sum(before.values())
    return fast_segment.Words(after, surplus, partial(tokenizer.cut, HMM=False))


def _load_jieba() -> Any:
    with warnings.catch_warnings():
        # Invalid escapes and pkg_resources: not ours to fix, not the user's to read.
        warnings.simplefilter("ignore")
        import jieba
    jieba.setLogLevel(logging.CRITICAL + 1)
    tokenizer = jieba.Tokenizer()
    folder = cache_folder()
    if folder is not None:
        tokenizer.tmp_dir = str(folder)
        tokenizer.initialize()
        return tokenizer
    # No trusted place to keep the cache: compile it in a folder that lives just as long.
    with tempfile.TemporaryDirectory(prefix="simdedup-") as passing:
        tokenizer.tmp_dir = passing
        tokenizer.initialize()
    return tokenizer


def cut(run: str, user_dict: UserDict | None = None) -> list[str]:
    """Segment a run of Han characters as jieba does, HMM off.

    By its own dictionary, and a user's on top of it; each loads once. Raises ValueError and
    OSError where a user dictionary is not what it was when the settings were read.
    """
    chosen = _cuts.get(user_dict)
    if chosen is None:
        with _lock:
            chosen = _cuts.get(user_dict) or _load(user_dict)
            _cuts[user_dict] = chosen
    if len(run) <= _LONGEST_RUN:
        return chosen(run)
    terms: list[str] = []
    for start in range(0, len(run), _LONGEST_RUN):
        terms.extend(chosen(run[start : start + _LONGEST_RUN]))
    return terms


def loaded() -> bool:
    """Tell whether a dictionary is in memory (none is before the first Han text)."""
    return bool(_cuts)
