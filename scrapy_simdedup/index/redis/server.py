"""Whether a server can hold an index, and whose index it holds."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import redis

from scrapy_simdedup.exceptions import IndexAway, IndexUnusable
from scrapy_simdedup.index.redis.address import Address
from scrapy_simdedup.index.redis.link import Link
from scrapy_simdedup.index.schema import differences

logger = logging.getLogger(__name__)

# The layout of the keys; another one is refused. While an index is emptied it has none.
SCHEMA = 1
EMPTYING = b"emptying"

# The oldest server that knows all the commands.
_OLDEST = (6, 0)


@contextmanager
def refusing(address: Address) -> Iterator[None]:
    """Raise IndexUnusable for whatever the server refuses in a block."""
    try:
        yield
    except IndexAway:
        raise
    except redis.ResponseError as error:
        what = str(error)
        if what.startswith("WRONGTYPE"):
            what = "the keys below its prefix are another program's; they were left untouched"
        raise IndexUnusable(
            f"cannot open {address}: {what}. Name another server or prefix in SIMDEDUP_INDEX."
        ) from error
    except redis.RedisError as error:
        raise IndexUnusable(f"cannot open {address}: {error}") from error


def check_server(link: Link) -> None:
    """Raise IndexUnusable where a server cannot hold an index; warn where it may lose pages."""
    about = link.call(lambda client: client.info())
    version = tuple(map(int, re.findall(r"\d+", about["redis_version"])[:2]))
    if version < _OLDEST:
        raise IndexUnusable(
            f"{link.address} is Redis {about['redis_version']}; an index needs"
            f" {'.'.join(map(str, _OLDEST))} or newer"
        )
    if about.get("cluster_enabled"):
        raise IndexUnusable(
            f"{link.address} is a node of a Redis Cluster, and an index needs a server that holds"
            " all of it: name one without cluster mode in SIMDEDUP_INDEX"
        )
    if about.get("maxmemory") and about.get("maxmemory_policy", "noeviction") != "noeviction":
        logger.warning(
            "%s evicts keys when its memory is full (maxmemory-policy %s): copies of pages that it"
            " forgets are let through. Set noeviction.",
            link.address,
            about["maxmemory_policy"],
        )


def check_identity(
    address: Address, identity: bytes | None, schema: bytes | None, wanted: dict[str, Any]
) -> None:
    """Raise IndexUnusable where an index was made by others, or with other settings."""
    if identity is None or schema is None:
        raise IndexUnusable(
            f"{address}: the keys that begin with {address.prefix}: are another"
            " program's. They were left untouched: name another prefix in SIMDEDUP_INDEX."
        )
    if schema == EMPTYING:
        raise IndexUnusable(
            f"{address} is being emptied, or that was interrupted: set SIMDEDUP_RESET = True once,"
            " or name another prefix in SIMDEDUP_INDEX."
        )
    if int(schema) != SCHEMA:
        raise IndexUnusable(
            f"{address} has schema {int(schema)}, but this scrapy-simdedup knows schema"
            f" {SCHEMA}: use the version of scrapy-simdedup that made it, or name another prefix"
            " in SIMDEDUP_INDEX."
        )
    differing = differences(json.loads(identity), wanted)
    if differing:
        raise IndexUnusable(
            f"{address} was written with {differing}: fingerprints would not match. Go back"
            " to those settings, or start anew: set SIMDEDUP_RESET = True once, or name another"
            " prefix in SIMDEDUP_INDEX."
        )
