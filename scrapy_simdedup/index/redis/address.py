"""Addresses of indexes in Redis: ``redis://HOST/DB?prefix=NAME``, and how they may be shown."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

SCHEMES = ("redis://", "rediss://")

_PREFIX = "simdedup"
_MOST_PREFIX = 200
# What means something in a pattern of keys, or cannot be seen.
_ODD = re.compile(r"[\s\x00-\x1f\x7f*?\[\]\\^]")
# Up to the last "@": a password may have one that is not escaped.
_CREDENTIALS = re.compile(r"(?<=://)\S*@")


def is_address(index: object) -> bool:
    """Tell whether an index is named by an address, not by a path."""
    return str(index).lower().startswith(SCHEMES)


def masked(text: str) -> str:
    """Return a text without the user names and passwords of the addresses in it."""
    return _CREDENTIALS.sub("", text)


@dataclass(frozen=True)
class Address:
    """Where an index is: the server's URL as redis-py takes it, and the prefix of its keys."""

    url: str
    prefix: str

    def __repr__(self) -> str:
        return f"Address({self})"

    def __str__(self) -> str:
        """Return the address as it may be shown and stored: without user and password."""
        mark = "&" if "?" in self.url else "?"
        suffix = "" if self.prefix == _PREFIX else f"{mark}prefix={quote(self.prefix, safe=':')}"
        return masked(self.url) + suffix


def filled(text: str, spider: str) -> str:
    """Return an address with the spider's name in the place of ``%(spider)s`` or ``%(name)s``."""
    name = quote(_ODD.sub("_", spider), safe="")
    return text.replace("%(spider)s", name).replace("%(name)s", name)


def read(text: str) -> Address:
    """Read an address. Raises ValueError, with a message that shows no password."""
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        raise ValueError("no URL") from None
    if not parts.hostname:
        raise ValueError("it names no host")
    if parts.path.strip("/") and not parts.path.strip("/").isdigit():
        raise ValueError("the path of the URL is the number of a database")
    query = parse_qsl(parts.query, keep_blank_values=True)
    prefixes = [value for name, value in query if name == "prefix"] or [_PREFIX]
    prefix = prefixes[-1]
    if not 0 < len(prefix) <= _MOST_PREFIX or _ODD.search(prefix):
        raise ValueError(f"prefix takes up to {_MOST_PREFIX} characters, no space and no *?[]\\^")
    others = urlencode([(name, value) for name, value in query if name != "prefix"])
    return Address(urlunsplit(parts._replace(query=others, fragment="")), prefix)
