"""Judge hostile pages one after the other in a process with 2 GiB; print each one's verdict."""

from __future__ import annotations

import json
import resource
import sys
import time

import hostile
from scrapy_simdedup import Deduplicator
from texts import page, story

MEMORY = 2 << 30


def main(index: str, methods: str) -> None:
    """Judge every hostile page and text by ``methods``, and a page and its copy around them."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    told = {}
    with Deduplicator(index, {"SIMDEDUP_METHODS": methods}) as dedup:

        def judge(name: str, html: hostile.Page | None = None, text: str | None = None) -> None:
            begun = time.monotonic()
            verdict = dedup.check(name, html, text)
            told[name] = [verdict.label, verdict.original, time.monotonic() - begun]

        judge("article", hostile.ARTICLE)
        judge("first", page(story(1)))
        for name, make in hostile.PAGES.items():
            judge(name, make())
        for name, write in hostile.TEXTS.items():
            judge(f"text: {name}", text=write())
        judge("last", page(story(1), "Copy", "wire"))
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
