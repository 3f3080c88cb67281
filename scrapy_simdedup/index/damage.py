"""What goes wrong with an index file, in words: the absolute path, the cause, and the remedy."""

from __future__ import annotations

import shlex
import sqlite3
from pathlib import Path

from scrapy_simdedup.exceptions import IndexUnusable

_CORRUPT, _NOT_A_DATABASE = 11, 26


def is_damage(error: BaseException | None) -> bool:
    """Tell whether an error of SQLite, or the one that it came of, means a damaged file."""
    while isinstance(error, IndexUnusable):
        error = error.__cause__
    if not isinstance(error, sqlite3.DatabaseError):
        return False
    said = str(error)
    # Bytes that are no text where a text was stored have no code of their own.
    if "decode to UTF-8" in said:
        return True
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        # Python 3.10 gives no code, and at times no message; this class itself is what it makes of
        # these two codes, and a subclass of nearly everything else.
        return type(error) is sqlite3.DatabaseError
    return code & 0xFF in (_CORRUPT, _NOT_A_DATABASE)


def check_command(path: Path | str) -> str:
    """Return the command that tells more of an index."""
    return f"scrapy simdedup check --index {shlex.quote(str(path))}"


def rebuild_command(path: Path | str) -> str:
    """Return the command that signs the stored texts of an index anew."""
    return f"scrapy simdedup rebuild --index {shlex.quote(str(path))}"


def rescue(path: Path) -> str:
    """Say what is left to do with a damaged file, which ours to mend it is not."""
    new = path.with_name(f"rescued-{path.name}")
    command = f"sqlite3 {shlex.quote(str(path))} .recover | sqlite3 {shlex.quote(str(new))}"
    return (
        "Bring back a backup, or move it aside (with its -wal file) and start anew; where the"
        f" sqlite3 program can, save what is still readable: {command}, then"
        f" {check_command(new)} --repair."
    )


def unusable(path: Path, error: Exception) -> IndexUnusable:
    """Return the error that tells why a file could not be opened, and what to do."""
    if "not a database" in str(error):
        return IndexUnusable(
            f"{path} is no index of scrapy-simdedup, or its beginning is damaged: {error}. It was"
            " left untouched: move it aside, or name another file in SIMDEDUP_INDEX."
        )
    if is_damage(error):
        return IndexUnusable(
            f"{path} is damaged: {error}. It was left untouched; {check_command(path)} tells"
            f" more. {rescue(path)}"
        )
    if "locked" in str(error):
        return IndexUnusable(
            f"cannot open {path}: {error}. Another program holds it; end that one, or try again"
            " later."
        )
    if "full" in str(error):
        return IndexUnusable(
            f"cannot write to {path}: {error}. What was begun last has been undone; make room in"
            " its folder and try again."
        )
    return IndexUnusable(
        f"cannot open {path}: {error}. See that this file and its folder can be written to, or"
        " name another file in SIMDEDUP_INDEX."
    )
