"""How well synthetic benchmarks predict natural shifts: a table of correlations on colours."""

from __future__ import annotations

import numpy as np
import polars as pl

from brittle.report.figures.heat import KEY, Heat
from brittle.report.figures.sheet import WIDTH, sheet
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.models import short


def correlation_figure(
    table: pl.DataFrame, *, title: str = "Do synthetic benchmarks predict natural shifts?", note: str = ""
) -> Html:
    """A heat map of what `correlation_table` gives: a row for each natural shift, a column for each group."""
    if table.width < 2 or not len(table):
        raise ValueError(f"give a first column of natural shifts and one column a group, got {table.columns}")
    index, *groups = table.columns
    rows = [str(name) for name in table[index]]
    values = table.select(pl.col(groups).cast(pl.Float64)).to_numpy()
    negative = bool((np.nan_to_num(values) < 0).any())
    longest = max(map(len, rows)) * 7.5
    heat = Heat(
        values,
        rows,
        groups,
        (min(max((WIDTH - longest - 140) / len(groups), 44), 84), 38),
        low=-1 if negative else 0,
        ramp="d" if negative else "o",
        decimals=3,
        tip=lambda i, j: f"{groups[j]}, {rows[i]}: r = {values[i, j]:.3f}",
    )
    rule = None
    if rows[-1] == "mean" and len(rows) > 1:
        y = short(heat.y(len(rows) - 1))
        rule = tag("line", x1=short(heat.left - 8), x2=short(heat.right), y1=y, y2=y, class_="bracket")
    words = note or (
        "Mean Pearson correlation, over models, of the accuracy drop on synthetic benchmarks (columns) with that on "
        "natural shifts (rows). (n,k): benchmarks with k corruptions from each of n categories."
    )
    body = together(heat.drawing(), rule, heat.key("mean correlation r"))
    return sheet(title, words, body, width=heat.right + heat.overhang, height=heat.bottom + KEY)
