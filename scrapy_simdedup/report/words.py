"""Numbers, times and foreign text as a person reads them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

# What has no glyph or turns the reading direction: control characters, marks and overrides of
# direction, zero-width characters, separators of lines, halves of surrogate pairs.
HIDDEN = (
    r"[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    r"\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_HIDDEN = re.compile(HIDDEN)

_IRREGULAR = {"copy": "copies", "was": "were", "has": "have", "is": "are"}


def visible(text: str) -> str:
    """Return a text with each character that hides or turns others as ``<U+202E>``."""
    return _HIDDEN.sub(lambda found: f"<U+{ord(found[0]):04X}>", text)


def number(value: int) -> str:
    """Return a number with its thousands apart."""
    return f"{value:,}"


def plural(count: int, noun: str) -> str:
    """Return a number and what it counts: ``1 page``, ``1,234 copies``."""
    return f"{count:,} {form(count, noun)}"


def form(count: int, word: str) -> str:
    """Return a noun, or ``is``, ``was`` and ``has``, as it stands beside a number."""
    return word if count == 1 else _IRREGULAR.get(word, f"{word}s")


def share(part: int, whole: int) -> str:
    """Return a share in percent; what is neither nothing nor all never looks like it."""
    if not whole:
        return "0%"
    percent = 100 * part / whole
    if 0 < percent < 1:
        return "<1%"
    if 99 < percent < 100:
        return ">99%"
    return f"{percent:.0f}%"


def size(count: int) -> str:
    """Return a number of bytes: ``412 KB``, ``2.6 MB``."""
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{max(1, round(count / 1e3))} KB"


def read_time(written: str | None) -> datetime | None:
    """Return a time of the log, in UTC; None where it is none."""
    try:
        found = datetime.fromisoformat(written or "")
    except ValueError:
        return None
    return found.astimezone(timezone.utc) if found.tzinfo else found.replace(tzinfo=timezone.utc)


def day(time: datetime | None) -> str:
    """Return a day as ``30 November 2026``."""
    return f"{time.day} {time:%B %Y}" if time else "an unknown day"


def moment(time: datetime | None) -> str:
    """Return a time as ``30 November 2026, 14:48 UTC``."""
    return f"{day(time)}, {time:%H:%M} UTC" if time else "at an unknown time"


def duration(span: timedelta) -> str:
    """Return a length of time in its two largest units: ``3 min 20 s``."""
    seconds = max(0.0, span.total_seconds())
    if 0 < seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 10:
        return f"{seconds:.2g} s"
    whole = round(seconds)
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    units = [(days, "d"), (hours, "h"), (minutes, "min"), (rest, "s")]
    first = next(at for at, (count, _) in enumerate(units) if count)
    return " ".join(f"{count} {unit}" for count, unit in units[first : first + 2] if count)
