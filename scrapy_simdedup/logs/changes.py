"""What would change a verdict: each limit by itself, by as little as it takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from scrapy_simdedup.config import PREFIX, Config
from scrapy_simdedup.logs.pair import Finding, judge_pair
from scrapy_simdedup.logs.sides import Side


@dataclass(frozen=True)
class Change:
    """A single setting that would turn the verdict into another one, and its nearest value."""

    setting: str
    value: float | list[int]
    verdict: str


def shorter(kept: Side, new: Side) -> list[Change]:
    """Return the limit by which no page of the two would be too short, where there is one."""
    reasons = {side.analysis.reason for side in (kept, new) if side.analysis} - {None}
    least = min(kept.terms, new.terms)
    if reasons != {"too-short"} or not least:
        return []
    return [Change(f"{PREFIX}MIN_TERMS", least, "judged")]


def changes(kept: Side, new: Side, config: Config, found: Finding) -> Iterator[Change]:
    """Try each limit by itself, in steps away from its value, until the verdict is another."""
    for name, values in _trials(kept, new, config, stricter=found.method is not None):
        for value in values:
            verdict = judge_pair(kept, new, config.override({name: value})).verdict
            if verdict != found.verdict:
                written = list(value) if isinstance(value, tuple) else value
                yield Change(PREFIX + name.upper(), written, verdict)
                break


def _trials(
    kept: Side, new: Side, config: Config, *, stricter: bool
) -> Iterator[tuple[str, list[Any]]]:
    """Return each limit with the values to try, the nearest first."""
    for name in ("min_resemblance", "min_containment", "numbers", "names"):
        yield name, _steps(getattr(config, name), up=stricter)
    bits = min(config.limits.distance_for(side.terms) for side in (kept, new))
    yield "max_distance", list(range(bits - 1, -1, -1) if stricter else range(bits + 1, 65))
    most, least = config.segments
    shares = range(least + 1, most + 1) if stricter else range(least - 1, 0, -1)
    yield "segments", [(most, each) for each in shares]
    yield "keyword_distance", _steps(config.keyword_distance, up=not stricter)


def _steps(start: float, *, up: bool) -> list[float]:
    """Return the hundredths above a limit, or below it, from the nearest to 1 or to 0."""
    hundredths = [each / 100 for each in range(101)]
    above = [each for each in hundredths if each > start]
    return above if up else [each for each in reversed(hundredths) if each < start]
