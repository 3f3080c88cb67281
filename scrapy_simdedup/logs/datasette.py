"""Metadata for datasette: titles, descriptions and ready-made queries for index files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

# The name that stands for an index in the packaged file, and the line where it does.
_PLACE = "  index:\n"


def metadata(indexes: Sequence[Path]) -> str:
    """Return the packaged metadata, as YAML, for index files under their names in datasette.

    datasette calls a file by its name without the ending; of equal ones the second gets ``_2``,
    and so on.
    """
    text = files("scrapy_simdedup.logs").joinpath("datasette.yaml").read_text(encoding="utf-8")
    first, *others = [f"  {json.dumps(name, ensure_ascii=False)}:" for name in _names(indexes)]
    before, after = text.split(_PLACE)
    aliases = "".join(f"{name} *index\n" for name in others)
    return f"{before}{first} &index\n{after}{aliases}"


def _names(indexes: Sequence[Path]) -> list[str]:
    names: list[str] = []
    for index in indexes:
        name, number = index.stem, 2
        while name in names:
            name, number = f"{index.stem}_{number}", number + 1
        names.append(name)
    return names
