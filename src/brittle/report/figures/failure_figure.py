"""Where trajectories fail first: the share at each scale (the paper's Figure 7)."""

from __future__ import annotations

import polars as pl

from brittle.report.figures.panel import Panel, hit, panel_sheet, scale_name
from brittle.report.figures.plot import Plot, ticks
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.models import Looks, short

WIDE, HIGH = 270, 196


def failure_panels(failures: pl.DataFrame, looks: Looks) -> list[Panel]:
    """A panel for each shift of the table `CnsScores.failure_points`, all together first.

    As in the paper, the bins are the scales above 0, and shares are of all trajectories: those that are wrong at
    scale 0 already, and those that never fail, are in no bin.
    """
    shifts = failures["shift"].unique().sort().to_list()
    order = [*(["all"] if "all" in shifts else []), *(s for s in shifts if s != "all")]
    shown = failures.filter(pl.col("model").is_in([m for m in looks.order if looks[m].shown]))
    top = max(5.0, 100 * float(shown.filter(pl.col("scale") > 0)["share"].max() or 0))  # type: ignore[arg-type]
    return [_panel(shown.filter(pl.col("shift") == shift), shift, looks, top * 1.06) for shift in order]


def failure_figure(
    failures: pl.DataFrame, models: list[str], *, title: str = "Where trajectories fail for the first time"
) -> Html:
    """The same as a file; `models` are in the order of their colours."""
    looks = Looks(models)
    note = (
        "Percent of trajectories whose smallest wrong scale is this one. Those that are wrong without a shift, or "
        "never wrong, are in no column, so columns of a model do not add up to 100."
    )
    return panel_sheet(title, note, failure_panels(failures, looks), looks)


def _panel(rows: pl.DataFrame, shift: str, looks: Looks, top: float) -> Panel:
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
            where = {"x": short(x), "y": short(y), "width": short(width), "height": short(plot.y(0) - y)}
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
        tag("text", f"{scale:g}", x=short(plot.x(i + 0.5)), y=short(plot.top + plot.height + 18), class_="mid soft")
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
        together(plot.frame([], ticks(0, top, 4)), names, layers, scale_name(plot), hits),
        label,
    )
