"""Writing a verdict into an item's field, whatever kind of item it is."""

from __future__ import annotations

import logging
from typing import Any

from itemadapter import ItemAdapter

from scrapy_simdedup.verdict import Verdict

logger = logging.getLogger(__name__)


class Tagger:
    """Sets ``SIMDEDUP_TAG_FIELD``; an item class without that field is named once, and kept."""

    def __init__(self, field: str) -> None:
        self._field = field
        self._refused: set[type] = set()

    def tag(self, item: Any, verdict: Verdict | None) -> None:
        """Set the field to the verdict as a dict, to None where there is nothing to say."""
        if not self._field or type(item) in self._refused or not ItemAdapter.is_item(item):
            return
        value = None if verdict is None or verdict.status == "unique" else verdict.as_dict()
        try:
            ItemAdapter(item)[self._field] = value
        except (KeyError, AttributeError, TypeError, ValueError) as error:
            self._refused.add(type(item))
            logger.error(
                "SIMDEDUP_TAG_FIELD is %r, but items of class %s cannot take it (%s): declare the"
                " field; until then they stay untagged, and the verdict is in the dedup log",
                self._field,
                type(item).__qualname__,
                error,
            )
