"""A pipeline that stores at once: what is written is written, whatever becomes of the process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


class StoreAtOnce:
    """Appends each item's URL to a file, in one write."""

    @classmethod
    def from_crawler(cls, crawler: Any) -> StoreAtOnce:
        return cls(Path(crawler.settings["TEST_STORE"]))

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def process_item(self, item: Any, spider: Any = None) -> Any:
        os.write(self._file, item["url"].encode() + b"\n")
        return item
