"""Does accuracy without a shift foretell accuracy under it? The slope of the line, scale by scale."""

from __future__ import annotations

import polars as pl

from brittle.report.figures.panel import Panel, band, between, hit, panel_sheet, scale_name
from brittle.report.figures.plot import Plot, ticks
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.models import short

WIDE, HIGH = 270, 186
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
    return [_panel(slopes.filter(pl.col("shift") == s).sort("scale"), s, scales, (low, high)) for s in order]


def slope_figure(
    slopes: pl.DataFrame, *, title: str = "Does accuracy without a shift foretell accuracy under it?"
) -> Html:
    """The same as a file."""
    note = (
        "Slope of the line of accuracy under a shift on accuracy without it, over models, against the scale. 1 "
        "(dashed): a model that is a point better without the shift is a point better under it. Bands are 95 % "
        "intervals."
    )
    return panel_sheet(title, note, slope_panels(slopes))


def _panel(rows: pl.DataFrame, shift: str, xs: tuple[float, float], ys: tuple[float, float]) -> Panel:
    plot = Plot(34, 8, WIDE - 44, HIGH - 48, xs, ys)
    scales, slopes = rows["scale"].to_list(), rows["slope"].to_list()
    low, high = ([min(max(v, ys[0]), ys[1]) for v in rows[key].to_list()] for key in ("low", "high"))
    marks = [
        tag("circle", cx=short(plot.x(x)), cy=short(plot.y(y)), r=3.4, class_="mark")
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
    return Panel(name, about, WIDE, HIGH, together(frame, plot.across(1.0), body, scale_name(plot), hits), label)
