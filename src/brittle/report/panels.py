"""Panels of the page about generated shifts: drawings in SVG that show their numbers under the pointer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import polars as pl

from brittle.report.html import Html, ModelStyles, concat, fmt, tag

LETTER = 0.57
"""The width of a letter in heights, on average and rather too wide."""


def width_of(text: str, size: float) -> float:
    """About how wide a text is."""
    return LETTER * size * len(text)


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


WIDE, HIGH = 270, 196


def failure_panels(failures: pl.DataFrame, looks: ModelStyles) -> list[Panel]:
    """A panel for each shift of the table `CnsScores.failure_points`, all together first.

    As in the paper, the bins are the scales above 0, and shares are of all trajectories: those that are wrong at
    scale 0 already, and those that never fail, are in no bin.
    """
    shifts = failures["shift"].unique().sort().to_list()
    order = [*(["all"] if "all" in shifts else []), *(s for s in shifts if s != "all")]
    shown = failures.filter(pl.col("model").is_in([m for m in looks.order if looks[m].shown]))
    top = max(5.0, 100 * float(shown.filter(pl.col("scale") > 0)["share"].max() or 0))  # type: ignore[arg-type]
    return [_failure_panel(shown.filter(pl.col("shift") == shift), shift, looks, top * 1.06) for shift in order]


def _failure_panel(rows: pl.DataFrame, shift: str, looks: ModelStyles, top: float) -> Panel:
    scales = [scale for scale in sorted(rows["scale"].unique().to_list()) if scale > 0]
    models = [model for model in looks.order if model in set(rows["model"])]
    plot = Plot(34, 8, WIDE - 40, HIGH - 48, (0, len(scales)), (0, top))
    wide = 0.8 / len(models)
    layers, hits = [], []
    values = {(r["model"], r["scale"]): r for r in rows.iter_rows(named=True)}
    for place, model in enumerate(models):
        look, shapes = looks[model], []
        for i, scale in enumerate(scales):
            height = 100 * values[model, scale]["share"]
            x, y = plot.x(i + 0.1 + place * wide), plot.y(height)
            width = plot.x(wide) - plot.x(0) - (1 if len(models) > 3 else 2)
            where = {"x": fmt(x), "y": fmt(y), "width": fmt(width), "height": fmt(plot.y(0) - y)}
            shapes += [tag("rect", class_="column", **where), look.marker(x + width / 2, y, 2.6)]
        layers.append(tag("g", shapes, class_=look.name))
    for i, scale in enumerate(scales):
        lines = [
            f"{m}  {100 * values[m, scale]['share']:.1f} % "
            f"[{100 * values[m, scale]['low']:.1f}, {100 * values[m, scale]['high']:.1f}]"
            for m in models
        ]
        hits.append(hit(plot, i, i + 1, "\n".join([f"fail first at {scale:g}", *lines])))
    names = [
        tag("text", f"{scale:g}", x=fmt(plot.x(i + 0.5)), y=fmt(plot.top + plot.height + 18), class_="mid soft")
        for i, scale in enumerate(scales)
    ]
    name = "all shifts" if shift == "all" else shift.replace("_", " ")
    zero = [f"{100 * values[m, 0.0]['share']:.0f}" for m in models if (m, 0.0) in values]
    about = (
        f"wrong at 0: {', '.join(zero)} %" if zero and len(models) <= 3 else f"{rows['trajectories'][0]:,} trajectories"
    )
    most = max(scales, key=lambda scale: values[models[0], scale]["share"])
    label = f"{name}: most trajectories of {models[0]} fail first at scale {most:g}"
    return Panel(
        name,
        about,
        WIDE,
        HIGH,
        concat(plot.frame([], ticks(0, top, 4)), names, layers, scale_name(plot), hits),
        label,
    )


DROP_WIDE, DROP_HIGH = 270, 206


def drop_panels(accuracy: pl.DataFrame, looks: ModelStyles) -> list[Panel]:
    """A panel for each shift of the table `CnsScores.accuracy`, the mean over shifts first; all with the same axes."""
    shifts = accuracy["shift"].unique().sort().to_list()
    order = [*(["mean"] if "mean" in shifts else []), *(s for s in shifts if s not in ("mean", "all"))]
    table = accuracy.with_columns(pl.col("drop", "drop_low", "drop_high") * 100)
    few = accuracy["model"].n_unique() <= BANDS
    ends = ("drop_low", "drop_high") if few else ("drop", "drop")
    low = min(0.0, float(table[ends[0]].min()))  # type: ignore[arg-type]
    high = max(5.0, float(table[ends[1]].max()))  # type: ignore[arg-type]
    return [
        _drop_panel(table.filter(pl.col("shift") == shift), shift, looks, (low, high * 1.04), few) for shift in order
    ]


def _drop_panel(rows: pl.DataFrame, shift: str, looks: ModelStyles, ys: tuple[float, float], few: bool) -> Panel:
    scales = sorted(rows["scale"].unique().to_list())
    plot = Plot(34, 8, DROP_WIDE - 44, DROP_HIGH - 48, (scales[0], scales[-1]), ys)
    bands, lines, tips = [], [], {scale: [f"{shift.replace('_', ' ')}, scale {scale:g}"] for scale in scales}
    there = [model for model in looks.order if model in set(rows["model"])]
    for model in reversed(there):
        look, mine = looks[model], rows.filter(pl.col("model") == model).sort("scale")
        drop = mine["drop"].to_list()
        if few:
            bands.append(
                tag(
                    "g",
                    band(plot, scales, *(mine[key].to_list() for key in ("drop_low", "drop_high"))),
                    class_=look.name,
                )
            )
        line = tag("path", d=plot.path(zip(scales, drop, strict=True)), class_="line", stroke_dasharray=look.dash)
        marks = [look.marker(plot.x(x), plot.y(y)) for x, y in zip(scales, drop, strict=True)] if look.shown else None
        lines.append(tag("g", line, marks, class_=look.name))
    for model in there:
        for row in rows.filter(pl.col("model") == model).iter_rows(named=True):
            words = f"{model}  {row['drop']:.1f} [{row['drop_low']:.1f}, {row['drop_high']:.1f}]"
            tips[row["scale"]].append(words.replace("-", "−"))
    hits = [hit(plot, *between(scales, i), "\n".join(tips[scale])) for i, scale in enumerate(scales)]
    name = "mean over shifts" if shift == "mean" else shift.replace("_", " ")
    first = rows.filter((pl.col("model") == there[0]) & (pl.col("scale") == scales[-1]))["drop"][0]
    label = f"{name}: {there[0]} loses {first:.1f} points at scale {scales[-1]:g}"
    about = f"{rows['trajectories'][0]:,} trajectories"
    body = concat(plot.frame(scales, ticks(*ys, 5)), bands, lines, scale_name(plot), hits)
    return Panel(name, about, DROP_WIDE, DROP_HIGH, body, label)


RANKING_WIDE, RANKING_HIGH = 270, 186


def ranking_panels(rankings: pl.DataFrame, agreement: pl.DataFrame, looks: ModelStyles) -> list[Panel]:
    """A panel for each shift: the rank of each model at each scale, 1 on top, and Kendall's τ to scale 0 below."""
    shifts = rankings["shift"].unique().sort().to_list()
    order = [*(["all"] if "all" in shifts else []), *(s for s in shifts if s != "all")]
    return [
        _ranking_panel(rankings.filter(pl.col("shift") == s), agreement.filter(pl.col("shift") == s), s, looks)
        for s in order
    ]


def _ranking_panel(rows: pl.DataFrame, agreement: pl.DataFrame, shift: str, looks: ModelStyles) -> Panel:
    scales = sorted(rows["scale"].unique().to_list())
    models = [model for model in looks.order if model in set(rows["model"])]
    plot = Plot(26, 10, RANKING_WIDE - 40, RANKING_HIGH - 52, (scales[0], scales[-1]), (len(models) + 0.4, 0.6))
    lines = []
    tips = {scale: [f"scale {scale:g}"] for scale in scales}
    for row in rows.sort("scale", "rank").iter_rows(named=True):
        tips[row["scale"]].append(f"{row['rank']}. {row['model']}  {100 * row['accuracy']:.1f} %")
    for model in reversed(models):
        look, mine = looks[model], rows.filter(pl.col("model") == model).sort("scale")
        points = list(zip(scales, mine["rank"].to_list(), strict=True))
        line = tag("path", d=plot.path(points), class_="line", stroke_dasharray=look.dash)
        marks = [look.marker(plot.x(x), plot.y(y), 4) for x, y in points] if look.shown else None
        lines.append(tag("g", line, marks, class_=look.name))
    hits = [hit(plot, *between(scales, i), "\n".join(tips[scale])) for i, scale in enumerate(scales)]
    last = agreement.filter(pl.col("scale") == scales[-1])
    tau = last["kendall"][0] if len(last) else None
    about = f"τ = {tau:.2f} at {scales[-1]:g}".replace("-", "−") if tau is not None else "τ is undefined"
    moved = rows.filter((pl.col("scale") == scales[-1]) & (pl.col("fallen") != 0))["model"].n_unique()
    name = "all shifts" if shift == "all" else shift.replace("_", " ")
    label = f"{name}: {moved} of {len(models)} models have another rank at scale {scales[-1]:g} than at 0"
    every = range(1, len(models) + 1) if len(models) <= 8 else range(1, len(models) + 1, -(-len(models) // 8))
    return Panel(
        name, about, RANKING_WIDE, RANKING_HIGH, concat(plot.frame(scales, every), lines, scale_name(plot), hits), label
    )


RCE_WIDE, RCE_ROW = 420, 26


def rce_panel(rce: pl.DataFrame, looks: ModelStyles, shift: str = "mean") -> Panel:
    """A row for each model of the table `CnsScores.rce`: a point, its interval, a dashed line at the baseline's 1."""
    mine = rce.filter(pl.col("shift") == shift)
    rows = {row["model"]: row for row in mine.iter_rows(named=True)}
    models = sorted(rows, key=lambda model: (rows[model]["rce"], model))
    ends = [v for row in rows.values() for v in (row["rce"], row["low"], row["high"])]
    ends = [v for v in ends if v is not None and math.isfinite(v)]
    low, high = min(0.0, *ends), max(1.1, *ends)
    left = max(width_of(model, 13) for model in models) + 12
    plot = Plot(left, 6, RCE_WIDE - left - 56, RCE_ROW * len(models), (low, high), (len(models), 0))
    parts = []
    for i, model in enumerate(models):
        row, look, y = rows[model], looks[model], plot.y(i + 0.5)
        ends_known = row["low"] is not None and row["high"] is not None
        words = f"{model}: rCE {row['rce']:.2f}" + (f" [{row['low']:.2f}, {row['high']:.2f}]" if ends_known else "")
        whisker = None
        if ends_known:  # an end may be infinite, where the baseline hardly loses anything
            ends_shown = {"x1": fmt(plot.x(max(row["low"], low))), "x2": fmt(plot.x(min(row["high"], high)))}
            whisker = tag("line", **ends_shown, y1=fmt(y), y2=fmt(y), class_="line")
        parts += [
            tag("text", model, x=fmt(left - 10), y=fmt(y + 4.5), class_="end"),
            tag("g", tag("title", words.replace("-", "−")), whisker, look.marker(plot.x(row["rce"]), y, 4.4),
                class_=look.name),
            tag("text", f"{row['rce']:.2f}".replace("-", "−"), x=RCE_WIDE - 50, y=fmt(y + 4.5), class_="soft"),
        ]  # fmt: skip
    label = f"rCE: {models[0]} has the lowest, {rows[models[0]]['rce']:.2f}"
    name = "mean over shifts" if shift == "mean" else shift.replace("_", " ")
    frame = plot.frame(ticks(low, high, 6), [])
    return Panel(name, "1 is the baseline; lower is better", RCE_WIDE, RCE_ROW * len(models) + 34,
                 concat(frame, plot.down(1.0), parts), label)  # fmt: skip


SLOPE_WIDE, SLOPE_HIGH = 270, 186


REACH = 2.0
"""Intervals are cut off this far beyond the slopes themselves."""


def slope_panels(slopes: pl.DataFrame) -> list[Panel]:
    """A panel for each shift of the table `CnsScores.slopes`, all together first; none if there are no slopes."""
    if slopes.is_empty():
        return []
    shifts = slopes["shift"].unique().sort().to_list()
    order = [*(["all"] if "all" in shifts else []), *(s for s in shifts if s != "all")]
    values = slopes["slope"].to_list()
    low, high = min(0.0, *values), max(1.2, *values)
    low = max(min(low, *slopes["low"].to_list()), low - REACH)
    high = min(max(high, *slopes["high"].to_list()), high + REACH)
    scales = (0.0, float(slopes["scale"].max()))  # type: ignore[arg-type]
    return [_slope_panel(slopes.filter(pl.col("shift") == s).sort("scale"), s, scales, (low, high)) for s in order]


def _slope_panel(rows: pl.DataFrame, shift: str, xs: tuple[float, float], ys: tuple[float, float]) -> Panel:
    plot = Plot(34, 8, SLOPE_WIDE - 44, SLOPE_HIGH - 48, xs, ys)
    scales, slopes = rows["scale"].to_list(), rows["slope"].to_list()
    low, high = ([min(max(v, ys[0]), ys[1]) for v in rows[key].to_list()] for key in ("low", "high"))
    marks = [
        tag("circle", cx=fmt(plot.x(x)), cy=fmt(plot.y(y)), r=3.4, class_="mark")
        for x, y in zip(scales, slopes, strict=True)
    ]
    hits = []
    for i, row in enumerate(rows.iter_rows(named=True)):
        words = f"scale {row['scale']:g}: slope {row['slope']:.2f} [{row['low']:.2f}, {row['high']:.2f}]"
        words += f"\nR² {row['r_squared']:.2f}"
        hits.append(hit(plot, *between(scales, i), words.replace("-", "−")))
    name = "all shifts" if shift == "all" else shift.replace("_", " ")
    line = tag("path", d=plot.path(zip(scales, slopes, strict=True)), class_="line")
    body = tag("g", band(plot, scales, low, high), line, marks, class_="one")
    label = f"{name}: the slope is {slopes[-1]:.2f} at scale {scales[-1]:g}"
    about = f"{slopes[-1]:.2f} at {scales[-1]:g}, {rows['models'][0]} models".replace("-", "−")
    frame = plot.frame(sorted({0.0, *scales}), ticks(*ys, 5))
    return Panel(
        name, about, SLOPE_WIDE, SLOPE_HIGH, concat(frame, plot.across(1.0), body, scale_name(plot), hits), label
    )
