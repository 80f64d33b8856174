"""How near augmentations come to each corruption: MSD with intervals, the nearest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from brittle.report.figures.look import width_of
from brittle.report.figures.plot import Plot, ticks
from brittle.report.figures.series import KEY, key, marker, stroke
from brittle.report.figures.sheet import MARGIN, WIDTH, sheet, short_names
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.models import short

if TYPE_CHECKING:
    from brittle.distance import Distances

ROW = 30


def distance_figure(found: Sequence[Distances], *, title: str = "How near augmentations come to corruptions") -> Html:
    """A row for each corruption, a mark for each augmentation; the short grey line is how far clean images are."""
    if not found:
        raise ValueError("give the distances of at least one augmentation to draw")
    tables = [one.by_corruption() for one in found]
    corruptions = list(tables[0]["corruption"])
    names = dict(zip(corruptions, short_names(corruptions), strict=True))
    clean = dict(zip(corruptions, tables[0]["clean"], strict=True))
    rows = [{row["corruption"]: row for row in table.iter_rows(named=True)} for table in tables]
    order = sorted(corruptions, key=lambda name: float(np.mean([mine[name]["msd"] for mine in rows])))
    most = 1.04 * max(*clean.values(), *(row["msd_high"] for mine in rows for row in mine.values()))
    left = MARGIN + max(width_of(name, 13) for name in names.values()) + 10
    top = KEY + 8
    plot = Plot(left, top, WIDTH - left - MARGIN - 10, ROW * len(order), (0, most), (0, 1))
    parts = [_row(plot, i, name, names[name], clean[name], rows, found) for i, name in enumerate(order)]
    across = [
        tag("line", x1=short(plot.x(t)), x2=short(plot.x(t)), y1=short(top), y2=short(top + plot.height), class_="grid")
        for t in ticks(0, most, 8)
    ]
    label = tag(
        "text",
        "MSD: distance from the mean corruption to the nearest sampled augmentation",
        x=short(plot.left + plot.width / 2),
        y=short(top + plot.height + 40),
        class_="mid",
    )
    legend = key([one.augmentation for one in found], left, 16)
    body = together(legend, across, plot.frame(ticks(0, most, 8), []), parts, label)
    note = (
        f"Means over the levels, with {100 * found[0].level:g} % intervals. A mark far left of the grey line says that "
        "the augmentation shows the network something like this corruption; that line is how far clean images are."
    )
    return sheet(title, note, body, width=WIDTH, height=top + plot.height + 46)


def _row(
    plot: Plot,
    i: int,
    corruption: str,
    name: str,
    clean: float,
    rows: Sequence[dict[str, Any]],
    found: Sequence[Distances],
) -> Html:
    top, middle = plot.top + i * ROW, plot.top + (i + 0.5) * ROW
    x = short(plot.x(clean))
    parts = [
        tag("text", name, x=short(plot.left - 10), y=short(middle + 4.5), class_="end"),
        tag("line", x1=x, x2=x, y1=short(top + 4), y2=short(top + ROW - 4), class_="hatch", stroke_width=3),
    ]
    step = min(7.0, (ROW - 10) / max(len(found), 1))
    for number, (one, mine) in enumerate(zip(found, rows, strict=True)):
        row = mine[corruption]
        y = middle + (number - (len(found) - 1) / 2) * step
        ends = {"x1": short(plot.x(row["msd_low"])), "x2": short(plot.x(row["msd_high"]))}
        parts.append(stroke(number, y1=short(y), y2=short(y), **ends))
        tip = f"{one.augmentation}, {name}: MSD {row['msd']:.2f} [{row['msd_low']:.2f}, {row['msd_high']:.2f}]"
        parts.append(marker(number, plot.x(row["msd"]), y, tip=tip))
    return together(parts)
