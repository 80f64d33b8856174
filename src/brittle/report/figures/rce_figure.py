"""The relative corruption error of CNS-Bench: how much accuracy shifts take, compared with a baseline model."""

from __future__ import annotations

import math

import polars as pl

from brittle.report.figures.look import width_of
from brittle.report.figures.panel import Panel, panel_sheet
from brittle.report.figures.plot import Plot, ticks
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.models import Looks, short

WIDE, ROW = 420, 26


def rce_panel(rce: pl.DataFrame, looks: Looks, shift: str = "mean") -> Panel:
    """A row for each model of the table `CnsScores.rce`: a point, its interval, a dashed line at the baseline's 1."""
    mine = rce.filter(pl.col("shift") == shift)
    rows = {row["model"]: row for row in mine.iter_rows(named=True)}
    models = sorted(rows, key=lambda model: (rows[model]["rce"], model))
    ends = [v for row in rows.values() for v in (row["rce"], row["low"], row["high"])]
    ends = [v for v in ends if v is not None and math.isfinite(v)]
    low, high = min(0.0, *ends), max(1.1, *ends)
    left = max(width_of(model, 13) for model in models) + 12
    plot = Plot(left, 6, WIDE - left - 56, ROW * len(models), (low, high), (len(models), 0))
    parts = []
    for i, model in enumerate(models):
        row, look, y = rows[model], looks[model], plot.y(i + 0.5)
        ends_known = row["low"] is not None and row["high"] is not None
        words = f"{model}: rCE {row['rce']:.2f}" + (f" [{row['low']:.2f}, {row['high']:.2f}]" if ends_known else "")
        whisker = None
        if ends_known:  # an end may be infinite, where the baseline hardly loses anything
            ends_shown = {"x1": short(plot.x(max(row["low"], low))), "x2": short(plot.x(min(row["high"], high)))}
            whisker = tag("line", **ends_shown, y1=short(y), y2=short(y), class_="line")
        parts += [
            tag("text", model, x=short(left - 10), y=short(y + 4.5), class_="end"),
            tag("g", tag("title", words.replace("-", "−")), whisker, look.marker(plot.x(row["rce"]), y, 4.4),
                class_=look.name),
            tag("text", f"{row['rce']:.2f}".replace("-", "−"), x=WIDE - 50, y=short(y + 4.5), class_="soft"),
        ]  # fmt: skip
    label = f"rCE: {models[0]} has the lowest, {rows[models[0]]['rce']:.2f}"
    name = "mean over shifts" if shift == "mean" else shift.replace("_", " ")
    frame = plot.frame(ticks(low, high, 6), [])
    return Panel(name, "1 is the baseline; lower is better", WIDE, ROW * len(models) + 34,
                 together(frame, plot.down(1.0), parts), label)  # fmt: skip


def rce_figure(
    rce: pl.DataFrame, models: list[str], baseline: str, *, title: str = "Relative corruption error"
) -> Html:
    """The same as a file; `models` are in the order of their colours."""
    note = (
        f"rCE: the summed rise in error over all scales, divided by that of {baseline}, then the mean over shifts. "
        "Lines are 95 % intervals."
    )
    return panel_sheet(title, note, [rce_panel(rce, Looks(models))])
