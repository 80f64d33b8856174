"""Figures of CNS-Bench that no other room draws: curves over scales beside levels of real images, and a trajectory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from brittle.plots import LIGHT, MODEL_COLOURS, figure_style

Curve: TypeAlias = Sequence[Any]
"""The scales, the values and, if known, the lower and upper ends of their intervals."""

MARKERS = "os^DvP"
DASHES = ("--", "-.", ":", (0, (5, 1)), (0, (1, 3)))
ACROSS = 3
"""Panels in a row."""


def curves_by(
    table: pl.DataFrame, series: str, columns: Sequence[str], *, percent: bool = True, start: bool = True
) -> dict[str, list[Any]]:
    """A curve over the scales for each value of a column, in the order of the rows.

    Args:
        table: rows with a column `scale`, and `columns` with the value and perhaps the ends of its interval.
        series: the column that names the curves.
        percent: shares as percent.
        start: scale 0, too.
    """
    found = {}
    for part in table.partition_by(series, maintain_order=True):
        rows = part.sort("scale").filter((pl.col("scale") > 0) | pl.lit(start))
        factor = 100 if percent else 1
        found[str(part[series][0])] = [
            rows["scale"].to_numpy(),
            *(factor * rows[name].cast(pl.Float64).to_numpy() for name in columns),
        ]
    return found


def draw_panels(
    panels: Mapping[str, Mapping[str, Curve]],
    label: str,
    *,
    levels: Mapping[str, Mapping[str, float]] | None = None,
    axis: str = "scale",
    height: float = 1.75,
) -> NDArray[Any]:
    """Curves over the scales in panels side by side, with intervals as bands; an array with the Axes of each panel.

    `levels` are horizontal lines of a panel, such as the accuracy on real images. There is one legend if all panels
    have the same curves and levels, else one in each.
    """
    from matplotlib.figure import Figure

    columns = min(ACROSS, len(panels))
    rows = -(-len(panels) // columns)
    entries = [(*series, *(levels or {}).get(title, ())) for title, series in panels.items()]
    shared = all(each == entries[0] for each in entries)
    with figure_style():
        figure = Figure(figsize=(2.3 * columns + 0.3, height * rows + 0.4 + (0 if shared else 0.5)))
        grid = np.asarray(figure.subplots(rows, columns, squeeze=False, sharey=True, sharex=True), dtype=object)
        axes = grid.ravel()[: len(panels)]
        for spare in grid.ravel()[len(panels) :]:
            spare.remove()
        for ax, (title, series) in zip(axes, panels.items(), strict=True):
            _draw(ax, series, (levels or {}).get(title, {}))
            ax.set_title(title.replace("_", " "))
            if not shared:
                ax.legend(loc="upper left", fontsize=5.5, labelspacing=0.25, handlelength=1.6)
        if shared and len(entries[0]) > 1:
            names, lines = axes[0].get_legend_handles_labels()[::-1]
            figure.legend(lines, names, loc="outside upper center", ncols=min(4, len(names)))
        figure.supxlabel(axis)
        figure.supylabel(label)
    return np.asarray(axes)


def _draw(ax: Any, series: Mapping[str, Curve], levels: Mapping[str, float]) -> None:
    for place, (name, (xs, ys, *ends)) in enumerate(series.items()):
        colour = MODEL_COLOURS[place % len(MODEL_COLOURS)]
        ax.plot(xs, ys, color=colour, marker=MARKERS[place % len(MARKERS)], markersize=2.8, label=name)
        if len(ends) == 2 and len(series) <= ACROSS:
            ax.fill_between(xs, *ends, color=colour, alpha=0.15, linewidth=0)
        elif len(ends) == 2:
            ax.vlines(xs, *ends, colors=colour, linewidth=0.6, alpha=0.5)
    for place, (name, value) in enumerate(levels.items()):
        colour = LIGHT["bad"] if place else LIGHT["soft"]
        ax.axhline(value, color=colour, linestyle=DASHES[place % len(DASHES)], linewidth=0.9, label=name)


def draw_answers(
    pictures: Sequence[NDArray[np.uint8]], scales: Sequence[float], answers: Mapping[str, Sequence[tuple[str, bool]]]
) -> NDArray[Any]:
    """The pictures of one trajectory from left to right, and below each what models see in it, errors in red."""
    from matplotlib.figure import Figure

    below = 0.16 * len(answers)
    with figure_style():
        figure = Figure(figsize=(7.0, 1.3 + below))
        shape = {"height_ratios": [1.05, below], "hspace": 0.02}
        grid = np.atleast_2d(figure.subplots(2, len(pictures), squeeze=False, gridspec_kw=shape))
        for place, (ax, words, picture, scale) in enumerate(zip(*grid, pictures, scales, strict=True)):
            ax.imshow(picture, interpolation="nearest")
            ax.set(xticks=[], yticks=[], title=f"scale {scale:g}")
            ax.grid(visible=False)
            words.set(xlim=(0, 1), ylim=(len(answers), 0))
            words.axis("off")
            for row, (model, seen) in enumerate(answers.items()):
                text, right = seen[place]
                style = {"y": row + 0.5, "fontsize": 6, "va": "center"}
                words.text(x=0.5, s=text, color=LIGHT["good"] if right else LIGHT["bad"], ha="center", **style)
                if not place:
                    words.text(x=-0.08, s=model, color=LIGHT["ink"], ha="right", **style)
    return np.asarray(grid[0])
