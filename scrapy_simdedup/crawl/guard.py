"""Which responses are judged: the final HTML pages that the spider's own callbacks get."""

from __future__ import annotations

import functools
from typing import Any

from scrapy import Request, Spider
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK

from scrapy_simdedup.config import Config
from scrapy_simdedup.responses import not_a_page

META_OPTIONS = "simdedup"
META_VERDICT = "simdedup_verdict"
# Set when the engine schedules a request, gone when its response is judged: a request that a
# callback awaits inline never has it.
META_SCHEDULED = "_simdedup_scheduled"

# Skipped pages that the log explains; of the others (robots.txt, images, what the user left
# out) a count in the stats is enough.
LOGGED = frozenset({"status", "not-html", "not-text", "timeout"})


def refusal(
    request: Request, response: Response, spider: Spider, config: Config, *, scheduled: bool
) -> str | None:
    """Return why a response is not judged, or None when it is."""
    return _refused_request(request, spider, config, scheduled=scheduled) or not_a_page(response)


def _refused_request(
    request: Request, spider: Spider, config: Config, *, scheduled: bool
) -> str | None:
    callback = callback_name(request, spider)
    for refused, reason in (
        (request.callback is NO_CALLBACK, "no-callback"),
        (request.callback is None and not scheduled, "inline"),
        (run_by_tool(spider), "tool"),
        (callback is None, "foreign-callback"),
        (request.method == "HEAD", "head"),
        (request.meta.get(META_OPTIONS) is False, "meta"),
        (bool(config.callbacks) and callback not in config.callbacks, "callback"),
    ):
        if refused:
            return reason
    return None


def is_start(request: Request) -> bool:
    """Tell whether a request is one that the crawl began with, and not one that got its meta."""
    return bool(request.meta.get("is_start_request")) and not request.meta.get("depth")


def run_by_tool(spider: Spider) -> bool:
    """Tell whether ``scrapy fetch``, ``check`` or ``parse`` runs the spider.

    They all replace its ``start`` by a function of their own.
    """
    start = getattr(type(spider).start, "__globals__", {})
    return str(start.get("__name__", "")).startswith("scrapy.commands.")


def callback_name(request: Request, spider: Spider) -> str | None:
    """Return the name of the spider's callback for a request, None where it is not its own.

    What ``scrapy shell`` and others put in its place lives in their modules. A CrawlSpider's
    callback is the one of the rule that the request came from.
    """
    callback: Any = request.callback
    if callback is None:
        return "parse"
    while isinstance(callback, functools.partial):
        callback = callback.func
    name = getattr(callback, "__name__", None)
    if getattr(callback, "__self__", None) is spider:
        return _rule_callback(request, spider) or name
    module = getattr(callback, "__globals__", {}).get("__name__")
    if module is not None and any(module == base.__module__ for base in _own_classes(spider)):
        return name
    return None


def _own_classes(spider: Spider) -> list[type]:
    return [base for base in type(spider).__mro__ if not base.__module__.startswith("scrapy.")]


def _rule_callback(request: Request, spider: Spider) -> str | None:
    rules = getattr(spider, "_rules", None)
    number = request.meta.get("rule")
    if rules is None or not isinstance(number, int) or number >= len(rules):
        return None
    callback = rules[number].callback
    return callback if isinstance(callback, str) else getattr(callback, "__name__", None)
