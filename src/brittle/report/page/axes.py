"""The frame of a drawing: where a value stands, grid lines and their numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from brittle.report.page.markup import Html, tag, together
from brittle.report.page.models import short


@dataclass(frozen=True)
class Axes:
    """A drawing of `width` × `height`, with x from 0 to `right` and y, a share, from 0 to `top`."""

    width: float
    height: float
    right: float
    top: float
    margins: tuple[float, float, float, float] = (8, 8, 20, 30)

    def x(self, value: float) -> float:
        """Where a value stands from the left."""
        _, right, _, left = self.margins
        return left + (self.width - left - right) * value / self.right

    def y(self, share: float) -> float:
        """Where a share stands from above."""
        above, _, below, _ = self.margins
        return self.height - below - (self.height - above - below) * share / self.top

    def path(self, points: Iterable[tuple[float, float]]) -> str:
        """A line through points."""
        return "M" + "L".join(f"{short(self.x(x))} {short(self.y(y))}" for x, y in points)

    def band(self, xs: Sequence[float], low: Iterable[float], high: Iterable[float]) -> Html:
        """The area between two lines."""
        there = list(zip(xs, high, strict=True))
        back = list(zip(xs, low, strict=True))[::-1]
        return tag("path", d=self.path([*there, *back]) + "Z", class_="band")

    def frame(self, ticks: Iterable[tuple[float, str]], every: float) -> Html:
        """Grid lines at shares of `every`, and ticks below."""
        left, right = self.x(0), self.width - self.margins[1]
        lines = []
        for i in range(round(self.top / every) + 1):
            y = self.y(i * every)
            lines.append(tag("line", x1=short(left), x2=short(right), y1=short(y), y2=short(y), class_="grid"))
            lines.append(tag("text", f"{100 * i * every:.0f}", x=short(left - 5), y=short(y + 3.5), class_="tick end"))
        for value, name in ticks:
            where = {"x": short(self.x(value)), "y": short(self.height - self.margins[2] + 14)}
            lines.append(tag("text", name, class_="tick mid", **where))
        return together(lines)

    def hit(self, low: float, high: float, tip: str) -> Html:
        """An invisible column that shows a tip."""
        left, right = self.x(max(low, 0)), self.x(min(high, self.right))
        above, _, below, _ = self.margins
        return tag(
            "rect",
            tag("title", tip),
            x=short(left),
            y=short(above),
            width=short(right - left),
            height=short(self.height - above - below),
            class_="hit",
        )

    def drawing(self, label: str, *children: Html | list[Html] | None) -> Html:
        """The finished drawing, with a sentence for those who cannot see it."""
        box = f"0 0 {short(self.width)} {short(self.height)}"
        return tag("svg", *children, viewBox=box, role="img", aria_label=label, class_="plot")


def share_axis(most: float) -> tuple[float, float]:
    """The top of an axis for shares up to `most`, and the step of its grid."""
    top = min(max(math.ceil(most * 5 - 1e-9), 1), 5) / 5
    return top, 0.2 if top > 0.4 else 0.1


def severity_ticks(most: float) -> list[tuple[float, str]]:
    """Round severities from 0 to the largest, at most seven."""
    step = next((s for s in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50) if most / s <= 6), most)
    return [(i * step, f"{i * step:.4g}") for i in range(int(most / step + 1e-9) + 1)]
