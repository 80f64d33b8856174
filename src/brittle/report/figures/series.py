"""Several things in one plot: a colour and a shape for each, and a key."""

from __future__ import annotations

from collections.abc import Sequence

from brittle.report.figures.look import width_of
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.models import short
from brittle.report.page.palette import MODELS, on_dark, on_light

KEY = 26
"""The height of a key."""


def series_css() -> Html:
    """Classes s0, s1, … for fills and l0, l1, … for lines."""

    def rules(shown: Sequence[str]) -> str:
        parts = (f".s{i}{{fill:{c}}}.l{i}{{stroke:{c};fill:none;stroke-width:2}}" for i, c in enumerate(shown))
        return "".join(parts)

    light, dark = ([shade(colour) for colour in MODELS] for shade in (on_light, on_dark))
    return tag("style", Html(f"{rules(light)}@media (prefers-color-scheme:dark){{{rules(dark)}}}"))


def marker(number: int, x: float, y: float, *, tip: str = "", size: float = 4.5) -> Html:
    """The mark of a series: a disc, a square, a diamond or a triangle."""
    kind, colour = number % 4, f"s{number % len(MODELS)}"
    child = tag("title", tip) if tip else None
    if kind == 0:
        return tag("circle", child, cx=short(x), cy=short(y), r=size, class_=colour)
    r = size * (0.9 if kind == 1 else 1.25)
    corners = {
        1: ((-r, -r), (r, -r), (r, r), (-r, r)),
        2: ((0, -r), (r, 0), (0, r), (-r, 0)),
        3: ((0, -r), (r, 0.8 * r), (-r, 0.8 * r)),
    }[kind]
    points = " ".join(f"{short(x + a)},{short(y + b)}" for a, b in corners)
    return tag("polygon", child, points=points, class_=colour)


def key(names: Sequence[str], left: float, top: float, *, lines: bool = False) -> Html:
    """Marks and names beside each other."""
    parts, x = [], left
    for number, name in enumerate(names):
        if lines:
            y = short(top - 4)
            parts.append(tag("line", x1=short(x), x2=short(x + 20), y1=y, y2=y, class_=f"l{number % len(MODELS)}"))
        parts.append(marker(number, x + (10 if lines else 5), top - 4))
        start = x + (26 if lines else 15)
        parts.append(tag("text", name, x=short(start), y=short(top)))
        x = start + width_of(name, 13) + 20
    return together(parts)
