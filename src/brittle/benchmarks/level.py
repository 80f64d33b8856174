"""A level of a benchmark: a severity, or a range from which each sample's severity is drawn."""

from __future__ import annotations

from typing import Any

from brittle.corruptions import Corruption, Draws
from brittle.corruptions.draws import Sample
from brittle.corruptions.severity import check_severity

Level = float | tuple[float, float]


def check_level(level: Any, corruption: Corruption) -> Level:
    """The level as a float or as a pair of floats, or one sentence that says what is wrong with it."""
    if not isinstance(level, list | tuple):
        return check_severity(level, corruption.max_severity)
    if len(level) != 2:
        raise ValueError(f"a range of severities is a pair [low, high], got {level!r} for {corruption.id}")
    low, high = (check_severity(end, corruption.max_severity) for end in level)
    if low >= high:
        raise ValueError(f"a range of severities goes from low to high, got {list(level)} for {corruption.id}")
    return low, high


def severity_of(level: Level, seed: int, corruption: Corruption, sample: Sample) -> float:
    """The severity of one sample: the level itself, or the sample's own draw from the range."""
    if not isinstance(level, tuple):
        return level
    return Draws(seed, corruption.id, sample).uniform("severity", *level)


def level_name(level: Level) -> str:
    """1.0 is "1", 2.5 is "2.5", and the range from 1 to 5 is "1-5"."""
    if isinstance(level, tuple):
        return "-".join(map(level_name, level))
    return str(int(level)) if level == int(level) else repr(level)


def ends(level: Level) -> tuple[float, float]:
    """The smallest and the largest severity of a level, by which levels are put in order."""
    return level if isinstance(level, tuple) else (level, level)
