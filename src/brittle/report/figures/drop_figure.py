"""How much accuracy a shift takes as its scale grows: a panel for each shift (the paper's Figure 6)."""

from __future__ import annotations

import polars as pl

from brittle.report.figures.panel import BANDS, Panel, band, between, hit, panel_sheet, scale_name
from brittle.report.figures.plot import Plot, ticks
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.models import Looks

WIDE, HIGH = 270, 206


def drop_panels(accuracy: pl.DataFrame, looks: Looks) -> list[Panel]:
    """A panel for each shift of the table `CnsScores.accuracy`, the mean over shifts first; all with the same axes."""
    shifts = accuracy["shift"].unique().sort().to_list()
    order = [*(["mean"] if "mean" in shifts else []), *(s for s in shifts if s not in ("mean", "all"))]
    table = accuracy.with_columns(pl.col("drop", "drop_low", "drop_high") * 100)
    few = accuracy["model"].n_unique() <= BANDS
    ends = ("drop_low", "drop_high") if few else ("drop", "drop")
    low = min(0.0, float(table[ends[0]].min()))  # type: ignore[arg-type]
    high = max(5.0, float(table[ends[1]].max()))  # type: ignore[arg-type]
    return [_panel(table.filter(pl.col("shift") == shift), shift, looks, (low, high * 1.04), few) for shift in order]


def drop_figure(accuracy: pl.DataFrame, models: list[str], *, title: str = "How much accuracy a shift takes") -> Html:
    """The same as a file; `models` are in the order of their colours."""
    looks = Looks(models)
    note = "Accuracy drop since scale 0, in percentage points, against the scale of the slider" + (
        "; bands are 95 % intervals." if len(models) <= BANDS else "."
    )
    return panel_sheet(title, note, drop_panels(accuracy, looks), looks)


def _panel(rows: pl.DataFrame, shift: str, looks: Looks, ys: tuple[float, float], few: bool) -> Panel:
    scales = sorted(rows["scale"].unique().to_list())
    plot = Plot(34, 8, WIDE - 44, HIGH - 48, (scales[0], scales[-1]), ys)
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
    body = together(plot.frame(scales, ticks(*ys, 5)), bands, lines, scale_name(plot), hits)
    return Panel(name, about, WIDE, HIGH, body, label)
