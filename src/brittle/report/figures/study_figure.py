"""Distance against error over many augmentation schemes: a small panel for each corruption (the paper's Figure 5)."""

from __future__ import annotations

import math

import polars as pl

from brittle.report.figures.plot import Plot, ticks
from brittle.report.figures.sheet import MARGIN, WIDTH, sheet, short_names
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.models import short

STRONG = 0.6
"""The rank correlation above which the paper calls it strong; 12 of its 15 corruptions are."""

ACROSS, HEIGHT, GAP_X, GAP_Y = 4, 120, 46, 70


def study_figure(
    points: pl.DataFrame,
    correlations: pl.DataFrame,
    *,
    distance: str = "msd",
    title: str = "Nearer augmentations, fewer errors?",
    note: str = "",
) -> Html:
    """A dot for each scheme: its MSD (or "mmd") to the corruption, and the error of the model trained with it."""
    if distance not in ("msd", "mmd"):
        raise ValueError(f"distance is msd or mmd, got {distance!r}")
    names = list(correlations["corruption"])
    plain = short_names(names)
    width = (WIDTH - 2 * MARGIN - ACROSS * GAP_X) / ACROSS
    panels = []
    for place, (name, words) in enumerate(zip(names, plain, strict=True)):
        row, column = divmod(place, ACROSS)
        left, top = MARGIN + GAP_X + column * (width + GAP_X), 40 + row * (HEIGHT + GAP_Y)
        mine = points.filter(pl.col("corruption") == name)
        rho = correlations.filter(pl.col("corruption") == name)[distance][0]
        panels.append(_panel(mine, words, rho, distance, left, top, width))
    rows = -(-len(names) // ACROSS)
    middle = 40 + (rows - 1) * (HEIGHT + GAP_Y) + HEIGHT + 42
    label = tag(
        "text",
        f"across: {distance.upper()} of the scheme to the corruption · up: error of its model, %",
        x=WIDTH / 2,
        y=middle,
        class_="mid",
    )
    said = note or (
        f"Each dot is an augmentation scheme. ρ is Spearman's rank correlation of {distance.upper()} and error, both "
        "means over the levels."
    )
    return sheet(title, said, together(panels, label), width=WIDTH, height=middle + 6)


def _panel(
    points: pl.DataFrame, name: str, rho: float | None, distance: str, left: float, top: float, width: float
) -> Html:
    xs, ys = points[distance].to_list(), [100 * error for error in points["error"]]
    plot = Plot(left, top, width, HEIGHT, _padded(xs), _padded(ys))
    marks = [
        tag(
            "circle",
            tag("title", f"{scheme}: {distance.upper()} {x:.3f}, error {y:.1f} %"),
            cx=short(plot.x(x)),
            cy=short(plot.y(y)),
            r=3,
            class_="mark",
            fill_opacity=0.7,
        )
        for scheme, x, y in zip(points["scheme"], xs, ys, strict=True)
    ]
    words = "no correlation" if rho is None or math.isnan(rho) else f"ρ = {rho:.2f}".replace("-", "−")
    strong = "strong" if rho is not None and rho > STRONG else "soft"
    return together(
        tag("text", name, x=short(left), y=short(top - 24), class_="strong"),
        tag("text", words, x=short(left), y=short(top - 8), class_=strong),
        plot.frame(ticks(*plot.xs, 5), ticks(*plot.ys, 5)),
        marks,
    )


def _padded(values: list[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    pad = 0.08 * (high - low) or max(abs(high) * 0.1, 0.1)
    return low - pad, high + pad
