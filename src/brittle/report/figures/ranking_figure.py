"""Do models keep their order as a shift grows?"""

from __future__ import annotations

import polars as pl

from brittle.report.figures.panel import Panel, between, hit, panel_sheet, scale_name
from brittle.report.figures.plot import Plot
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.models import Looks

WIDE, HIGH = 270, 186


def ranking_panels(rankings: pl.DataFrame, agreement: pl.DataFrame, looks: Looks) -> list[Panel]:
    """A panel for each shift: the rank of each model at each scale, 1 on top, and Kendall's τ to scale 0 below."""
    shifts = rankings["shift"].unique().sort().to_list()
    order = [*(["all"] if "all" in shifts else []), *(s for s in shifts if s != "all")]
    return [
        _panel(rankings.filter(pl.col("shift") == s), agreement.filter(pl.col("shift") == s), s, looks) for s in order
    ]


def ranking_figure(
    rankings: pl.DataFrame,
    agreement: pl.DataFrame,
    models: list[str],
    *,
    title: str = "Do models keep their order along a shift?",
) -> Html:
    """The same as a file; `models` are in the order of their colours."""
    looks = Looks(models)
    note = (
        "Rank by accuracy at each scale, the best on top; models that are equally good share the better rank. τ is "
        "Kendall's correlation of the accuracies at the last scale with those at scale 0."
    )
    return panel_sheet(title, note, ranking_panels(rankings, agreement, looks), looks)


def _panel(rows: pl.DataFrame, agreement: pl.DataFrame, shift: str, looks: Looks) -> Panel:
    scales = sorted(rows["scale"].unique().to_list())
    models = [model for model in looks.order if model in set(rows["model"])]
    plot = Plot(26, 10, WIDE - 40, HIGH - 52, (scales[0], scales[-1]), (len(models) + 0.4, 0.6))
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
    return Panel(name, about, WIDE, HIGH, together(plot.frame(scales, every), lines, scale_name(plot), hits), label)
