"""Bars on a line from 0 to 100 %, with whiskers, dots beside them, and a mark where the clean accuracy lies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from brittle.metrics import Estimate
from brittle.report.page.markup import Child, Html, tag
from brittle.report.page.models import Look, Looks
from brittle.report.page.numbers import interval, percent


@dataclass(frozen=True)
class Bar:
    """The bar of one model: its estimate, its clean accuracy, and named dots beside it."""

    model: str
    estimate: Estimate
    clean: Estimate | None
    dots: list[tuple[str, float]] = field(default_factory=list)


def group(title: Html, bars: Sequence[Bar], looks: Looks) -> Html:
    """The bars of several models under one title; models without a colour share one line of ticks."""
    shown = [bar for bar in bars if looks[bar.model].shown]
    rest = [bar for bar in bars if not looks[bar.model].shown]
    rows = [_row(bar, looks[bar.model], named=len(looks.order) > 1) for bar in shown]
    if rest:
        ticks = [_dot(bar.model, bar.estimate.value) for bar in rest]
        rows.append(_line(f"{len(rest)} others", "rest", tag("span", *ticks, class_="strip"), ""))
    return tag("div", title, *rows, class_="bar-group")


def _row(bar: Bar, look: Look, *, named: bool) -> Html:
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
