"""URLs as they are stored, and which site they belong to."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from scrapy_simdedup.digests import name_hash
from scrapy_simdedup.text.normalise import clean

# Scheme and slashes, then all of the authority up to its last "@". In the schemes of the web
# browsers take any number of slashes of either kind.
_CREDENTIALS = re.compile(
    r"^(\s*(?:(?:[a-z][a-z0-9+.-]*:)?[/\\]{2}|(?:https?|wss?|ftp):[/\\]*))[^/?#]*@", re.IGNORECASE
)


def stored_url(url: str) -> str:
    """Return a URL as the index may keep it: no user name, no password, no broken characters.

    Anything that is no URL (a file's path in a scan) comes back as it is, cleaned.
    """
    url = clean(url)
    return _CREDENTIALS.sub(r"\1", url, count=1)


@lru_cache(maxsize=1)
def _domains() -> Any:
    import tldextract

    # The list that comes with the package; nothing is fetched.
    return tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)


@lru_cache(maxsize=4096)
def site_of(url: str) -> str:
    """Return the registered domain of a URL, or its host where there is none."""
    host = ""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return ""
    found = _domains()(host)
    return f"{found.domain}.{found.suffix}" if found.domain and found.suffix else host


def space_of(label: str, url: str, scope: str) -> int:
    """Return the number of the space that a page or item is in; only those of one space match.

    ``label`` is empty for pages. 48 bits: pages of the whole index, by far the most, get 0.
    """
    if scope == "site":
        label += f"@{site_of(url)}"
    return name_hash(label) >> 16 if label else 0


def is_on(url: str, host: str) -> bool:
    """Tell whether a URL lies on a host, or with a dot in front of it on any of that domain."""
    domain = _ascii(host.lstrip(".").lower())
    if domain not in url.lower():
        # Most are elsewhere, and this is far quicker.
        return False
    try:
        name = urlsplit(url).hostname or ""
    except ValueError:
        return False
    return name == domain or (host.startswith(".") and name.endswith(f".{domain}"))


@lru_cache(maxsize=16)
def _ascii(host: str) -> str:
    """Return a host's name as it stands in URLs."""
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        return host
