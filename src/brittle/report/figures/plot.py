"""A frame for lines: where values stand, grid lines, and round numbers along two sides."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from brittle.report.page.markup import Html, tag, together
from brittle.report.page.models import short


@dataclass(frozen=True)
class Plot:
    """A rectangle on the paper, with x from `xs[0]` to `xs[1]` and y from `ys[0]` to `ys[1]`."""

    left: float
    top: float
    width: float
    height: float
    xs: tuple[float, float]
    ys: tuple[float, float]

    def x(self, value: float) -> float:
        """Where a value stands from the left."""
        return self.left + self.width * (value - self.xs[0]) / (self.xs[1] - self.xs[0])

    def y(self, value: float) -> float:
        """Where a value stands from above."""
        return self.top + self.height * (1 - (value - self.ys[0]) / (self.ys[1] - self.ys[0]))

    def path(self, points: Iterable[tuple[float, float]]) -> str:
        """A line through points."""
        return "M" + "L".join(f"{short(self.x(x))} {short(self.y(y))}" for x, y in points)

    def frame(self, across: Iterable[float], up: Iterable[float], *, numbers: bool = True) -> Html:
        """Grid lines at the heights `up`, and numbers at both; `numbers=False` leaves out those below."""
        right, bottom = self.left + self.width, self.top + self.height
        parts = []
        for value in up:
            y = short(self.y(value))
            parts.append(tag("line", x1=short(self.left), x2=short(right), y1=y, y2=y, class_="grid"))
            at = {"x": short(self.left - 7), "y": short(self.y(value) + 4.5)}
            parts.append(tag("text", _number(value), class_="end soft", **at))
        for value in across:
            x = short(self.x(value))
            parts.append(tag("line", x1=x, x2=x, y1=short(bottom), y2=short(bottom + 4), class_="grid"))
            if numbers:
                parts.append(tag("text", _number(value), x=x, y=short(bottom + 18), class_="mid soft"))
        return together(parts)

    def across(self, value: float) -> Html:
        """A dashed line at a height."""
        y = short(self.y(value))
        return tag("line", x1=short(self.left), x2=short(self.left + self.width), y1=y, y2=y, class_="target")

    def down(self, value: float) -> Html:
        """A dashed line from top to bottom."""
        x = short(self.x(value))
        return tag("line", x1=x, x2=x, y1=short(self.top), y2=short(self.top + self.height), class_="target")


def _number(value: float) -> str:
    return f"{value:g}".replace("-", "−")


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers from low to high, at most so many."""
    if high <= low:
        return [low]
    rough = (high - low) / most
    unit = 10 ** math.floor(math.log10(rough))
    step = next(unit * size for size in (1, 2, 5, 10) if unit * size >= rough * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [round(i * step, 10) for i in range(first, math.floor(high / step + 1e-9) + 1)]
