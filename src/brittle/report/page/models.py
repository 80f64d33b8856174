"""How each model looks: a colour, a line style and a marker, so that none is told by its colour alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from brittle.report.page.markup import Html, tag
from brittle.report.page.palette import MODELS

DASHES = (None, "6 3", "2 2.5", "8 3 2 3", "10 4", "4 2 1 2 1 2")


@dataclass(frozen=True)
class Look:
    """The place of a model among those of the page, best first; the first few have a colour, the others are grey."""

    place: int

    @property
    def shown(self) -> bool:
        """Whether it has a colour of its own."""
        return self.place < len(MODELS)

    @property
    def name(self) -> str:
        """The CSS class."""
        return f"m{self.place}" if self.shown else "rest"

    @property
    def dash(self) -> str | None:
        """The line style."""
        return DASHES[self.place] if self.shown else None

    def marker(self, x: float, y: float, size: float = 3.2) -> Html:
        """The marker at a point of a drawing."""
        if self.place % len(MODELS) == 0:
            return tag("circle", cx=short(x), cy=short(y), r=short(size), class_="mark")
        corners = _CORNERS[self.place % len(MODELS)]
        path = "M" + "L".join(f"{short(x + size * dx)} {short(y + size * dy)}" for dx, dy in corners) + "Z"
        return tag("path", d=path, class_="mark")

    def swatch(self) -> Html:
        """A piece of the line with its marker, for legends."""
        line = tag("line", x1=1, y1=6, x2=27, y2=6, class_="line", stroke_dasharray=self.dash)
        return tag(
            "svg",
            line,
            self.marker(14, 6, 4) if self.shown else None,
            class_=f"swatch {self.name}",
            viewBox="0 0 28 12",
            width=28,
            height=12,
            aria_hidden="true",
        )


_CORNERS = (
    (),
    ((-0.95, -0.95), (0.95, -0.95), (0.95, 0.95), (-0.95, 0.95)),
    ((0, -1.25), (1.15, 0.85), (-1.15, 0.85)),
    ((0, -1.35), (1.35, 0), (0, 1.35), (-1.35, 0)),
    ((0, 1.25), (1.15, -0.85), (-1.15, -0.85)),
    ((-0.4, -1.3), (0.4, -1.3), (0.4, -0.4), (1.3, -0.4), (1.3, 0.4), (0.4, 0.4), (0.4, 1.3), (-0.4, 1.3), (-0.4, 0.4),
     (-1.3, 0.4), (-1.3, -0.4), (-0.4, -0.4)),
)  # fmt: skip


class Looks:
    """The look of every model of the page, the same in all its parts."""

    def __init__(self, order: Sequence[str]) -> None:
        self.order = list(order)
        self._of = {model: Look(place) for place, model in enumerate(self.order)}

    def __getitem__(self, model: str) -> Look:
        return self._of[model]

    def legend(self, models: Sequence[str]) -> Html | None:
        """Who is who; nothing if there is only one."""
        if len(models) < 2:
            return None
        shown = [model for model in models if self[model].shown]
        items = [tag("li", self[model].swatch(), model) for model in shown]
        rest = len(models) - len(shown)
        if rest:
            items.append(tag("li", Look(len(MODELS)).swatch(), f"{rest} other model{'s' if rest > 1 else ''}"))
        return tag("ul", *items, class_="legend")


def short(value: float) -> str:
    """A length with one decimal at most."""
    return f"{value:.1f}".removesuffix(".0")
