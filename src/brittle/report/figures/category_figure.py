"""Categories of corruptions as blocks along the diagonal of their overlaps."""

from __future__ import annotations

import math

from brittle.design import Categories, OverlapMatrix
from brittle.report.figures.heat import KEY
from brittle.report.figures.look import width_of
from brittle.report.figures.overlap_figure import overlap_heat
from brittle.report.figures.sheet import MARGIN, sheet
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.models import short


def category_figure(
    overlap: OverlapMatrix, categories: Categories, *, title: str = "Categories of corruptions"
) -> Html:
    """A heat map in the order of the categories, each outlined and named."""
    matrix = overlap.subset(categories.names)
    heat = overlap_heat(matrix)
    blocks, start = [], 0
    names = [f"category {name}" if name.isdecimal() else name for name in categories.members]
    for name, group in zip(names, categories.members.values(), strict=True):
        stop, side = start + len(group), len(group) * heat.cell[0]
        box = {"x": short(heat.x(start)), "y": short(heat.y(start)), "width": short(side), "height": short(side)}
        x, y0, y1 = heat.right + 8, heat.y(start) + 3, heat.y(stop) - 3
        bracket = f"M{short(x)} {short(y0)}h6V{short(y1)}h-6"
        blocks += [
            tag("rect", class_="block", rx=2, **box),
            tag("path", d=bracket, class_="bracket"),
            tag("text", name, x=short(x + 12), y=short((y0 + y1) / 2 + 4.5)),
        ]
        start = stop
    note = f"{len(matrix)} corruptions in {len(categories)} categories."
    if not math.isnan(categories.scc):
        note += (
            f" Mean Pearson correlation of overlap vectors: {categories.scc:.2f} within a category, "
            f"{categories.dcc:.2f} across.".replace("-", "−")
        )
    room = max(heat.overhang, 20 + max(width_of(name, 13) for name in names) + MARGIN)
    body = together(heat.drawing(), blocks, heat.key("overlap", masked="masked" if matrix.masked() else ""))
    return sheet(title, note, body, width=heat.right + room, height=heat.bottom + KEY)
