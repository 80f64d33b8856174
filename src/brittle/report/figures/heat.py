"""A grid of coloured cells with names on two sides, numbers in the cells, and a key."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from brittle.metrics.fraction import Floats
from brittle.report.figures.look import width_of
from brittle.report.figures.sheet import MARGIN
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.models import short
from brittle.report.page.palette import STEPS, step

KEY = 54
SLANT = math.radians(55)


@dataclass(frozen=True)
class Heat:
    """Values in rows and columns, NaN hatched; colours go from `low` to `high`, numbers have so many decimals."""

    values: Floats
    rows: Sequence[str]
    columns: Sequence[str]
    cell: tuple[float, float]
    low: float = 0.0
    high: float = 1.0
    ramp: str = "o"
    numbers: bool = True
    decimals: int = 2
    tip: Callable[[int, int], str] = field(default=lambda _i, _j: "")
    hidden: Callable[[int, int], bool] = field(default=lambda _i, _j: False)

    @property
    def left(self) -> float:
        """Where the first column begins."""
        return MARGIN + max(width_of(name, 13) for name in self.rows) + 8

    @property
    def top(self) -> float:
        """Where the first row begins: below the names of the columns, which are written aslant."""
        return max(width_of(name, 13) for name in self.columns) * math.sin(SLANT) + 14

    @property
    def right(self) -> float:
        """Where the last column ends."""
        return self.left + len(self.columns) * self.cell[0]

    @property
    def bottom(self) -> float:
        """Where the last row ends."""
        return self.top + len(self.rows) * self.cell[1]

    @property
    def overhang(self) -> float:
        """How far the name of a column may lean out to the right."""
        reach = [
            self.x(j + 0.5) + width_of(name, 13) * math.cos(SLANT) - self.right for j, name in enumerate(self.columns)
        ]
        return max(0.0, *reach) + MARGIN

    def x(self, column: float) -> float:
        """Where a column begins."""
        return self.left + column * self.cell[0]

    def y(self, row: float) -> float:
        """Where a row begins."""
        return self.top + row * self.cell[1]

    def drawing(self) -> Html:
        """Names and cells."""
        names = [
            tag("text", name, x=short(self.left - 8), y=short(self.y(i + 0.5) + 4.5), class_="end")
            for i, name in enumerate(self.rows)
        ]
        for j, name in enumerate(self.columns):
            at = f"translate({short(self.x(j + 0.5) + 4)} {short(self.top - 8)}) rotate(-{math.degrees(SLANT):.0f})"
            names.append(tag("text", name, transform=at))
        cells = [self._cell(i, j) for i in range(len(self.rows)) for j in range(len(self.columns))]
        return together(names, cells)

    def _cell(self, i: int, j: int) -> Html:
        value, (width, height) = float(self.values[i, j]), self.cell
        edge = 0.5 if width < 20 else 1.0
        box = {
            "x": short(self.x(j) + edge / 2),
            "y": short(self.y(i) + edge / 2),
            "width": short(width - edge),
            "height": short(height - edge),
        }
        tip = tag("title", self.tip(i, j)) if self.tip(i, j) else None
        if self.hidden(i, j):
            return tag("rect", tip, class_="self", **box)
        if math.isnan(value):
            return tag("rect", tip, fill="url(#hatch)", **box)
        colour = f"{self.ramp}{step((value - self.low) / (self.high - self.low))}"
        cell = tag("rect", tip, class_=colour, **box)
        if not self.numbers:
            return cell
        text = f"{value:.{self.decimals}f}".replace("-", "−") if value else "0"
        at = {"x": short(self.x(j + 0.5)), "y": short(self.y(i + 0.5) + 4)}
        size = "number big" if width >= 40 else "number"
        return together(cell, tag("text", text, class_=f"{size} {colour}t", pointer_events="none", **at))

    def key(self, what: str, *, masked: str = "") -> Html:
        """What the colours mean, below the cells; `masked` says what hatching means, if there is any."""
        y, width = self.bottom + 22, 9
        start = self.left
        low, high = (f"{end:g}".replace("-", "−") for end in (self.low, self.high))
        parts = [tag("text", low, x=short(start), y=short(y + 12))]
        start += width_of(low, 13) + 10
        for i in range(STEPS + 1):
            box = {"x": short(start + i * width), "y": short(y), "width": width, "height": 15}
            parts.append(tag("rect", class_=f"{self.ramp}{i}", **box))
        start += (STEPS + 1) * width + 6
        parts.append(tag("text", f"{high}  {what}", x=short(start), y=short(y + 12)))
        if masked:
            start += width_of(f"{high}  {what}", 13) + 24
            parts.append(tag("rect", x=short(start), y=short(y), width=22, height=15, fill="url(#hatch)"))
            parts.append(tag("text", masked, x=short(start + 28), y=short(y + 12)))
        return together(parts)
