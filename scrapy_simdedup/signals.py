"""Signals that scrapy-simdedup sends."""

from __future__ import annotations

#: Sent for each page or item judged a near-duplicate, before it is tagged or dropped. Handlers
#: get ``verdict`` (:class:`~scrapy_simdedup.Verdict`), ``spider``, ``response`` (None for an
#: item judged by its own fields) and ``item`` (None for a page); they may be coroutines.
near_duplicate_found = object()
