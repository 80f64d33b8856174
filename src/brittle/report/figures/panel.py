"""Small drawings with the same axes, for the page and for a figure of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from brittle.report.figures.look import width_of
from brittle.report.figures.plot import Plot
from brittle.report.figures.sheet import MARGIN, WIDTH, sheet
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.models import Looks, short

GAP, HEAD = 24, 44
BANDS = 3
"""More bands than these hide each other."""


@dataclass(frozen=True)
class Panel:
    """A drawing with its title, a line below it, and a sentence for those who cannot see it."""

    title: str
    about: str
    width: float
    height: float
    body: Html
    label: str

    def svg(self, **where: object) -> Html:
        """The drawing alone."""
        box = f"0 0 {short(self.width)} {short(self.height)}"
        return tag("svg", self.body, viewBox=box, role="img", aria_label=self.label, class_="plot", **where)

    def figure(self) -> Html:
        """With its title, for a page."""
        caption = tag("figcaption", tag("b", self.title, title=self.title), tag("span", self.about, class_="about"))
        return tag("figure", caption, self.svg(), class_="panel")


def panel_sheet(
    title: str, note: str, panels: Sequence[Panel], looks: Looks | None = None, *, one_row: bool = False
) -> Html:
    """Panels beside and below each other, or all in one row, as one SVG file with a legend of the models."""
    if not panels:
        raise ValueError(f"there is nothing to draw for {title!r}")
    wide = max(panel.width for panel in panels)
    across = max(1, min(len(panels), int((WIDTH - 2 * MARGIN + GAP) // (wide + GAP))))
    across = len(panels) if one_row else 2 if len(panels) == 4 and across == 3 else across
    legend, top = (None, 0.0) if looks is None else _legend(looks, WIDTH - 2 * MARGIN)
    parts: list[Html | None] = [legend]
    high = max(panel.height for panel in panels)
    for place, panel in enumerate(panels):
        row, column = divmod(place, across)
        before = sum(other.width for other in panels[:place]) if one_row else column * wide
        x, y = MARGIN + before + column * GAP, top + row * (high + HEAD + GAP)
        parts += [
            tag("text", panel.title, x=short(x), y=short(y + 14), class_="strong"),
            tag("text", panel.about, x=short(x), y=short(y + 31), class_="soft small"),
            panel.svg(x=short(x), y=short(y + HEAD), width=short(panel.width), height=short(panel.height)),
        ]
    rows = -(-len(panels) // across)
    height = top + rows * (high + HEAD + GAP) - GAP
    label = f"{title}. {' '.join(panel.label + '.' for panel in panels)}"
    taken = sum(panel.width for panel in panels) if one_row else across * wide
    width = max(2 * MARGIN + taken + (across - 1) * GAP, WIDTH * 2 / 3, 2 * MARGIN + width_of(title, 20))
    return sheet(title, note, together(parts), width=width, height=height, label=label)


def _legend(looks: Looks, width: float) -> tuple[Html | None, float]:
    """Who is who, in rows; and how high that is."""
    if len(looks.order) < 2:
        return None, 0.0
    parts, x, y = [], float(MARGIN), 8.0
    for model in looks.order:
        need = 34 + width_of(model, 13) + 22
        if x > MARGIN and x + need > MARGIN + width:
            x, y = float(MARGIN), y + 22
        look = looks[model]
        line = tag("line", x1=short(x), x2=short(x + 26), y1=short(y), y2=short(y), class_="line",
                   stroke_dasharray=look.dash)  # fmt: skip
        parts.append(tag("g", line, look.marker(x + 13, y, 4) if look.shown else None, class_=look.name))
        parts.append(tag("text", model, x=short(x + 34), y=short(y + 4.5)))
        x += need
    return together(parts), y + 26


def band(plot: Plot, xs: Sequence[float], low: Sequence[float], high: Sequence[float]) -> Html:
    """The area between two lines."""
    there, back = list(zip(xs, high, strict=True)), list(zip(xs, low, strict=True))[::-1]
    return tag("path", d=plot.path([*there, *back]) + "Z", class_="band")


def scale_name(plot: Plot) -> Html:
    """What is along the bottom."""
    x, y = plot.left + plot.width / 2, plot.top + plot.height + 34
    return tag("text", "scale", x=short(x), y=short(y), class_="mid soft")


def hit(plot: Plot, low: float, high: float, tip: str) -> Html:
    """An invisible column that shows a tip."""
    left, right = plot.x(max(low, plot.xs[0])), plot.x(min(high, plot.xs[1]))
    where = {"x": short(left), "y": short(plot.top), "width": short(right - left), "height": short(plot.height)}
    return tag("rect", tag("title", tip), class_="hit", fill="transparent", **where)


def between(xs: Sequence[float], place: int) -> tuple[float, float]:
    """From halfway to the value before to halfway to the next."""
    half = [(b - a) / 2 for a, b in pairwise(xs)] or [0.5]
    before = half[place - 1] if place else half[0]
    after = half[place] if place < len(half) else half[-1]
    return xs[place] - before, xs[place] + after
