"""Several things in one plot: a colour and a shape for each, and a key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from brittle.report.figures.look import width_of
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.models import short
from brittle.report.page.palette import MODELS

KEY = 26
"""The height of a key."""


def marker(number: int, x: float, y: float, *, tip: str = "", size: float = 4.5) -> Html:
    """The mark of a series: a disc, a square, a diamond or a triangle."""
    kind, child = number % 4, tag("title", tip) if tip else None
    if kind == 0:
        return coloured(number, tag("circle", child, cx=short(x), cy=short(y), r=size, class_="mark"))
    r = size * (0.9 if kind == 1 else 1.25)
    corners = {
        1: ((-r, -r), (r, -r), (r, r), (-r, r)),
        2: ((0, -r), (r, 0), (0, r), (-r, 0)),
        3: ((0, -r), (r, 0.8 * r), (-r, 0.8 * r)),
    }[kind]
    points = " ".join(f"{short(x + a)},{short(y + b)}" for a, b in corners)
    return coloured(number, tag("polygon", child, points=points, class_="mark"))


def stroke(number: int, **where: Any) -> Html:
    """A line of a series: x1, x2, y1 and y2, or the d of a path."""
    return coloured(number, tag("path" if "d" in where else "line", class_="line", **where))


def coloured(number: int, what: Html) -> Html:
    """Something in the colour of a series."""
    return tag("g", what, class_=f"m{number % len(MODELS)}")


def key(names: Sequence[str], left: float, top: float, *, lines: bool = False) -> Html:
    """Marks and names beside each other."""
    parts, x = [], left
    for number, name in enumerate(names):
        if lines:
            y = short(top - 4)
            parts.append(stroke(number, x1=short(x), x2=short(x + 20), y1=y, y2=y))
        parts.append(marker(number, x + (10 if lines else 5), top - 4))
        start = x + (26 if lines else 15)
        parts.append(tag("text", name, x=short(start), y=short(top)))
        x = start + width_of(name, 13) + 20
    return together(parts)
