"""What is written: text to a file or the screen, and files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import gzip
import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from scrapy_simdedup.exceptions import SimDedupError

_SCREEN = "standard output"


class Unwritable(SimDedupError):
    """What was to be written cannot be; the message says where."""


class Out:
    """A text stream whose errors name it: Unwritable, but a BrokenPipeError as it is."""

    def __init__(self, stream: TextIO, name: str) -> None:
        self._stream = stream
        self._name = name
        self.encoding = stream.encoding

    def write(self, text: str) -> int:
        """Write a text."""
        with _ErrorsOf(self._name):
            return self._stream.write(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write texts, as they come."""
        for line in lines:
            self.write(line)


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
def writing(path: Path | None) -> Iterator[Out]:
    """Open a file for UTF-8 text, compressed if its name ends in ``.gz``; None: the screen.

    Raises Unwritable, also where something is written, and BrokenPipeError.
    """
    if path is None:
        with _screen() as out:
            yield out
        return
    with _ErrorsOf(path):
        _make_folder(path.parent)
        file = _open(path)
    try:
        yield Out(file, str(path))
    except BaseException:
        with contextlib.suppress(OSError):
            file.close()
        raise
    with _ErrorsOf(path):
        file.close()


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        # What it says of a file in a folder's place, it says of none of the two.
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) from None


def _open(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return gzip.open(path, "wt", encoding="utf-8", newline="")
    return path.open("w", encoding="utf-8", newline="")


@contextmanager
def _screen() -> Iterator[Out]:
    if sys.stdout is None:
        raise Unwritable(f"cannot write {_SCREEN}: it is closed")
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A narrow terminal shows what it cannot print as escapes, and goes on.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        yield Out(sys.stdout, _SCREEN)
    finally:
        with _ErrorsOf(_SCREEN):
            _flush(sys.stdout)


def _flush(stream: TextIO) -> None:
    """Flush here, where errors are caught; the interpreter shall not try again at its end."""
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        raise


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
            _make_folder(path.parent)
            # Before the work, not after it, it turns out whether there can be one.
            beside.touch()
            yield beside
            beside.replace(path)
    finally:
        with contextlib.suppress(OSError):
            beside.unlink()
