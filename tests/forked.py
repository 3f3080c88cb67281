"""Forks writers from a process that has loaded all, and kills them when it is told to.

A line of standard input is an order: index file, seed of the writer, seconds, and where they
begin (``fork`` or ``open``). The answer is a line with what the writer told before it died.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from typing import Any

from scrapy_simdedup.analysis import Analysis, Recipe, Source, analyse
from scrapy_simdedup.deduplicator import Deduplicator
from texts import story

# Made up, short and unrelated; analysed before any fork.
TEXTS = 2500
SETTINGS = {"SIMDEDUP_METHODS": ["simhash", "sketch"]}
RECIPE = Recipe(methods=("simhash", "sketch"))
_ANALYSES: list[Analysis] = []


def analysis(text: int) -> Analysis:
    """Return the analysis of the text of that number."""
    return analyse(Source(text=(story(text, 60),)), RECIPE)


def write(path: str, seed: int, tell: Any) -> None:
    """Judge and settle pages for ever, and tell of each step before and after it.

    ``trying`` a page with a text comes before what may commit it, ``kept`` and ``gone`` after.
    """
    pick = random.Random(seed)
    dedup = Deduplicator(path, SETTINGS)
    tell("open")
    kept: dict[str, int] = {}
    for step in range(1 << 30):
        url, text = f"{seed}/{step}", pick.randrange(TEXTS)
        if kept and pick.random() < 0.3:
            # A known page again: unchanged, or with another text.
            url = pick.choice(list(kept))
            text = kept[url] if pick.random() < 0.5 else text
        act = pick.choice(["confirm", "confirm", "at once", "release", "open", "together"])
        body = text.to_bytes(16, "big") if pick.random() < 0.5 else b""
        subject = dedup.page(url, (url,), body)
        tell("trying", url, text)
        if act == "together":
            tell("trying", f"{url}+", step % TEXTS)
            with dedup.together():
                claim = dedup.judge(subject, _ANALYSES[text]).claim
                other = dedup.judge(dedup.page(f"{url}+"), _ANALYSES[step % TEXTS]).claim
                dedup.confirm([each for each in (claim, other) if each])
            if other:
                tell("kept", f"{url}+", step % TEXTS)
        else:
            claim = dedup.judge(subject, _ANALYSES[text], confirm=act == "at once").claim
            if claim and act == "confirm":
                dedup.confirm([claim])
            elif claim and act == "release":
                dedup.release([claim])
        if claim and act == "release" and claim.new:
            tell("gone", url, text)
        elif claim and act not in ("release", "open"):
            tell("kept", url, text)
            kept[url] = text


def run(path: str, seed: int, seconds: float, since: str) -> list[list[Any]]:
    """Fork a writer, kill it after so many seconds, and return what it told."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)

        def tell(*words: Any) -> None:
            os.write(writing, json.dumps(words).encode() + b"\n")

        try:
            write(path, seed, tell)
        except BaseException as error:
            tell("failed", f"{type(error).__name__}: {error}")
        os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as told:
        first = told.readline() if since == "open" else b""
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        lines = [first, *told.readlines()]
    # A line is one write, which is whole or not there at all.
    return [json.loads(line) for line in lines if line]


def main() -> None:
    """Follow orders until there are no more."""
    _ANALYSES.extend(map(analysis, range(TEXTS)))
    for line in sys.stdin:
        print(json.dumps(run(*json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
