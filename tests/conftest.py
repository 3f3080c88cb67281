"""Fixtures: a local site whose pages a test sets, and crawls of it in processes of their own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from crawling import Crawl, Site
from sparking import lacking, local_spark


@pytest.fixture
def site() -> Iterator[Site]:
    """An empty local site on a free port."""
    with Site() as server:
        yield server


@pytest.fixture
def crawl(tmp_path: Path, site: Site) -> Callable[..., Crawl]:
    """A function that crawls the site and returns what came of it."""

    def run(*paths: str, **options: object) -> Crawl:
        return Crawl.of([site.url(path) for path in paths or ("/",)], tmp_path, **options)

    return run


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One Spark on this machine for all tests; without it they are skipped, but not in CI."""
    missing = lacking()
    if missing and not os.environ.get("CI"):
        pytest.skip(missing)
    with local_spark() as session:
        yield session
