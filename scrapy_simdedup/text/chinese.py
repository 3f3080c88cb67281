"""jieba, tamed: loaded late, silent, and with a cache that nobody else can write.

jieba keeps its compiled dictionary as a marshal file in the shared temporary folder, where any
user of the machine may plant one, logs to stderr whatever the logging settings say, and warns
on import on newer Pythons. Here it gets a private tokenizer, a private folder and no voice.
"""

from __future__ import annotations

import logging
import os
import stat
import tempfile
import threading
import warnings
from pathlib import Path
from typing import Any

import platformdirs

# jieba builds a graph of a whole run at once; a run this long is no sentence.
_LONGEST_RUN = 4096

_lock = threading.Lock()
_tokenizer: Any = None


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


def _load() -> Any:
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
    """Segment a run of Han characters with jieba, HMM off; the dictionary loads once."""
    global _tokenizer  # noqa: PLW0603  (one dictionary a process)
    if _tokenizer is None:
        with _lock:
            if _tokenizer is None:
                _tokenizer = _load()
    terms: list[str] = []
    for start in range(0, len(run), _LONGEST_RUN):
        terms.extend(_tokenizer.cut(run[start : start + _LONGEST_RUN], HMM=False))
    return terms


def loaded() -> bool:
    """Tell whether the dictionary is in memory (it is not before the first Han text)."""
    return _tokenizer is not None
