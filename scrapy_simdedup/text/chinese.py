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
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import platformdirs
import xxhash

from scrapy_simdedup.text import fast_segment
from scrapy_simdedup.text.word_graph import WordGraph

# jieba builds a graph of a whole run at once; a run this long is no sentence.
_LONGEST_RUN = 4096

_lock = threading.Lock()
_cut: fast_segment.Cut | None = None


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


def _load() -> fast_segment.Cut:
    fast = fast_segment.load(dictionary_digest())
    if fast is not None:
        return fast
    tokenizer = _load_jieba()
    return WordGraph(tokenizer.FREQ, tokenizer.total).cut


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


def cut(run: str) -> list[str]:
    """Segment a run of Han characters as jieba does, HMM off; the dictionary loads once."""
    global _cut  # noqa: PLW0603  (one dictionary a process)
    if _cut is None:
        with _lock:
            if _cut is None:
                _cut = _load()
    terms: list[str] = []
    for start in range(0, len(run), _LONGEST_RUN):
        terms.extend(_cut(run[start : start + _LONGEST_RUN]))
    return terms


def loaded() -> bool:
    """Tell whether the dictionary is in memory (it is not before the first Han text)."""
    return _cut is not None
