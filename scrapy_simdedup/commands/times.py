"""Times as they are given on the command line, and as the log has them."""

from __future__ import annotations

import argparse
from datetime import date, datetime, timedelta, timezone


def since(given: str) -> str:
    """Return the first time that a date or a time lets through."""
    return _written(given, timedelta())


def until(given: str) -> str:
    """Return the first time that is too late: a date lasts until its end."""
    try:
        date.fromisoformat(given)
    except ValueError:
        # The log is exact to the millisecond.
        return _written(given, timedelta(milliseconds=1))
    return _written(given, timedelta(days=1))


def _written(given: str, later: timedelta) -> str:
    try:
        # Python 3.10 does not know the Z.
        moment = datetime.fromisoformat(given.removesuffix("Z")) + later
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=timezone.utc)
        return moment.astimezone(timezone.utc).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(
            f"{given!r} is neither a date (2026-05-01) nor a time (2026-05-01T06:30)"
        ) from None
