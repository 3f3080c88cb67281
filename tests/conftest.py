"""Fixtures: a local site whose pages a test sets, and crawls of it in processes of their own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from crawling import Crawl, Site
from redis_server import RedisServer
from sparking import lacking, local_spark
from stores import KINDS, FileStore, RedisStore, Store, new_name


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


_servers: list[RedisServer] = []


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis server for all tests that do not kill it."""
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        _servers.append(server)
        yield server
        _servers.clear()


@pytest.fixture(autouse=True)
def emptied_redis() -> Iterator[None]:
    """Nothing of a test stays in the server: what looks through its keys would take longer."""
    yield
    for server in _servers:
        server.empty()


@pytest.fixture(scope="session")
def new_store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Store]:
    """A function that returns a store of a kind, with nothing in it."""

    def made(kind: str) -> Store:
        folder, name = tmp_path_factory.mktemp("store"), new_name()
        if kind == "sqlite":
            return FileStore(folder, name)
        return RedisStore(folder, name, request.getfixturevalue("redis_server"))

    return made


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, new_store: Callable[[str], Store]) -> Store:
    """An empty store, of each kind in turn."""
    return new_store(request.param)


@pytest.fixture
def redis_store(new_store: Callable[[str], Store]) -> RedisStore:
    """An empty index in Redis."""
    made = new_store("redis")
    assert isinstance(made, RedisStore)
    return made
