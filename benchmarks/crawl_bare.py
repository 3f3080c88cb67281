"""Bare extraction: what the plugin is measured against."""

from __future__ import annotations

import multiprocessing
import pickle
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import trafilatura
from crawl_pages import WARM, warm_ups

from scrapy_simdedup.text.extract import decode


def extract(html: str) -> str:
    """Extract, and return nothing: as ``SIMDEDUP_EXTRACTOR`` it leaves nothing else to do."""
    trafilatura.extract(html, fast=True)
    return ""


@lru_cache(maxsize=1)
def _texts(spec: str) -> list[str]:
    pages, seed = pickle.loads(Path(spec).read_bytes())
    return [decode(page) for page in (*warm_ups(pages, seed), *pages)]


def _work(job: tuple[str, Sequence[int]]) -> None:
    spec, numbers = job
    for number in numbers:
        extract(_texts(spec)[number])


def per_second(spec: Path, pages: int, processes: int) -> float:
    """Return how many of a site's pages so many processes extract in a second.

    Each has read and decoded all pages before, so that only numbers go between processes.
    """
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        warm = [(str(spec), range(WARM))] * processes
        pool.map(_work, warm, chunksize=1)
        began = time.perf_counter()
        jobs = [(str(spec), [WARM + number]) for number in range(pages)]
        pool.map(_work, jobs, chunksize=1)
        return pages / (time.perf_counter() - began)
