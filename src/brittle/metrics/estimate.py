"""A number with its name and its error bar."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """One metric of one model: a value and, unless it was only printed somewhere, its confidence interval.

    Values are plain numbers; with `percent` they are fractions and print as percents. `method` says how
    the interval was made, `n` from how many samples.
    """

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    n: int | None = None
    method: str = ""
    percent: bool = True

    def __post_init__(self) -> None:
        if not self.name or self.name.upper() == "CE":
            raise ValueError(f"{self.name!r} says too little; name it mCE, relative mCE, unnormalised error, …")
        if (self.low is None) != (self.high is None):
            raise ValueError(f"an interval has two ends, got low={self.low!r} and high={self.high!r}")

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        text = f"{self.name} {self._number(self.value)}{' %' if self.percent else ''}"
        if self.low is None or self.high is None:
            return text
        return f"{text} [{self._number(self.low)}, {self._number(self.high)}]"

    def _number(self, value: float) -> str:
        return f"{100 * value:.1f}" if self.percent else f"{value:.3f}"
