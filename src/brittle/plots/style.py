"""How figures look and how they are saved: colours, the style sheet, series, rows, heat maps, legends and files.

Reports and the explorer have the same colours: readable on their grounds, with any colour vision.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brittle._errors import BrittleError
from brittle._io import atomic_write
from brittle._optional import require
from brittle._types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

_ROLES = {
    "ground": ("#fcfbf9", "#15181b"),
    "panel": ("#ffffff", "#1c2024"),
    "sunk": ("#f3f1ec", "#23282d"),
    "ink": ("#1d2024", "#e9e7e2"),
    "soft": ("#5b6168", "#a5abb2"),
    "line": ("#e2dfd8", "#343a40"),
    "accent": ("#1f5aa8", "#86b6f2"),
    "rest": ("#a9adb2", "#666d75"),
    "good": ("#1f6f43", "#7fcf9f"),
    "bad": ("#a8321b", "#f29a80"),
}
LIGHT = {role: light for role, (light, _) in _ROLES.items()}
DARK = {role: dark for role, (_, dark) in _ROLES.items()}
MODEL_COLOURS = ("#1f5aa8", "#c2570c", "#0f766e", "#8b3fb0", "#a3333d", "#6b6a00")
DASHES: tuple[Any, ...] = (
    "-", (0, (3, 1.5)), (0, (1, 1.2)), (0, (4, 1.5, 1, 1.5)), (0, (5, 2)), (0, (2, 1, 0.5, 1, 0.5, 1)),
)  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "P")
"""Each colour comes with a line style and a marker of its own; models beyond these are grey."""

STEPS = 20
"""Heat maps have this many steps, and one more."""

HEAT = (("#a8321b", "#efb28f", "#faf6ef"), ("#e8765a", "#7a4331", "#262b30"))
"""From nothing right to everything right, light and dark: failures stand out."""

SHIFT = (("#b4501e", "#faf6ef", "#3f7cc4"), ("#d9784a", "#262b30", "#6fa3e0"))
"""From worse to better than another model."""

OVERLAP = ("#f6f3ec", "#a9c6e2", "#1c4f8c")
"""From no overlap to the same thing."""

FAMILY_COLOURS = {
    "noise": "#c2410c",
    "blur": "#6d4bc3",
    "weather": "#0b7fab",
    "digital": "#2f7d32",
    "colour": "#b8256e",
    "geometry": "#946200",
    "occlusion": "#4b5563",
}
"""Dark enough to be read as text on white, and distinguishable by people with any colour vision beside their names."""

STYLE_SHEET = Path(__file__).with_name("brittle.mplstyle")
COLUMN, PAGE = 3.35, 7.0
"""Widths in inches: one column of a paper, and all of its page."""

ROW = 0.17
"""The height in inches of a row with a name."""

BANDS = 3
"""More bands than these hide each other; intervals of more series are thin lines."""

DASHED: dict[str, Any] = {"color": LIGHT["bad"], "linestyle": "--", "linewidth": 0.8}
"""The line that values are compared with: a threshold or a baseline."""

METADATA: Mapping[str, Mapping[str, None]] = {
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
}
"""The endings of figures, and what is left out of the files so that the same figure gives the same bytes."""

AxesArray = NDArray[Any]
"""An array of matplotlib's Axes."""

Canvas: TypeAlias = "Figure | SubFigure | None"
"""Where a figure with many panels is drawn; a new figure if None."""

Names: TypeAlias = Sequence[str] | None
"""What is drawn, in this order; all of it, in the order that a figure says, if None."""

Panel: TypeAlias = "Axes | None"
"""Where a figure with one panel is drawn; in a new figure if None."""


def series_style(place: int) -> dict[str, Any]:
    """The colour, dashes and marker of a series by its place; those after the sixth are grey and without a marker."""
    if place >= len(MODEL_COLOURS):
        return {"color": LIGHT["rest"], "linestyle": "-", "marker": "", "linewidth": 0.9}
    return {"color": MODEL_COLOURS[place], "linestyle": DASHES[place], "marker": MARKERS[place]}


def colour_scale(anchors: Sequence[str]) -> list[str]:
    """STEPS + 1 colours through the anchors."""
    colours = []
    for i in range(STEPS + 1):
        at = i / STEPS * (len(anchors) - 1)
        left = min(int(at), len(anchors) - 2)
        colours.append(mix_colours(anchors[left], anchors[left + 1], at - left))
    return colours


def ramp_step(share: float) -> int:
    """The step of a share between 0 and 1."""
    return round(STEPS * min(max(share, 0.0), 1.0))


def on_light(colour: str) -> str:
    """The colour, made darker until it can be read on the light ground."""
    return _readable(colour, "#000000", LIGHT["ground"], 4.5)


def on_dark(colour: str) -> str:
    """The colour, made lighter until it can be read on the dark panels."""
    return _readable(colour, "#ffffff", DARK["panel"], 6.0)


def _readable(colour: str, towards: str, ground: str, wanted: float) -> str:
    shades = (mix_colours(colour, towards, part / 20) for part in range(20))
    return next((shade for shade in shades if contrast_ratio(shade, ground) >= wanted), towards)


def readable_on(colour: str) -> str:
    """Black or white, whichever can be read better; on any colour one of them has a contrast of at least 4.58."""
    return max(("#000000", "#ffffff"), key=lambda ink: contrast_ratio(ink, colour))


def mix_colours(first: str, second: str, share: float) -> str:
    """So much of the second colour in the first."""
    pairs = zip(_channels(first), _channels(second), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def contrast_ratio(first: str, second: str) -> float:
    """The contrast ratio of WCAG 2, from 1 to 21; text needs 4.5."""
    low, high = sorted((_luminance(first), _luminance(second)))
    return (high + 0.05) / (low + 0.05)


def _channels(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def _luminance(colour: str) -> float:
    linear = [c / 3294.6 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in _channels(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def check_figure(path: str | Path) -> Path:
    """Raise unless a figure can be saved at this path: it ends in .pdf, .png or .svg, and matplotlib is installed."""
    target = Path(path)
    if target.suffix.lower() not in METADATA:
        raise BrittleError(f"a figure is a .pdf, .png or .svg file, got {str(path)!r}; change the ending")
    require("matplotlib", "plots")
    return target


def save_figure(figure: Figure | Axes | AxesArray, path: str | Path) -> Path:
    """Write a figure, or the one that these Axes are in, as PDF, PNG or SVG by the ending of its path.

    The folder is made if there is none, and the file is complete or not there. Drawn and saved anew, a figure gives the
    same bytes. Text stays text in PDF and SVG. A figure with a layout engine, as `plot_…` makes them, keeps its size.
    """
    target = check_figure(path)
    root: Any = figure.flat[0] if isinstance(figure, np.ndarray) and figure.size else figure
    while not hasattr(root, "savefig"):
        if not hasattr(root, "figure"):
            raise BrittleError(f"give a figure of matplotlib, or Axes of one, got {type(root).__name__}")
        root = root.figure
    target.parent.mkdir(parents=True, exist_ok=True)
    kind = target.suffix.lower()
    tight = "tight" if root.get_layout_engine() is None else None
    with figure_style(), atomic_write(target) as temporary:
        root.savefig(temporary, format=kind[1:], metadata=dict(METADATA[kind]), bbox_inches=tight)
    return target


@contextmanager
def figure_style() -> Iterator[None]:
    """The style of brittle's figures, for figures of your own that are made inside; afterwards all is as before."""
    with require("matplotlib.style", "plots").context(STYLE_SHEET):
        yield


def new_figure(width: float, height: float) -> Figure:
    """A figure of this size in inches; in notebooks one of pyplot's, which shows itself."""
    module = "matplotlib.pyplot" if hasattr(builtins, "get_ipython") else "matplotlib.figure"
    package = require(module, "plots")
    made: Figure = (package.figure if module.endswith("pyplot") else package.Figure)(figsize=(width, height))
    return made


@contextmanager
def one_axes(ax: Axes | None, height: float, width: float = COLUMN) -> Iterator[Axes]:
    """The given Axes in the caller's own style, or those of a new figure in brittle's."""
    with figure_style() if ax is None else nullcontext():
        yield ax or new_figure(width, height).subplots()


@contextmanager
def row_axes(ax: Axes | None, names: Sequence[str], row: float = 1.15) -> Iterator[Axes]:
    """One Axes with a row for each name, `row` times as high as usual, and room for a legend."""
    with one_axes(ax, ROW * row * len(names) + 0.75, COLUMN * 1.2) as ax:
        name_rows(ax, names)
        yield ax


@contextmanager
def many_axes(
    figure: Canvas, count: int, *, height: float, across: int = 3, width: float = PAGE, **how: Any
) -> Iterator[AxesArray]:
    """So many Axes in rows on the given figure, or on a new one whose rows are `height` inches high."""
    if not count:
        raise BrittleError("there is nothing to draw: no panel has any data")
    columns = min(across, count) if count != across + 1 else math.ceil(count / 2)  # no panel alone in its row
    rows = math.ceil(count / columns)
    with figure_style() if figure is None else nullcontext():
        figure = figure or new_figure(width * min(1, (columns + 0.2) / across), rows * height + 0.35)
        grid = np.asarray(figure.subplots(rows, columns, squeeze=False, **how), dtype=object)
        for spare in grid.flat[count:]:
            spare.remove()
        for above in grid[-2, columns - (rows * columns - count) :] if rows > 1 else ():
            above.tick_params(labelbottom=True)
        yield grid.ravel()[:count]


def stacked_axes(figure: Canvas, rows: Sequence[int], row: float = 1.0) -> AbstractContextManager[AxesArray]:
    """Axes below each other with one x-axis and so many rows of names each, which are `row` times as high as usual."""
    height = ROW * row * sum(rows) / len(rows) + 0.45
    return many_axes(figure, len(rows), height=height, across=1, width=COLUMN * 1.2, sharex=True, height_ratios=rows)


def check_some(given: Any, what: str) -> None:
    """Raise if there is nothing to draw."""
    if not len(given):
        raise BrittleError(f"give at least one {what} to draw, got none")


def plain_text(text: object) -> str:
    """A name as it is, whatever signs it has: between dollars matplotlib would read mathematics."""
    return str(text).replace("$", r"\$")


def signed(text: str) -> str:
    """A number with a proper minus."""
    return text.replace("-", "−")


def short_names(names: Iterable[str]) -> list[str]:
    """Names without the set they come from, if that is the same for all."""
    given = list(names)
    plain = [name.rpartition("/")[2] for name in given]
    return plain if len({name.rpartition("/")[0] for name in given}) == 1 else given


def draw_curve(
    ax: Axes, place: int, xs: ArrayLike, ys: ArrayLike, low: Any = None, high: Any = None, *, band: bool = True
) -> Line2D:
    """A line with marks in the style of its place, and its interval as a band or as thin lines."""
    look = series_style(place)
    (line,) = ax.plot(xs, ys, zorder=3 - 0.01 * place, **look)
    if low is not None and band:
        ax.fill_between(xs, low, high, color=look["color"], alpha=0.16, linewidth=0)
    elif low is not None:
        ax.vlines(xs, low, high, colors=look["color"], linewidth=0.7, alpha=0.6)
    return line


def draw_curves(ax: Axes, series: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """A line for each series of x, y and perhaps the ends of its interval; the lines by name, for a legend."""
    band = len(series) <= BANDS
    return {name: draw_curve(ax, i, *one, band=band) for i, (name, one) in enumerate(series.items())}


def draw_rows(ax: Axes, series: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """Marks of each series of values and the ends of their intervals, a row each; series do not lie on each other."""
    step, middle = min(0.22, 0.56 / max(len(series) - 1, 1)), (len(series) - 1) / 2
    return {
        name: draw_marks(ax, i, xs, np.arange(len(xs)) + (i - middle) * step, *ends)
        for i, (name, (xs, *ends)) in enumerate(series.items())
    }


def draw_marks(ax: Axes, place: int, xs: ArrayLike, ys: ArrayLike, low: Any = None, high: Any = None) -> Line2D:
    """Marks in rows with their intervals; an infinite end reaches as far as any other, a missing one is not drawn."""
    look = {**series_style(place), "linestyle": "none"}
    look["marker"] = look["marker"] or "."
    if low is not None:
        ends = np.stack([np.asarray(low, float), np.asarray(high, float)])
        known = np.append(ends[np.isfinite(ends)], np.asarray(xs, float))
        ends = np.clip(ends, known.min(), known.max())
        ax.hlines(ys, ends[0], ends[1], colors=look["color"], linewidth=1.1)
    (marks,) = ax.plot(xs, ys, zorder=3, **look)
    return marks


def draw_bars(ax: Axes, values: ArrayLike, kinds: Sequence[str], colours: Mapping[str, str]) -> dict[str, Any]:
    """A bar in each row, in the colour of its kind; the bars of every kind that there is, for a legend."""
    rows, widths, each = np.arange(len(kinds)), np.asarray(values, float), np.array(kinds)
    there = {kind: each == kind for kind in colours if kind in kinds}
    return {kind: ax.barh(rows[of], widths[of], 0.7, color=colours[kind]) for kind, of in there.items()}


def name_rows(ax: Axes, names: Sequence[str]) -> None:
    """Names along the left, the first on top."""
    ax.set_yticks(range(len(names)), [plain_text(name) for name in names])
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)


def label_panels(axes: AxesArray, x: str, y: str, entries: Mapping[str, Any] | None = None) -> None:
    """Axis labels and the legend of many panels, each once."""
    figure = axes[0].figure
    if len(axes) == 1:
        axes[0].set(xlabel=x, ylabel=y)
    else:
        figure.supxlabel(x)
        figure.supylabel(y)
    add_legend(figure, entries or {})


def add_legend(target: Any, entries: Mapping[str, Any], *, right: bool = False) -> None:
    """Names above the Axes, or above all Axes of a figure, in as few lines as fit; none for a single name."""
    if len(entries) < 2:
        return
    shown = dict(list(entries.items())[: len(MODEL_COLOURS)])
    rest = list(entries.values())[len(MODEL_COLOURS) :]
    if rest:
        shown[f"{len(rest)} other{'s' * (len(rest) > 1)}"] = rest[0]
    box = target.get_window_extent()
    if hasattr(target, "transAxes"):
        where = {"loc": "lower right" if right else "lower left", "bbox_to_anchor": (float(right), 1.0)}
        room = box.x1 - target.figure.bbox.x0 if right else 1.1 * box.width
    else:
        where, room = {"loc": "outside upper center"}, box.width
    for columns in range(len(shown), 0, -1):
        legend = target.legend(list(shown.values()), ["?"] * len(shown), ncols=columns, **where)
        for text, name in zip(legend.get_texts(), shown, strict=True):
            text.set_text(plain_text(name))  # set later, since matplotlib drops names that begin with an underscore
        if columns == 1 or legend.get_window_extent().width <= room:
            return
        legend.remove()


def draw_heat(
    ax: Axes, values: FloatArray, rows: Sequence[str], columns: Sequence[str], ramp: Sequence[str], *,
    limits: tuple[float, float] = (0.0, 1.0), number: str = "{:.2f}", label: str = "", least: float = 14.0,
) -> None:  # fmt: skip
    """Values in cells with their numbers, if a cell is `least` points wide; NaN is hatched."""
    from matplotlib.colors import LinearSegmentedColormap, Normalize, to_hex

    colours, scale = LinearSegmentedColormap.from_list("brittle", ramp), Normalize(*limits, clip=True)
    ax.patch.set(hatch="//////", edgecolor=LIGHT["rest"], linewidth=0)
    mesh = ax.pcolormesh(np.ma.masked_invalid(values), cmap=colours, norm=scale, edgecolors="white", linewidth=0.6)
    ax.grid(visible=False)
    ax.set(xlim=(0, len(columns)), ylim=(len(rows), 0))
    ax.set_yticks(np.arange(len(rows)) + 0.5, [plain_text(name) for name in rows])
    cell = 72 / ax.figure.dpi * ax.get_window_extent().width / len(columns)
    slanted: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    turned = {"rotation": 90} if cell < 12 else slanted if max(map(len, columns)) > 5 else {}
    ax.set_xticks(np.arange(len(columns)) + 0.5, [plain_text(name) for name in columns], **turned)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    if label:
        bar = ax.figure.colorbar(mesh, ax=ax, shrink=1.0 if len(rows) < 8 else 0.6, aspect=18, pad=0.02, label=label)
        bar.outline.set_visible(False)
    if cell < least:
        return
    for (i, j), value in np.ndenumerate(values):
        if np.isfinite(value):
            text = signed(number.format(value)) if value else "0"
            ink = readable_on(to_hex(colours(scale(value))))
            size = min(6.5, 1.22 * cell / max(4, len(text)))
            ax.text(j + 0.5, i + 0.5, text, ha="center", va="center_baseline", color=ink, fontsize=size)
