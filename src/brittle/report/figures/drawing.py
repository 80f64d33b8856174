"""How figures in files are drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from textwrap import wrap
from typing import Any

from brittle._errors import BrittleError
from brittle._io import atomic_write
from brittle._types import FloatArray
from brittle.plots import (
    DARK,
    LIGHT,
    MODEL_COLOURS,
    SHIFT,
    STEPS,
    colour_scale,
    on_dark,
    on_light,
    ramp_step,
    readable_on,
)
from brittle.report.html import Child, Html, ModelStyles, concat, fmt, tag

OVERLAP = (("#f6f3ec", "#a9c6e2", "#1c4f8c"), ("#23282d", "#2f5f92", "#a8d0fb"))
"""From no overlap to the same thing, light and dark."""

RAMPS = {"o": OVERLAP, "d": SHIFT}
"""A sequential ramp and a diverging one, by the letter of their classes."""

FAMILY = "system-ui,'Segoe UI','Helvetica Neue',Arial,sans-serif"
LETTER = 0.57
"""The width of a letter in heights, on average and rather too wide."""


def width_of(text: str, size: float) -> float:
    """About how wide a text is."""
    return LETTER * size * len(text)


def css() -> Html:
    """The style sheet: light, and dark where the reader prefers that."""
    letters = f"text{{font-family:{FAMILY};font-size:13px}}.title{{font-size:20px;font-weight:600}}"
    sizes = ".note{font-size:14px}.number{font-size:11px;text-anchor:middle}.big{font-size:13px}"
    sizes += ".end{text-anchor:end}.mid{text-anchor:middle}.small{font-size:12px}"
    lines = (
        ".grid{stroke-width:1}.line{fill:none;stroke-width:2;stroke-linejoin:round}.block{fill:none;stroke-width:2}"
        ".target{stroke-width:1;stroke-dasharray:4 3}.bracket{fill:none;stroke-width:1.5}.strong{font-weight:600}"
    )
    light, dark = (_colours(theme, place) for place, theme in enumerate((LIGHT, DARK)))
    return Html(f"{letters}{sizes}{lines}\n{light}\n@media (prefers-color-scheme:dark){{{dark}}}")


def _colours(theme: Mapping[str, str], place: int) -> str:
    rules = {
        "text": f"fill:{theme['ink']}",
        ".note,.soft": f"fill:{theme['soft']}",
        ".ground": f"fill:{theme['ground']}",
        ".self": f"fill:{theme['line']}",
        ".grid": f"stroke:{theme['line']}",
        ".hatch": f"stroke:{theme['rest']}",
        ".line,.block": f"stroke:{theme['accent']}",
        ".bracket": f"stroke:{theme['soft']}",
        ".mark,.bar": f"fill:{theme['accent']}",
        ".band": f"fill:{theme['accent']};fill-opacity:.16",
        ".target": f"stroke:{theme['bad']}",
        ".bad": f"fill:{theme['bad']}",
        ".rest": f"fill:{theme['rest']}",
    }
    shown = on_dark if place else on_light
    for number, name in enumerate((*MODEL_COLOURS, theme["rest"])):
        own = f".m{number}" if number < len(MODEL_COLOURS) else ".rest"
        colour = shown(name) if number < len(MODEL_COLOURS) else name
        rules |= {f"{own} .line": f"stroke:{colour}", f"{own} .mark": f"fill:{colour}"}
        rules |= {f"{own} .band": f"fill:{colour}", f"{own} .column": f"fill:{colour};fill-opacity:.4"}
    for letter, anchors in RAMPS.items():
        for step, colour in enumerate(colour_scale(anchors[place])):
            rules[f".{letter}{step}"] = f"fill:{colour}"
            rules[f"text.{letter}{step}t"] = f"fill:{readable_on(colour)}"
    return "".join(f"{name}{{{rule}}}" for name, rule in rules.items())


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
        return "M" + "L".join(f"{fmt(self.x(x))} {fmt(self.y(y))}" for x, y in points)

    def frame(self, across: Iterable[float], up: Iterable[float], *, numbers: bool = True) -> Html:
        """Grid lines at the heights `up`, and numbers at both; `numbers=False` leaves out those below."""
        right, bottom = self.left + self.width, self.top + self.height
        parts = []
        for value in up:
            y = fmt(self.y(value))
            parts.append(tag("line", x1=fmt(self.left), x2=fmt(right), y1=y, y2=y, class_="grid"))
            at = {"x": fmt(self.left - 7), "y": fmt(self.y(value) + 4.5)}
            parts.append(tag("text", _number(value), class_="end soft", **at))
        for value in across:
            x = fmt(self.x(value))
            parts.append(tag("line", x1=x, x2=x, y1=fmt(bottom), y2=fmt(bottom + 4), class_="grid"))
            if numbers:
                parts.append(tag("text", _number(value), x=x, y=fmt(bottom + 18), class_="mid soft"))
        return concat(parts)

    def across(self, value: float) -> Html:
        """A dashed line at a height."""
        y = fmt(self.y(value))
        return tag("line", x1=fmt(self.left), x2=fmt(self.left + self.width), y1=y, y2=y, class_="target")

    def down(self, value: float) -> Html:
        """A dashed line from top to bottom."""
        x = fmt(self.x(value))
        return tag("line", x1=x, x2=x, y1=fmt(self.top), y2=fmt(self.top + self.height), class_="target")


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
        box = f"0 0 {fmt(self.width)} {fmt(self.height)}"
        return tag("svg", self.body, viewBox=box, role="img", aria_label=self.label, class_="plot", **where)

    def figure(self) -> Html:
        """With its title, for a page."""
        caption = tag("figcaption", tag("b", self.title, title=self.title), tag("span", self.about, class_="about"))
        return tag("figure", caption, self.svg(), class_="panel")


def panel_sheet(
    title: str, note: str, panels: Sequence[Panel], looks: ModelStyles | None = None, *, one_row: bool = False
) -> Html:
    """Panels beside and below each other, or all in one row, as one SVG file with a legend of the models."""
    if not panels:
        raise BrittleError(f"there is nothing to draw for {title!r}")
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
            tag("text", panel.title, x=fmt(x), y=fmt(y + 14), class_="strong"),
            tag("text", panel.about, x=fmt(x), y=fmt(y + 31), class_="soft small"),
            panel.svg(x=fmt(x), y=fmt(y + HEAD), width=fmt(panel.width), height=fmt(panel.height)),
        ]
    rows = -(-len(panels) // across)
    height = top + rows * (high + HEAD + GAP) - GAP
    label = f"{title}. {' '.join(panel.label + '.' for panel in panels)}"
    taken = sum(panel.width for panel in panels) if one_row else across * wide
    width = max(2 * MARGIN + taken + (across - 1) * GAP, WIDTH * 2 / 3, 2 * MARGIN + width_of(title, 20))
    return sheet(title, note, concat(parts), width=width, height=height, label=label)


def _legend(looks: ModelStyles, width: float) -> tuple[Html | None, float]:
    """Who is who, in rows; and how high that is."""
    if len(looks.order) < 2:
        return None, 0.0
    parts, x, y = [], float(MARGIN), 8.0
    for model in looks.order:
        need = 34 + width_of(model, 13) + 22
        if x > MARGIN and x + need > MARGIN + width:
            x, y = float(MARGIN), y + 22
        look = looks[model]
        line = tag("line", x1=fmt(x), x2=fmt(x + 26), y1=fmt(y), y2=fmt(y), class_="line",
                   stroke_dasharray=look.dash)  # fmt: skip
        parts.append(tag("g", line, look.marker(x + 13, y, 4) if look.shown else None, class_=look.name))
        parts.append(tag("text", model, x=fmt(x + 34), y=fmt(y + 4.5)))
        x += need
    return concat(parts), y + 26


def band(plot: Plot, xs: Sequence[float], low: Sequence[float], high: Sequence[float]) -> Html:
    """The area between two lines."""
    there, back = list(zip(xs, high, strict=True)), list(zip(xs, low, strict=True))[::-1]
    return tag("path", d=plot.path([*there, *back]) + "Z", class_="band")


def scale_name(plot: Plot) -> Html:
    """What is along the bottom."""
    x, y = plot.left + plot.width / 2, plot.top + plot.height + 34
    return tag("text", "scale", x=fmt(x), y=fmt(y), class_="mid soft")


def hit(plot: Plot, low: float, high: float, tip: str) -> Html:
    """An invisible column that shows a tip."""
    left, right = plot.x(max(low, plot.xs[0])), plot.x(min(high, plot.xs[1]))
    where = {"x": fmt(left), "y": fmt(plot.top), "width": fmt(right - left), "height": fmt(plot.height)}
    return tag("rect", tag("title", tip), class_="hit", fill="transparent", **where)


def between(xs: Sequence[float], place: int) -> tuple[float, float]:
    """From halfway to the value before to halfway to the next."""
    half = [(b - a) / 2 for a, b in pairwise(xs)] or [0.5]
    before = half[place - 1] if place else half[0]
    after = half[place] if place < len(half) else half[-1]
    return xs[place] - before, xs[place] + after


KEY = 26
"""The height of a key."""


def marker(number: int, x: float, y: float, *, tip: str = "", size: float = 4.5) -> Html:
    """The mark of a series: a disc, a square, a diamond or a triangle."""
    kind, child = number % 4, tag("title", tip) if tip else None
    if kind == 0:
        return coloured(number, tag("circle", child, cx=fmt(x), cy=fmt(y), r=size, class_="mark"))
    r = size * (0.9 if kind == 1 else 1.25)
    corners = {
        1: ((-r, -r), (r, -r), (r, r), (-r, r)),
        2: ((0, -r), (r, 0), (0, r), (-r, 0)),
        3: ((0, -r), (r, 0.8 * r), (-r, 0.8 * r)),
    }[kind]
    points = " ".join(f"{fmt(x + a)},{fmt(y + b)}" for a, b in corners)
    return coloured(number, tag("polygon", child, points=points, class_="mark"))


def stroke(number: int, **where: Any) -> Html:
    """A line of a series: x1, x2, y1 and y2, or the d of a path."""
    return coloured(number, tag("path" if "d" in where else "line", class_="line", **where))


def coloured(number: int, what: Html) -> Html:
    """Something in the colour of a series."""
    return tag("g", what, class_=f"m{number % len(MODEL_COLOURS)}")


def key(names: Sequence[str], left: float, top: float, *, lines: bool = False) -> Html:
    """Marks and names beside each other."""
    parts, x = [], left
    for number, name in enumerate(names):
        if lines:
            y = fmt(top - 4)
            parts.append(stroke(number, x1=fmt(x), x2=fmt(x + 20), y1=y, y2=y))
        parts.append(marker(number, x + (10 if lines else 5), top - 4))
        start = x + (26 if lines else 15)
        parts.append(tag("text", name, x=fmt(start), y=fmt(top)))
        x = start + width_of(name, 13) + 20
    return concat(parts)


WIDTH = 900
MARGIN = 20
NOTE = 19
"""From one line of the note to the next."""


def sheet(title: str, note: str, body: Child, *, width: float, height: float, label: str = "") -> Html:
    """A whole SVG file; the body is drawn below the title and the note, from its own 0, 0."""
    width = max(width, WIDTH * 2 / 3)
    lines = wrap(note, int((width - 2 * MARGIN) / (14 * LETTER * 0.92)))
    top = 44 + NOTE * len(lines) + 14
    words = [tag("text", line, x=MARGIN, y=44 + NOTE * (i + 1) - 3, class_="note") for i, line in enumerate(lines)]
    across, down = math.ceil(width), math.ceil(top + height + MARGIN)
    return tag(
        "svg",
        tag("title", label or title),
        tag("style", css()),
        tag("defs", _hatch()),
        tag("rect", width=across, height=down, class_="ground"),
        tag("text", title, x=MARGIN, y=36, class_="title"),
        words,
        tag("g", body, transform=f"translate(0 {top})"),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {across} {down}",
        width=across,
        height=down,
        role="img",
    )


def short_names(names: Iterable[str]) -> list[str]:
    """Names without the set they come from, if that is the same for all."""
    given = list(names)
    plain = [name.rpartition("/")[2] for name in given]
    return plain if len({name.rpartition("/")[0] for name in given}) == 1 else given


def _hatch() -> Html:
    line = tag("path", d="M0 6L6 0", class_="hatch")
    return tag("pattern", line, id="hatch", width=6, height=6, patternUnits="userSpaceOnUse")


HEAT_KEY = 54
SLANT = math.radians(55)


@dataclass(frozen=True)
class Heat:
    """Values in rows and columns, NaN hatched; colours go from `low` to `high`, numbers have so many decimals."""

    values: FloatArray
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
            tag("text", name, x=fmt(self.left - 8), y=fmt(self.y(i + 0.5) + 4.5), class_="end")
            for i, name in enumerate(self.rows)
        ]
        for j, name in enumerate(self.columns):
            at = f"translate({fmt(self.x(j + 0.5) + 4)} {fmt(self.top - 8)}) rotate(-{math.degrees(SLANT):.0f})"
            names.append(tag("text", name, transform=at))
        cells = [self._cell(i, j) for i in range(len(self.rows)) for j in range(len(self.columns))]
        return concat(names, cells)

    def _cell(self, i: int, j: int) -> Html:
        value, (width, height) = float(self.values[i, j]), self.cell
        edge = 0.5 if width < 20 else 1.0
        box = {
            "x": fmt(self.x(j) + edge / 2),
            "y": fmt(self.y(i) + edge / 2),
            "width": fmt(width - edge),
            "height": fmt(height - edge),
        }
        tip = tag("title", self.tip(i, j)) if self.tip(i, j) else None
        if self.hidden(i, j):
            return tag("rect", tip, class_="self", **box)
        if math.isnan(value):
            return tag("rect", tip, fill="url(#hatch)", **box)
        colour = f"{self.ramp}{ramp_step((value - self.low) / (self.high - self.low))}"
        cell = tag("rect", tip, class_=colour, **box)
        if not self.numbers:
            return cell
        text = f"{value:.{self.decimals}f}".replace("-", "−") if value else "0"
        at = {"x": fmt(self.x(j + 0.5)), "y": fmt(self.y(i + 0.5) + 4)}
        size = "number big" if width >= 40 else "number"
        return concat(cell, tag("text", text, class_=f"{size} {colour}t", pointer_events="none", **at))

    def key(self, what: str, *, masked: str = "") -> Html:
        """What the colours mean, below the cells; `masked` says what hatching means, if there is any."""
        y, width = self.bottom + 22, 9
        start = self.left
        low, high = (f"{end:g}".replace("-", "−") for end in (self.low, self.high))
        parts = [tag("text", low, x=fmt(start), y=fmt(y + 12))]
        start += width_of(low, 13) + 10
        for i in range(STEPS + 1):
            box = {"x": fmt(start + i * width), "y": fmt(y), "width": width, "height": 15}
            parts.append(tag("rect", class_=f"{self.ramp}{i}", **box))
        start += (STEPS + 1) * width + 6
        parts.append(tag("text", f"{high}  {what}", x=fmt(start), y=fmt(y + 12)))
        if masked:
            start += width_of(f"{high}  {what}", 13) + 24
            parts.append(tag("rect", x=fmt(start), y=fmt(y), width=22, height=15, fill="url(#hatch)"))
            parts.append(tag("text", masked, x=fmt(start + 28), y=fmt(y + 12)))
        return concat(parts)


def check_figure(path: Path) -> Path:
    """Raise unless a figure can be saved under this name."""
    if path.suffix.lower() != ".svg":
        raise BrittleError(f"a figure is an .svg file, which every browser shows, got {str(path)!r}; end it in .svg")
    return path


def save_figure(figure: Html, path: str | Path) -> Path:
    """Write a figure whole or not at all, and make its folder if need be."""
    target = check_figure(Path(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(target) as temporary:
        temporary.write_text(f"{figure}\n", encoding="utf-8")
    return target
