"""Charts of pages: drawings that a template writes as SVG, and heat maps, which it writes as tables.

A chart can be put into a template as it is: `{{ chart }}`. Each carries its numbers, which the page offers as CSV.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from itertools import pairwise

import numpy as np

from brittle.metrics import Calibration
from brittle.plots import ramp_step
from brittle.report.theme import ModelStyle, fixed, number, percent, severity, signed, tenths, write_macro

BANDS = 3
"""More bands than these hide each other."""


@dataclass(frozen=True)
class Axis:
    """Values from `low` to `high`, which may be the smaller one, with the places and names of the ticks."""

    low: float
    high: float
    ticks: Sequence[tuple[float, str]] = ()
    name: str = ""


@dataclass(frozen=True)
class Frame:
    """The paper of a drawing and its two axes; margins are above, right, below and left."""

    width: float
    height: float
    across: Axis
    up: Axis
    margins: tuple[float, float, float, float] = (8, 8, 20, 30)

    @property
    def bottom(self) -> float:
        """The height of the horizontal axis, from above."""
        return self.height - self.margins[2]

    @property
    def right(self) -> float:
        """The end of the horizontal axis."""
        return self.width - self.margins[1]

    def x(self, value: float) -> float:
        """Where a value stands from the left."""
        left = self.margins[3]
        return left + (self.right - left) * (value - self.across.low) / (self.across.high - self.across.low)

    def y(self, value: float) -> float:
        """Where a value stands from above."""
        top = self.margins[0]
        return self.bottom - (self.bottom - top) * (value - self.up.low) / (self.up.high - self.up.low)

    def path(self, points: Iterable[tuple[float, float]]) -> str:
        """A line through points."""
        return "M" + "L".join(f"{number(self.x(x))} {number(self.y(y))}" for x, y in points)

    def hit(self, low: float, high: float, tip: str) -> Hit:
        """An invisible column that shows a tip."""
        ends = sorted((self.across.low, self.across.high))
        left, right = self.x(max(low, ends[0])), self.x(min(high, ends[1]))
        top = self.margins[0]
        return Hit(number(left), number(top), number(right - left), number(self.bottom - top), tip)


@dataclass(frozen=True)
class Hit:
    """A rectangle that shows a tip."""

    x: str
    y: str
    width: str
    height: str
    tip: str


@dataclass(frozen=True)
class Series:
    """Values along the horizontal axis with their intervals, drawn in the style of a model."""

    name: str
    style: ModelStyle
    xs: Sequence[float]
    values: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    dash: str | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class Caption:
    """The title of a chart, a second line, and a sentence for those who cannot see it."""

    title: str
    note: str = ""
    label: str = ""
    family: str = ""


@dataclass(frozen=True)
class Layer:
    """What is drawn of one series: paths, and columns as x, y, width and height."""

    css: str
    dash: str = ""
    band: str = ""
    line: str = ""
    marks: str = ""
    columns: Sequence[tuple[str, str, str, str]] = ()


@dataclass(frozen=True)
class Chart:
    """A finished drawing."""

    frame: Frame
    caption: Caption
    layers: Sequence[Layer]
    hits: Sequence[Hit] = ()
    target: str = ""
    texts: Sequence[tuple[str, str, str, str]] = ()
    table: Sequence[Sequence[object]] = ()

    @property
    def grid(self) -> list[tuple[str, str]]:
        """Heights of the lines of the grid and what is written beside them."""
        return [(number(self.frame.y(value)), name) for value, name in self.frame.up.ticks]

    @property
    def ticks(self) -> list[tuple[str, str]]:
        """Places below the horizontal axis and what is written there."""
        return [(number(self.frame.x(value)), name) for value, name in self.frame.across.ticks]

    @property
    def csv(self) -> str:
        """The numbers of the chart."""
        text = StringIO()
        csv.writer(text, lineterminator="\n").writerows(self.table)
        return text.getvalue()

    def __html__(self) -> str:
        return write_macro("chart_figure", self)


def line_chart(
    frame: Frame,
    series: Sequence[Series],
    caption: Caption,
    tips: Sequence[str],
    *,
    target: float | None = None,
    size: float = 3.2,
    bands: bool = True,
) -> Chart:
    """Lines with markers (none if `size` is 0) and bands; `tips` belong to the places of the first series.

    A single tip is for all of the chart. `target` is the height of a dashed line. The first series is drawn on top.
    """
    layers = [_line_layer(frame, one, size, bands) for one in reversed(series)]
    xs = series[0].xs
    places = [(-math.inf, math.inf)] if len(tips) == 1 else [_between(xs, place) for place in range(len(tips))]
    hits = [frame.hit(low, high, tip) for (low, high), tip in zip(places, tips, strict=True)]
    across = [] if target is None else [(frame.across.low, target), (frame.across.high, target)]
    return Chart(frame, caption, layers, hits, frame.path(across) if across else "", table=_table(frame, series))


def _line_layer(frame: Frame, one: Series, size: float, bands: bool = True) -> Layer:
    points = list(zip(one.xs, one.values, strict=True))
    band = ""
    if bands and one.style.shown and len(one.low):
        ahead, back = zip(one.xs, one.high, strict=True), list(zip(one.xs, one.low, strict=True))[::-1]
        band = frame.path([*ahead, *back]) + "Z"
    marked = one.style.shown and size > 0
    marks = "".join(one.style.marker(frame.x(x), frame.y(y), size) for x, y in points) if marked else ""
    dash = one.style.dash if one.dash is None else one.dash
    return Layer(one.style.css, dash, band, frame.path(points), marks)


def _table(frame: Frame, series: Sequence[Series]) -> list[Sequence[object]]:
    rows: list[Sequence[object]] = [("series", frame.across.name or "x", frame.up.name or "value", "low", "high")]
    names = dict(frame.across.ticks)
    for one in series:
        ends = zip(one.low, one.high, strict=True) if len(one.low) else [("", "")] * len(one.xs)
        for x, value, (low, high) in zip(one.xs, one.values, ends, strict=True):
            x_name = names.get(x, f"{x:.6g}") if x in names else f"{x:.6g}"
            rows.append((one.name, x_name, *(f"{v:.6g}" if v != "" else "" for v in (value, low, high))))
    return rows


def _between(xs: Sequence[float], place: int) -> tuple[float, float]:
    """From halfway to the value before to halfway to the next."""
    half = [(b - a) / 2 for a, b in pairwise(xs)] or [0.5]
    return xs[place] - half[max(place - 1, 0)], xs[place] + half[min(place, len(half) - 1)]


def column_chart(frame: Frame, series: Sequence[Series], caption: Caption, tips: Sequence[str]) -> Chart:
    """Columns side by side; the places of a series are 0.5, 1.5 and so on, the middles of the groups."""
    wide = 0.78 / len(series)
    layers = []
    for place, one in enumerate(series):
        columns, marks = [], ""
        for x, value in zip(one.xs, one.values, strict=True):
            left, top = frame.x(x - 0.39 + place * wide), frame.y(value)
            width = frame.x(wide) - frame.x(0) - (1 if len(series) > 3 else 2)
            columns.append((number(left), number(top), number(width), number(frame.bottom - top)))
            marks += one.style.marker(left + width / 2, top, 3.2)
        layers.append(Layer(one.style.css, marks=marks, columns=columns))
    hits = [frame.hit(x - 0.5, x + 0.5, tip) for x, tip in zip(series[0].xs, tips, strict=True)]
    return Chart(frame, caption, layers, hits, table=_table(frame, series))


def interval_chart(
    names: Sequence[str], series: Sequence[Series], caption: Caption, *, target: float, measure: str
) -> Chart:
    """A row for each name: a point, its interval and its number, and an upright dashed line at the target.

    The one value of each series may have ends that are infinite or unknown (NaN).
    """
    ends = [v for one in series for v in (*one.values, *one.low, *one.high) if math.isfinite(v)]
    low, high = min(0.0, *ends), max(1.1 * target, *ends)
    left, row = 0.57 * 13 * max(map(len, names)) + 12, 26
    across = Axis(low, high, [(value, fixed(value, 1)) for value in round_ticks(low, high)], measure)
    frame = Frame(420, row * len(names) + 40, across, Axis(len(names), 0), (6, 56, 34, left))
    layers, texts, hits = [], [], []
    for place, (name, one) in enumerate(zip(names, series, strict=True)):
        value, y = one.values[0], place + 0.5
        known = bool(len(one.low)) and not math.isnan(one.low[0] + one.high[0])
        line = frame.path([(max(one.low[0], low), y), (min(one.high[0], high), y)]) if known else ""
        layers.append(Layer(one.style.css, line=line, marks=one.style.marker(frame.x(value), frame.y(y), 4.4)))
        height = number(frame.y(y) + 4.5)
        texts += [(number(left - 10), height, name, "end"), (number(frame.width - 50), height, fixed(value), "soft")]
        tip = f"{name}: {measure} {fixed(value)}" + (f" [{fixed(one.low[0])}, {fixed(one.high[0])}]" if known else "")
        hits.append(Hit("0", number(frame.y(y) - row / 2), number(frame.width), str(row), tip))
    upright = f"M{number(frame.x(target))} 6V{number(frame.bottom)}"
    return Chart(frame, caption, layers, hits, upright, texts, _table(frame, series))


def severity_curve(
    caption: Caption, series: Sequence[Series], *, last: float, top: float = 1.0, size: tuple[float, float] = (220, 150)
) -> Chart:
    """Accuracy against severity, from 0 to the last severity of all charts beside it; bands only of a few models."""
    frame = Frame(*size, Axis(0, last, severity_ticks(last), "severity"), share_axis(top, "accuracy"))
    tips = value_tips(series, [f"{caption.title}, severity {severity(x)}" for x in series[0].xs])
    return line_chart(frame, series, caption, tips, bands=len(series) <= BANDS)


def value_tips(series: Sequence[Series], heads: Sequence[str], unit: str = " %") -> list[str]:
    """For each place a head, and a line for each series with a colour: its share in percent and its interval."""
    tips = []
    for place, head in enumerate(heads):
        rows = []
        for one in series:
            ends = f" [{tenths(one.low[place])}, {tenths(one.high[place])}]" if len(one.low) else ""
            rows += [f"{one.name}  {tenths(one.values[place])}{unit}{ends}"] if one.style.shown else []
        tips.append("\n".join([head, *rows]))
    return tips


def reliability_diagram(
    caption: Caption, measured: Mapping[str, Calibration], style: ModelStyle, *, size: tuple[float, float] = (300, 260)
) -> Chart:
    """Accuracy against confidence, bin by bin, with the dashed diagonal on which confidences are honest.

    `measured` has up to four sets of predictions by name, such as clean and corrupted; each gets a line style.
    """
    share = [(i / 5, str(20 * i)) for i in range(6)]
    frame = Frame(*size, Axis(0, 1, share, "confidence"), Axis(0, 1, share, "accuracy"), (8, 8, 36, 30))
    series: list[Series] = []
    rows: list[Sequence[object]] = [("series", "bin from", "bin to", "images", "mean confidence", "accuracy")]
    tips: dict[int, list[str]] = {}
    for (name, bins), dash in zip(measured.items(), ("", "5 3", "2 2.5", "8 3 2 3"), strict=False):
        filled = [int(i) for i in np.flatnonzero(bins.counts)]
        series.append(Series(name, style, bins.confidence[filled].tolist(), bins.accuracy[filled].tolist(), dash=dash))
        for i in filled:
            low, high = bins.edges[i], bins.edges[i + 1]
            line = f"{name}  {tenths(bins.accuracy[i])} % right, sure to {tenths(bins.confidence[i])} %"
            tips.setdefault(i, [f"confidence {100 * low:.0f} to {100 * high:.0f} %"]).append(
                f"{line}, {int(bins.counts[i]):,} predictions"
            )
            numbers = (low, high, bins.counts[i], bins.confidence[i], bins.accuracy[i])
            rows.append((name, *(f"{value:.6g}" for value in numbers)))
    edges = next(iter(measured.values())).edges
    hits = [frame.hit(edges[i], edges[i + 1], "\n".join(tips[i])) for i in sorted(tips)]
    layers = [_line_layer(frame, one, 3.2) for one in reversed(series)]
    return Chart(frame, caption, layers, hits, frame.path([(0, 0), (1, 1)]), table=rows)


def share_axis(most: float, name: str) -> Axis:
    """An axis for shares up to `most`, in percent, with its grid."""
    top = min(max(math.ceil(most * 5 - 1e-9), 1), 5) / 5
    step = 0.2 if top > 0.4 else 0.1
    return Axis(0, top, [(i * step, f"{100 * i * step:.0f}") for i in range(round(top / step) + 1)], name)


def severity_ticks(most: float) -> list[tuple[float, str]]:
    """Round severities from 0 to the largest, at most seven."""
    return [(tick, f"{tick:.4g}") for tick in round_ticks(0, most)]


def round_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers from low to high, at most about so many."""
    if high <= low:
        return [low]
    rough = (high - low) / most
    unit = 10 ** math.floor(math.log10(rough))
    step = next(unit * size for size in (1, 2, 5, 10) if unit * size >= rough * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [round(i * step, 10) for i in range(first, math.floor(high / step + 1e-9) + 1)]


@dataclass(frozen=True)
class HeatRow:
    """A row of a heat map: values (None leaves a place empty), and small notes below them, such as their severities."""

    name: str
    values: Sequence[float | None]
    notes: Sequence[str] = ()
    family: str = ""


@dataclass(frozen=True)
class HeatMap:
    """A table whose cells are coloured by their values: accuracies up to `top`, or differences up to ± `top`.

    A head is a word that a narrow screen leaves out, and the rest, such as ("severity", "3").
    """

    heads: Sequence[tuple[str, str]]
    rows: Sequence[HeatRow]
    top: float = 1.0
    difference: bool = False
    corner: str = "corruption"
    label: str = "heat map"

    @property
    def kind(self) -> str:
        """The letter of the colours."""
        return "d" if self.difference else "h"

    @property
    def ends(self) -> tuple[str, str, str]:
        """The two ends of the key, and what it is of."""
        if self.difference:
            return f"{signed(-self.top)} points", f"{signed(self.top)} points", "difference in percentage points"
        return percent(0), percent(self.top), "accuracy"

    def cells(self, row: HeatRow) -> list[tuple[str, str, str]]:
        """The text, the CSS class and the note of each place."""
        notes = [*row.notes, *[""] * (len(row.values) - len(row.notes))]
        cells = []
        for value, note in zip(row.values, notes, strict=True):
            if value is None:
                cells.append(("", "none", ""))
                continue
            share = (value / self.top + 1) / 2 if self.difference else value / self.top
            cells.append((signed(value) if self.difference else tenths(value), f"{self.kind}{ramp_step(share)}", note))
        return cells

    def __html__(self) -> str:
        return write_macro("heat_figure", self)
