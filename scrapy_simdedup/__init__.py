"""Near-duplicate detection for Scrapy, by main text, while the crawl runs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from scrapy_simdedup.crawl.addon import Addon
    from scrapy_simdedup.crawl.downloader import SimDedupDownloaderMiddleware
    from scrapy_simdedup.crawl.pipeline import SimDedupPipeline
    from scrapy_simdedup.crawl.spider import SimDedupSpiderMiddleware
    from scrapy_simdedup.deduplicator import Deduplicator
    from scrapy_simdedup.exceptions import (
        ConfigError,
        IndexUnusable,
        NearDuplicateItem,
        NearDuplicateResponse,
        SimDedupError,
    )
    from scrapy_simdedup.verdict import Verdict

__all__ = [
    "Addon",
    "ConfigError",
    "Deduplicator",
    "IndexUnusable",
    "NearDuplicateItem",
    "NearDuplicateResponse",
    "SimDedupDownloaderMiddleware",
    "SimDedupError",
    "SimDedupPipeline",
    "SimDedupSpiderMiddleware",
    "Verdict",
]

# Scrapy imports our command, and with it this package, at every call of ``scrapy``; so nothing
# is loaded before somebody asks for it.
_HOMES = {
    "Addon": "crawl.addon",
    "Deduplicator": "deduplicator",
    "SimDedupDownloaderMiddleware": "crawl.downloader",
    "SimDedupPipeline": "crawl.pipeline",
    "SimDedupSpiderMiddleware": "crawl.spider",
    "Verdict": "verdict",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'exceptions')}"), name)
