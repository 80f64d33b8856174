"""Charts of the page."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from brittle.metrics import Estimate
from brittle.report.html import Child, Html, ModelStyle, ModelStyles, concat, fmt, interval, percent, tag


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
        return "M" + "L".join(f"{fmt(self.x(x))} {fmt(self.y(y))}" for x, y in points)

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
            lines.append(tag("line", x1=fmt(left), x2=fmt(right), y1=fmt(y), y2=fmt(y), class_="grid"))
            lines.append(tag("text", f"{100 * i * every:.0f}", x=fmt(left - 5), y=fmt(y + 3.5), class_="tick end"))
        for value, name in ticks:
            where = {"x": fmt(self.x(value)), "y": fmt(self.height - self.margins[2] + 14)}
            lines.append(tag("text", name, class_="tick mid", **where))
        return concat(lines)

    def hit(self, low: float, high: float, tip: str) -> Html:
        """An invisible column that shows a tip."""
        left, right = self.x(max(low, 0)), self.x(min(high, self.right))
        above, _, below, _ = self.margins
        return tag(
            "rect",
            tag("title", tip),
            x=fmt(left),
            y=fmt(above),
            width=fmt(right - left),
            height=fmt(self.height - above - below),
            class_="hit",
        )

    def drawing(self, label: str, *children: Html | list[Html] | None) -> Html:
        """The finished drawing, with a sentence for those who cannot see it."""
        box = f"0 0 {fmt(self.width)} {fmt(self.height)}"
        return tag("svg", *children, viewBox=box, role="img", aria_label=label, class_="plot")


def share_axis(most: float) -> tuple[float, float]:
    """The top of an axis for shares up to `most`, and the step of its grid."""
    top = min(max(math.ceil(most * 5 - 1e-9), 1), 5) / 5
    return top, 0.2 if top > 0.4 else 0.1


def severity_ticks(most: float) -> list[tuple[float, str]]:
    """Round severities from 0 to the largest, at most seven."""
    step = next((s for s in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50) if most / s <= 6), most)
    return [(i * step, f"{i * step:.4g}") for i in range(int(most / step + 1e-9) + 1)]


@dataclass(frozen=True)
class Bar:
    """The bar of one model: its estimate, its clean accuracy, and named dots beside it."""

    model: str
    estimate: Estimate
    clean: Estimate | None
    dots: list[tuple[str, float]] = field(default_factory=list)


def group(title: Html, bars: Sequence[Bar], looks: ModelStyles) -> Html:
    """The bars of several models under one title; models without a colour share one line of ticks."""
    shown = [bar for bar in bars if looks[bar.model].shown]
    rest = [bar for bar in bars if not looks[bar.model].shown]
    rows = [_row(bar, looks[bar.model], named=len(looks.order) > 1) for bar in shown]
    if rest:
        ticks = [_dot(bar.model, bar.estimate.value) for bar in rest]
        rows.append(_line(f"{len(rest)} others", "rest", tag("span", *ticks, class_="strip"), ""))
    return tag("div", title, *rows, class_="bar-group")


def _row(bar: Bar, look: ModelStyle, *, named: bool) -> Html:
    estimate = bar.estimate
    low, high = estimate.low or 0.0, estimate.high or 0.0
    parts = [
        tag("span", class_="bar", style=f"width:{_at(estimate.value)}"),
        tag("span", class_="whisker", style=f"left:{_at(low)};width:{_at(high - low)}"),
    ]
    if bar.clean is not None:
        at = bar.clean.value
        parts.append(tag("span", class_="clean-mark", style=f"left:{_at(at)}", title=f"clean {percent(at)}"))
    if bar.dots:
        parts.append(tag("span", *(_dot(*dot) for dot in bar.dots), class_="strip"))
    return _line(bar.model if named else "", look.name, parts, _value(estimate), look.swatch() if named else None)


def _line(name: str, look: str, track: Child, value: Child, swatch: Html | None = None) -> Html:
    label = tag("span", swatch, name, class_="bar-name") if name else None
    return tag("div", label, tag("span", track, class_="track"), tag("span", value, class_="bar-value"),
               class_=f"bar-row {look}{'' if name else ' alone'}")  # fmt: skip


def _value(estimate: Estimate) -> list[Html]:
    return [tag("b", percent(estimate.value)), tag("span", interval(estimate), class_="ci")]


def _dot(name: str, value: float) -> Html:
    return tag("span", class_="dot", style=f"left:{_at(value)}", title=f"{name}\n{percent(value)}")


def _at(share: float) -> str:
    return f"{100 * share:.2f}%"


def scale() -> Html:
    """The numbers of the axis."""
    marks = [tag("span", f"{at}", style=f"left:{at}%") for at in range(0, 101, 25)]
    return tag("div", tag("span", *marks, class_="track"), class_="bar-row bar-scale", aria_hidden="true")
