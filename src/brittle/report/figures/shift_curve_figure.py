"""How far images go along a shift, and what is left of their class, as CLIP sees it."""

from __future__ import annotations

import polars as pl

from brittle.report.figures.panel import Panel, band, between, hit, panel_sheet, scale_name
from brittle.report.figures.plot import Plot, ticks
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.models import Looks

WIDE, HIGH = 270, 196


def shift_curve_figure(curves: pl.DataFrame, *, title: str = "How far sliders move images") -> Html:
    """A panel for each curve of `shift_curves`: ΔCLIP to the words of the shift, and to those of the class."""
    first = curves.columns[0]
    measures = curves["measure"].unique(maintain_order=True).to_list()
    looks = Looks(measures)
    low, high = float(curves["low"].min()), float(curves["high"].max())  # type: ignore[arg-type]
    pad = 0.05 * max(high - low, 1e-6)
    ys = (min(low, 0) - pad, max(high, 0) + pad)
    groups = curves[first].unique().sort().to_list()
    panels = [_panel(curves.filter(pl.col(first) == group), str(group), looks, ys) for group in groups]
    note = (
        "ΔCLIP, 100 × (cosine of image and words − the same at scale 0), against the scale of the slider. Rising to "
        "the shift: the slider works. Falling to the class: it destroys what it should only shift. Bands are 95 % "
        "intervals."
    )
    return panel_sheet(title, note, panels, looks)


def _panel(rows: pl.DataFrame, group: str, looks: Looks, ys: tuple[float, float]) -> Panel:
    scales = sorted(rows["scale"].unique().to_list())
    plot = Plot(34, 8, WIDE - 44, HIGH - 48, (scales[0], scales[-1]), ys)
    layers, tips = [], {scale: [f"scale {scale:g}"] for scale in scales}
    for measure in looks.order:
        look, mine = looks[measure], rows.filter(pl.col("measure") == measure).sort("scale")
        points = list(zip(scales, mine["value"].to_list(), strict=True))
        line = tag("path", d=plot.path(points), class_="line", stroke_dasharray=look.dash)
        marks = [look.marker(plot.x(x), plot.y(y)) for x, y in points]
        layers.append(
            tag("g", band(plot, scales, mine["low"].to_list(), mine["high"].to_list()), line, marks, class_=look.name)
        )
        for row in mine.iter_rows(named=True):
            words = f"{measure}  {row['value']:+.2f} [{row['low']:+.2f}, {row['high']:+.2f}]"
            tips[row["scale"]].append(words.replace("-", "−"))
    hits = [hit(plot, *between(scales, i), "\n".join(tips[scale])) for i, scale in enumerate(scales)]
    name = group.replace("_", " ")
    last = rows.filter(pl.col("scale") == scales[-1])
    ends = ", ".join(f"{m} {v:+.2f}" for m, v in zip(last["measure"], last["value"], strict=True))
    body = together(plot.frame(scales, ticks(*ys, 5)), layers, scale_name(plot), hits)
    return Panel(
        name, f"{rows['trajectories'][0]:,} trajectories", WIDE, HIGH, body, f"{name} at {scales[-1]:g}: {ends}"
    )
