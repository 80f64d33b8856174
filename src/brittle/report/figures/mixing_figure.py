"""MSD, MMD and perhaps the error against the share of the right thing in a mixture (the paper's Figure 2b)."""

from __future__ import annotations

import polars as pl

from brittle.report.figures.plot import Plot, ticks
from brittle.report.figures.series import KEY, key, marker, stroke
from brittle.report.figures.sheet import MARGIN, WIDTH, sheet
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.models import short

LEFT, HEIGHT = 70, 260


def mixing_figure(
    points: pl.DataFrame, *, title: str = "A mixture in which the right thing gets rare", note: str = ""
) -> Html:
    """Lines over the share, which falls from left to right and is drawn in even steps, for the last hundredth counts.

    `points` are what `mixing_points` gives, with a column `error` if models were trained; the error has its own panel.
    """
    if len(points) < 2:
        raise ValueError(f"a figure of mixtures needs two shares or more, got {len(points)}")
    table = points.sort("share", descending=True)
    shares, last = table["share"].to_list(), len(table) - 1
    panels = [("distance to the mean corruption", {"MSD": "msd", "MMD": "mmd"}, 1.0)]
    if "error" in table.columns:
        panels.append(("error on the corruption, %", {"error": "error"}, 100.0))
    parts, top = [key(["MSD", "MMD"], LEFT, 16, lines=True)], KEY + 28.0
    for words, columns, scale in panels:
        values = {label: [scale * value for value in table[column]] for label, column in columns.items()}
        most = 1.08 * max(max(mine) for mine in values.values())
        plot = Plot(LEFT, top, WIDTH - LEFT - 2 * MARGIN, HEIGHT, (0, last), (0, most))
        parts += [tag("text", words, x=LEFT, y=short(top - 12), class_="strong"), plot.frame([], ticks(0, most, 5))]
        for number, (label, mine) in enumerate(values.items()):
            shown = number if label != "error" else 2
            parts.append(stroke(shown, d=plot.path(enumerate(mine))))
            parts += [
                marker(shown, plot.x(i), plot.y(value), tip=f"share {share:g}: {label} {value:.3g}")
                for i, (share, value) in enumerate(zip(shares, mine, strict=True))
            ]
        bottom = top + HEIGHT
        parts += [
            tag("text", f"{100 * share:g} %", x=short(plot.x(i)), y=short(bottom + 20), class_="mid soft")
            for i, share in enumerate(shares)
        ]
        top = bottom + 66
    end = top - 66 + 44
    parts.append(
        tag(
            "text",
            "share of the right augmentation in the mixture (not to scale)",
            x=WIDTH / 2,
            y=short(end),
            class_="mid",
        )
    )
    return sheet(title, note, together(parts), width=WIDTH, height=end + 8)
