"""How many corruptions do not overlap, and how much they still do, against the threshold."""

from __future__ import annotations

import math
from itertools import pairwise

import polars as pl

from brittle.report.figures.plot import Plot, ticks
from brittle.report.figures.sheet import MARGIN, WIDTH, sheet
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.models import short

LEFT, HEIGHT, GAP = 70, 170, 52


def sweep_figure(
    table: pl.DataFrame, *, chosen: float | None = None, title: str = "Non-overlapping sets by threshold"
) -> Html:
    """Two panels of what `sweep` gives: the size of the largest sets, and the mean overlap of the best of them."""
    rows = table.sort("threshold")
    if not len(rows):
        raise ValueError("a sweep needs at least one threshold")
    thresholds = [float(value) for value in rows["threshold"]]
    sizes = [float(value) for value in rows["size"]]
    means = [float(value) for value in rows["mean_overlap"]]
    first = min(0.0, thresholds[0])
    last = max(thresholds[-1], first + 0.1)
    tips = [_tip(*row) for row in zip(thresholds, sizes, means, rows["members"].to_list(), strict=True)]
    known = [mean for mean in means if not math.isnan(mean)]
    panels, top = [], 30.0
    for name, values, most in (
        ("size of the largest sets", sizes, max(sizes) * 1.12),
        ("mean overlap of the best", means, max([*known, 0.01]) * 1.12),
    ):
        plot = Plot(LEFT, top, WIDTH - LEFT - 2 * MARGIN, HEIGHT, (first, last), (0, most))
        up = [value for value in ticks(0, most, 5) if values is means or value == int(value)]
        below = values is means
        points = [(t, v) for t, v in zip(thresholds, values, strict=True) if not math.isnan(v)]
        marks = [_mark(plot, t, v, tip) for t, v, tip in zip(thresholds, values, tips, strict=True)]
        panels += [
            tag("text", name, x=LEFT, y=short(top - 12), class_="strong"),
            plot.frame(ticks(first, last, 10), up, numbers=below),
            None if chosen is None else plot.down(chosen),
            tag("path", d=plot.path(_stairs(points) if values is sizes else points), class_="line") if points else None,
            marks,
        ]
        if values is sizes:
            panels += [
                tag("text", f"{int(v)}", x=short(plot.x(t)), y=short(plot.y(v) - 9), class_="mid") for t, v in points
            ]
        top += HEIGHT + GAP
    bottom = top - GAP + 40
    panels.append(
        tag("text", "threshold on the overlap of each pair", x=LEFT + (WIDTH - LEFT) / 2, y=bottom, class_="mid")
    )
    note = "The largest sets of corruptions in which every pair overlaps less than the threshold; of several, the best."
    if chosen is not None:
        note += f" The dashed line is the chosen threshold, {chosen:g}."
    return sheet(title, note, together(panels), width=WIDTH, height=bottom + 6)


def _stairs(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """A set that is allowed at a threshold is allowed at every higher one: the size stays until the next step."""
    path = points[:1]
    for (_, before), (t, v) in pairwise(points):
        path += [(t, before), (t, v)]
    return path


def _tip(threshold: float, size: float, mean: float, members: list[str]) -> str:
    found = "one corruption alone" if math.isnan(mean) else f"{size:.0f} corruptions, mean overlap {mean:.3f}"
    return f"threshold {threshold:g}: {found}\n{', '.join(members)}"


def _mark(plot: Plot, x: float, y: float, tip: str) -> Html | None:
    if math.isnan(y):
        return None
    return tag("circle", tag("title", tip), cx=short(plot.x(x)), cy=short(plot.y(y)), r=4, class_="mark")
