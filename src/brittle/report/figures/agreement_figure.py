"""One overlap matrix against others of the same corruptions: a scatter panel for each."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from brittle.design import OverlapMatrix
from brittle.design.matrix_agreement import compare_overlaps
from brittle.report.figures.plot import Plot, ticks
from brittle.report.figures.sheet import MARGIN, WIDTH, sheet, short_names
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.models import short

GAP, HEAD = 52, 62


def agreement_figure(
    reference: OverlapMatrix,
    others: Mapping[str, OverlapMatrix],
    *,
    under: Mapping[str, str] | None = None,
    across: str = "reference",
    title: str = "Agreement of overlap matrices",
) -> Html:
    """A dot for each pair of corruptions, at its score in the reference and in another matrix; `under` adds words."""
    if not others:
        raise ValueError("give at least one other matrix to draw")
    known = [one.subset(reference.names).scores for one in others.values()]
    pairs = ~np.eye(len(reference), dtype=bool)
    most = max(1.0, *(float(np.nanmax(scores[pairs])) for scores in (reference.scores, *known)))
    side = min((WIDTH - 2 * MARGIN - GAP * len(others)) / len(others), 300)
    panels = []
    for place, (name, matrix) in enumerate(others.items()):
        plot = Plot(MARGIN + GAP + place * (side + GAP), HEAD, side, side, (0, most), (0, most))
        panels.append(_panel(plot, name, reference, matrix, (under or {}).get(name, ""), across))
    note = "Each dot is a pair of corruptions; on the dashed line both matrices give it the same overlap."
    return sheet(title, note, together(panels), width=WIDTH, height=HEAD + side + 44)


def _panel(plot: Plot, name: str, first: OverlapMatrix, second: OverlapMatrix, words: str, across: str) -> Html:
    found = compare_overlaps(first, second)
    plain, b = short_names(first.names), second.subset(first.names).scores
    dots = [
        tag(
            "circle",
            tag("title", f"{plain[i]} and {plain[j]}: {first.scores[i, j]:.2f}, {b[i, j]:.2f}"),
            cx=short(plot.x(float(first.scores[i, j]))),
            cy=short(plot.y(float(b[i, j]))),
            r=2.8,
            class_="mark",
            fill_opacity=0.55,
        )
        for i, j in zip(*np.triu_indices(len(first), 1), strict=True)
        if not np.isnan(first.scores[i, j] + b[i, j])
    ]
    ends = {"x1": short(plot.x(0)), "y1": short(plot.y(0)), "x2": short(plot.x(plot.xs[1]))}
    at = {"x": short(plot.left + plot.width / 2), "y": short(plot.top + plot.height + 38)}
    numbers = f"Spearman {found.spearman.value:.2f}, mean difference {found.mean_absolute.value:.2f}"
    return together(
        tag("text", name, x=short(plot.left), y=short(plot.top - 42), class_="strong"),
        tag("text", numbers, x=short(plot.left), y=short(plot.top - 25), class_="soft"),
        tag("text", words, x=short(plot.left), y=short(plot.top - 8), class_="soft"),
        plot.frame(ticks(0, plot.xs[1], 5), ticks(0, plot.ys[1], 5)),
        tag("line", y2=short(plot.y(plot.ys[1])), class_="target", **ends),
        dots,
        tag("text", f"overlap, {across}", class_="mid", **at),
    )
