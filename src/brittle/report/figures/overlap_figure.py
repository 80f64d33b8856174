"""The overlap of every pair of corruptions, alike ones side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from brittle.design import OverlapMatrix
from brittle.report.figures.heat import KEY, Heat
from brittle.report.figures.sheet import MARGIN, WIDTH, sheet, short_names
from brittle.report.page.markup import Html, together

MOST_NUMBERS = 25
"""More names than these leave no room for numbers in the cells."""


def overlap_figure(
    overlap: OverlapMatrix, *, title: str = "Overlap of corruptions", order: Sequence[str] | None = None
) -> Html:
    """A heat map, in the order of `overlap.ordered()` unless you give another; masked pairs are hatched."""
    matrix = overlap.subset(list(order or overlap.ordered()))
    heat = overlap_heat(matrix)
    masked = matrix.masked()
    note = (
        "0: learning one corruption does not help with the other. 1: it helps as much as learning the other itself. "
        f"{len(matrix)} corruptions, {len(matrix) * (len(matrix) - 1) // 2} pairs"
    )
    note += f", of which {len(masked)} are masked." if masked else "."
    body = together(heat.drawing(), heat.key("overlap", masked="masked" if masked else ""))
    return sheet(title, note, body, width=heat.right + heat.overhang, height=heat.bottom + KEY)


def overlap_heat(matrix: OverlapMatrix) -> Heat:
    """The cells of a matrix; the diagonal, which is 1 by definition, is left empty."""
    names = short_names(matrix.names)
    longest = max(map(len, names)) * 7.5 + MARGIN
    least = 30 if len(names) <= MOST_NUMBERS else 18
    side = min(max((WIDTH - 1.6 * longest - MARGIN) / len(names), least), 56)

    def tip(i: int, j: int) -> str:
        pair = f"{matrix.names[i]} and {matrix.names[j]}"
        if np.isnan(matrix.scores[i, j]):
            return f"{pair}: masked, a model did not learn its own corruption"
        text = f"{pair}: {matrix.scores[i, j]:.3f}"
        if i == j or matrix.low is None or matrix.high is None:
            return text
        high = matrix.high[i, j]
        return f"{text}, 95 % interval {matrix.low[i, j]:.3f} to {'∞' if math.isinf(high) else f'{high:.3f}'}"

    return Heat(
        matrix.scores,
        names,
        names,
        (side, side),
        numbers=len(names) <= MOST_NUMBERS,
        tip=tip,
        hidden=lambda i, j: i == j,
    )
