"""Figures of the MSD paper that no other room draws: bars of schemes, lines over numbers, clouds, and pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from brittle.benchmarks import Benchmark
from brittle.datasets import photo
from brittle.plots import LIGHT, MODEL_COLOURS, figure_style, short_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from brittle.papers.experiments import Rows


def _axes(width: float, height: float, rows: int = 1, columns: int = 1) -> Any:
    """Axes of a new figure, as an array if there are several."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height)).subplots(rows, columns)


def draw_bars(rows: Rows, name: str, value: str, kind: str, label: str) -> Axes:
    """A bar for each row, its colour by a column of kinds.

    Args:
        rows: a table, whose first row is drawn on top.
        name: the column of the names along the left.
        value: the column of the lengths.
        kind: the column of the kinds, each with its colour in the legend.
        label: what the lengths are.
    """
    kinds = list(dict.fromkeys(row[kind] for row in rows))
    with figure_style():
        ax: Axes = _axes(3.6, 0.2 * len(rows) + 0.6)
        for place, one in enumerate(kinds):
            mine = [(i, row[value]) for i, row in enumerate(rows) if row[kind] == one]
            ax.barh([i for i, _ in mine], [height for _, height in mine], 0.7, color=MODEL_COLOURS[place], label=one)
        ax.set_yticks(range(len(rows)), [_short(str(row[name])) for row in rows])
        ax.invert_yaxis()
        ax.set_xlabel(label)
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(kinds))
    return ax


def _short(scheme: str) -> str:
    """A scheme of many bases by their number."""
    bases = scheme.split("+")
    return scheme if len(bases) < 3 else f"{bases[0]} + {len(bases) - 1} more"


def draw_lines(rows: Rows, x: str, y: str, kind: str, label: str) -> Axes:
    """A line for each kind over the numbers of a column, on a logarithmic axis.

    A kind without numbers, such as a network trained without any augmentation, is a dashed level.
    """
    with figure_style():
        ax: Axes = _axes(3.4, 2.3)
        for place, one in enumerate(dict.fromkeys(row[kind] for row in rows)):
            points = [(row[x], row[y]) for row in rows if row[kind] == one]
            colour = MODEL_COLOURS[place % len(MODEL_COLOURS)]
            if points[0][0] is None:
                ax.axhline(points[0][1], color=colour, linestyle="--", linewidth=0.9, label=one)
            else:
                ax.plot(*zip(*points, strict=True), color=colour, marker="o", label=one)
        numbers = sorted({row[x] for row in rows if row[x] is not None})
        ax.set_xscale("log")
        ax.set_xticks(numbers, [f"{number:g}" for number in numbers])
        ax.set_xticks([], minor=True)
        ax.set(xlabel=x, ylabel=label)
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
    return ax


def draw_clouds(clouds: Mapping[str, NDArray[np.float64]]) -> Axes:
    """Points in a plane, a colour for each cloud, and the mean of each as a cross."""
    with figure_style():
        ax: Axes = _axes(3.4, 2.2)
        for place, (name, points) in enumerate(clouds.items()):
            ax.plot(*points.T, ".", color=MODEL_COLOURS[place], markersize=2.5, alpha=0.5, label=name)
            ax.plot(*points.mean(0), "x", color=LIGHT["ink"], markersize=5)
        ax.set(xlabel="feature 1", ylabel="feature 2")
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    return ax


def example_pictures(benchmark: Benchmark, side: int, seed: int) -> dict[str, NDArray[np.uint8]]:
    """A bundled photograph, clean and under each corruption of a benchmark at its middle level."""
    clean = photo("cat", side)
    pictures = {"clean": clean}
    names = short_names(entry.id for entry in benchmark.entries)
    for name, entry in zip(names, benchmark.entries, strict=True):
        level = entry.levels[len(entry.levels) // 2]
        pictures[name] = benchmark.apply(clean, entry.id, level, f"example {seed}")
    return pictures


def draw_pictures(pictures: Mapping[str, NDArray[np.uint8]], across: int = 6) -> Any:
    """Small pictures in rows, each under its name."""
    rows = -(-len(pictures) // across)
    with figure_style():
        grid = np.atleast_1d(_axes(6.5, 1.3 * rows, rows, across)).ravel()
        for ax in grid:
            ax.set_axis_off()
        for ax, (name, picture) in zip(grid, pictures.items(), strict=False):
            ax.imshow(picture, interpolation="nearest")
            ax.set_title(name.replace("_", " "), fontsize=5.5)
    return grid
