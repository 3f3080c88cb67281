"""What is written: files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scrapy_simdedup.exceptions import SimDedupError


class Unwritable(SimDedupError):
    """What was to be written cannot be; the message says where."""


class _ErrorsOf:
    """Turns an OSError into one that tells what could not be written."""

    def __init__(self, name: object) -> None:
        self._name = name

    def __enter__(self) -> None: ...

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        # Whoever reads a pipe may end it; that is no error of ours.
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            raise Unwritable(f"cannot write {self._name}: {error.strerror or error}") from error


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Give the path of a new file that takes the place of ``path`` when all went well.

    Raises Unwritable for whatever OSError comes up meanwhile.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        raise Unwritable(f"cannot write {path}: it is no regular file")
    beside = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with _ErrorsOf(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            yield beside
            beside.replace(path)
    finally:
        with contextlib.suppress(OSError):
            beside.unlink()
