"""Figures of distances."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from brittle._errors import BrittleError
from brittle.report.figures.drawing import (
    KEY,
    MARGIN,
    WIDTH,
    Plot,
    key,
    marker,
    sheet,
    short_names,
    stroke,
    ticks,
    width_of,
)
from brittle.report.html import Html, concat, fmt, tag

if TYPE_CHECKING:
    from brittle.design.dissimilarity import Dissimilar
    from brittle.distance import Distances, LeakCheck

LEFT, HEIGHT = 62, 280


def convergence_figure(found: Sequence[Distances], *, title: str = "How MSD falls with more samples") -> Html:
    """The expected MSD, a mean over all corruptions, against the number of augmentations on a logarithmic axis."""
    if not found:
        raise BrittleError("give the distances of at least one augmentation to draw")
    curves = [one.corruptions.over_levels(one.curve).mean(-1) for one in found]
    clean = float(found[0].corruptions.over_levels(found[0].clean).mean())
    last = max(max(one.sizes) for one in found)
    most = 1.05 * max(clean, *(float(curve.max()) for curve in curves))
    top = KEY + 10
    plot = Plot(LEFT, top, WIDTH - LEFT - 2 * MARGIN, HEIGHT, (0, max(math.log10(last), 1)), (0, most))
    parts = [key([one.augmentation for one in found], LEFT, 16, lines=True)]
    parts += [plot.frame([], ticks(0, most, 6)), _decades(plot, last), _clean(plot, clean)]
    for number, (one, curve) in enumerate(zip(found, curves, strict=True)):
        points = [(math.log10(size), float(value)) for size, value in zip(one.sizes, curve, strict=True)]
        parts.append(stroke(number, d=plot.path(points)))
        parts += [
            marker(number, plot.x(x), plot.y(y), size=3.5, tip=f"{one.augmentation}, {round(10**x)} samples: {y:.3f}")
            for x, y in points
        ]
    last_factor = ", ".join(f"{one.augmentation} {_last(one, curve)}" for one, curve in zip(found, curves, strict=True))
    note = (
        "Mean over corruptions of the expected MSD of smaller samples; the dashed line is how far clean images are. "
        f"Doubling the samples last changed it by: {last_factor}."
    )
    words = tag("text", "sampled augmentations", x=fmt(LEFT + plot.width / 2), y=top + HEIGHT + 42, class_="mid")
    return sheet(title, note, concat(parts, words), width=WIDTH, height=top + HEIGHT + 48)


def _last(one: Distances, curve: np.ndarray) -> str:
    """By how much the last doubling lowered it, read off the curve."""
    sizes = np.log(np.array(one.sizes, float))
    half = float(np.interp(sizes[-1] - math.log(2), sizes, curve))
    return "nothing" if half == 0 else f"{100 * (curve[-1] / half - 1):.1f} %".replace("-", "−")


def _clean(plot: Plot, clean: float) -> Html:
    y = fmt(plot.y(clean))
    ends = {"x1": fmt(plot.left), "x2": fmt(plot.left + plot.width), "y1": y, "y2": y}
    return tag("line", class_="bracket", stroke_dasharray="4 3", **ends)


def _decades(plot: Plot, last: int) -> Html:
    parts = []
    for power in range(int(math.log10(max(last, 10))) + 1):
        x, bottom = fmt(plot.x(power)), plot.top + plot.height
        parts.append(tag("line", x1=x, x2=x, y1=fmt(bottom), y2=fmt(bottom + 4), class_="grid"))
        parts.append(tag("text", f"{10**power:,}", x=x, y=fmt(bottom + 18), class_="mid soft"))
    return concat(parts)


ROW = 30


def distance_figure(found: Sequence[Distances], *, title: str = "How near augmentations come to corruptions") -> Html:
    """A row for each corruption, a mark for each augmentation; the short grey line is how far clean images are."""
    if not found:
        raise BrittleError("give the distances of at least one augmentation to draw")
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
        tag("line", x1=fmt(plot.x(t)), x2=fmt(plot.x(t)), y1=fmt(top), y2=fmt(top + plot.height), class_="grid")
        for t in ticks(0, most, 8)
    ]
    label = tag(
        "text",
        "MSD: distance from the mean corruption to the nearest sampled augmentation",
        x=fmt(plot.left + plot.width / 2),
        y=fmt(top + plot.height + 40),
        class_="mid",
    )
    legend = key([one.augmentation for one in found], left, 16)
    body = concat(legend, across, plot.frame(ticks(0, most, 8), []), parts, label)
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
    x = fmt(plot.x(clean))
    parts = [
        tag("text", name, x=fmt(plot.left - 10), y=fmt(middle + 4.5), class_="end"),
        tag("line", x1=x, x2=x, y1=fmt(top + 4), y2=fmt(top + ROW - 4), class_="hatch", stroke_width=3),
    ]
    step = min(7.0, (ROW - 10) / max(len(found), 1))
    for number, (one, mine) in enumerate(zip(found, rows, strict=True)):
        row = mine[corruption]
        y = middle + (number - (len(found) - 1) / 2) * step
        ends = {"x1": fmt(plot.x(row["msd_low"])), "x2": fmt(plot.x(row["msd_high"]))}
        parts.append(stroke(number, y1=fmt(y), y2=fmt(y), **ends))
        tip = f"{one.augmentation}, {name}: MSD {row['msd']:.2f} [{row['msd_low']:.2f}, {row['msd_high']:.2f}]"
        parts.append(marker(number, plot.x(row["msd"]), y, tip=tip))
    return concat(parts)


DISSIMILAR_ROW, TOP = 24, 34


def dissimilar_figure(
    found: Dissimilar, *, published: Collection[str] = (), title: str = "The corruptions farthest from the benchmark"
) -> Html:
    """A bar for each candidate, the farthest first, blue if picked; a diamond marks those that were published."""
    table = found.table().drop_nulls("shift")
    names = short_names(table["candidate"])
    values, errors = table["shift"].to_list(), table["standard_error"].to_list()
    reach = [2 * (error or 0.0) for error in errors]
    low = 1.06 * min(0.0, *(value - more for value, more in zip(values, reach, strict=True)))
    high = 1.06 * max(0.1, *(value + more for value, more in zip(values, reach, strict=True)))
    left = MARGIN + max(width_of(name, 13) for name in names) + 34
    plot = Plot(left, TOP, WIDTH - left - 2 * MARGIN, DISSIMILAR_ROW * len(names), (low, high), (0, 1))
    parts = []
    for i, (row, name, error) in enumerate(zip(table.iter_rows(named=True), names, errors, strict=True)):
        y, x = plot.top + i * DISSIMILAR_ROW, plot.x(row["shift"])
        start = min(x, plot.x(0))
        box = {"x": fmt(start), "y": fmt(y + 4), "width": fmt(max(abs(x - plot.x(0)), 1)), "height": DISSIMILAR_ROW - 8}
        tip = f"{name}: {row['shift']:.2f} standard deviations" + (f", levels {row['levels']}" if row["levels"] else "")
        parts += [
            tag("text", name, x=fmt(left - 30), y=fmt(y + DISSIMILAR_ROW / 2 + 4.5), class_="end"),
            _diamond(left - 16, y + DISSIMILAR_ROW / 2) if row["candidate"] in published else None,
            tag("rect", tag("title", tip), class_="bar" if row["picked"] else "rest", **box),
        ]
        if error is not None:
            ends = {"x1": fmt(plot.x(row["shift"] - 2 * error)), "x2": fmt(plot.x(row["shift"] + 2 * error))}
            parts.append(
                tag("line", y1=fmt(y + DISSIMILAR_ROW / 2), y2=fmt(y + DISSIMILAR_ROW / 2), class_="bracket", **ends)
            )
    zero = fmt(plot.x(0))
    axis = tag("line", x1=zero, x2=zero, y1=fmt(plot.top), y2=fmt(plot.top + plot.height), class_="bracket")
    label = tag(
        "text",
        "shift of the mean distance of data sets with it, in standard deviations",
        x=fmt(plot.left + plot.width / 2),
        y=fmt(plot.top + plot.height + 40),
        class_="mid",
    )
    runs = len(found.shifts)
    note = (
        f"{len(found.picked)} of {len(names)} candidates picked, {found.datasets:,} sampled data sets"
        + (f" in each of {runs} runs; thin lines are ± 2 standard errors over runs" if runs > 1 else "")
        + f". Mean error {100 * found.error:.1f} %, the benchmark's {100 * found.target:.1f} %."
    )
    body = concat(_key(left, bool(published)), plot.frame(ticks(low, high, 8), []), parts, axis, label)
    return sheet(title, note, body, width=WIDTH, height=plot.top + plot.height + 46)


def _diamond(x: float, y: float) -> Html:
    points = " ".join(f"{fmt(x + a)},{fmt(y + b)}" for a, b in ((0, -6), (6, 0), (0, 6), (-6, 0)))
    return tag("polygon", tag("title", "published"), points=points, class_="bad")


def _key(left: float, published: bool) -> Html:
    parts, x = [], left
    for kind, words in (("bar", "picked"), ("rest", "not picked")):
        parts.append(tag("rect", x=fmt(x), y=4, width=14, height=14, class_=kind))
        parts.append(tag("text", words, x=fmt(x + 20), y=16))
        x += 20 + width_of(words, 13) + 18
    if published:
        parts += [_diamond(x + 6, 11), tag("text", "in the published benchmark", x=fmt(x + 20), y=16)]
    return concat(parts)


LEAK_ROW, LEAK_TOP = 26, 34


def leak_figure(check: LeakCheck, *, title: str = "Does the augmentation leak the test?") -> Html:
    """A bar for each corruption, the most covered first, red where it leaks; the tick is the nearest neutral one."""
    corruptions = [one.corruption for one in check.leaks]
    names = dict(zip(corruptions, short_names(corruptions), strict=True))
    order = sorted(check.leaks, key=lambda one: -one.covered)
    left = MARGIN + max(width_of(name, 13) for name in names.values()) + 10
    plot = Plot(left, LEAK_TOP, WIDTH - left - 150, LEAK_ROW * len(order), (0, 1), (0, 1))
    parts = []

    def at(share: float) -> float:
        """Where a share of the way ends, cut off at the clean images and at the corruption."""
        return plot.x(min(max(share, 0), 1))

    for i, one in enumerate(order):
        y, mine, neutral = plot.top + i * LEAK_ROW, at(one.covered), at(one.reference_covered)
        kind = "bad" if one.leaked else "bar" if one.nearer else "rest"
        words = f"leaked, {_p(one.p_leaked)}" if one.leaked else "nearer" if one.nearer else ""
        tip = f"{names[one.corruption]}: MSD {one.msd:.2f}, {one.reference} {one.reference_msd:.2f}, {_p(one.p_leaked)}"
        bar = {"x": fmt(plot.left), "y": fmt(y + 5), "width": fmt(max(mine - plot.left, 1.5)), "height": LEAK_ROW - 10}
        gap = {"x": fmt(neutral - 2.5), "y": fmt(y + 2), "width": 5, "height": LEAK_ROW - 4}
        middle = fmt(y + LEAK_ROW / 2 + 4.5)
        parts += [
            tag("text", names[one.corruption], x=fmt(left - 10), y=middle, class_="end"),
            tag("rect", tag("title", tip), class_=kind, **bar),
            tag("rect", class_="ground", **gap),
            tag("line", x1=fmt(neutral), x2=fmt(neutral), y1=fmt(y + 2), y2=fmt(y + LEAK_ROW - 2), class_="bracket"),
            tag("text", words, x=fmt(max(mine, neutral) + 8), y=middle, class_="soft") if words else None,
        ]
    label = tag(
        "text",
        "share of the way from the clean images to the corruption, 1 − MSD / ‖E f(c)‖",
        x=fmt(plot.left + plot.width / 2),
        y=fmt(plot.top + plot.height + 40),
        class_="mid",
    )
    body = concat(_leak_key(left), plot.frame(ticks(0, 1, 5), []), parts, label)
    note = (
        f"{len(check.leaked)} of {len(check.leaks)} corruptions are leaked: the nearest augmentation is significantly "
        f"less than {check.margin:g} × as far as the nearest neutral one, at α = {check.alpha:g} for all together "
        f"({check.samples:,} samples each)."
    )
    return sheet(title, note, body, width=WIDTH, height=plot.top + plot.height + 46)


def _leak_key(left: float) -> Html:
    parts, x = [], left
    for kind, words in (("bad", "leaked"), ("bar", "nearer than every neutral one"), ("rest", "not nearer")):
        parts.append(tag("rect", x=fmt(x), y=4, width=14, height=14, class_=kind))
        parts.append(tag("text", words, x=fmt(x + 20), y=16))
        x += 20 + width_of(words, 13) + 18
    parts.append(tag("line", x1=fmt(x + 4), x2=fmt(x + 4), y1=1, y2=21, class_="bracket"))
    parts.append(tag("text", "nearest neutral one", x=fmt(x + 14), y=16))
    return concat(parts)


def _p(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


MIXING_LEFT, MIXING_HEIGHT = 70, 260


def mixing_figure(
    points: pl.DataFrame, *, title: str = "A mixture in which the right thing gets rare", note: str = ""
) -> Html:
    """Lines over the share, which falls from left to right and is drawn in even steps, for the last hundredth counts.

    `points` are what `mixing_points` gives, with a column `error` if models were trained; the error has its own panel.
    """
    if len(points) < 2:
        raise BrittleError(f"a figure of mixtures needs two shares or more, got {len(points)}")
    table = points.sort("share", descending=True)
    shares, last = table["share"].to_list(), len(table) - 1
    panels = [("distance to the mean corruption", {"MSD": "msd", "MMD": "mmd"}, 1.0)]
    if "error" in table.columns:
        panels.append(("error on the corruption, %", {"error": "error"}, 100.0))
    parts, top = [key(["MSD", "MMD"], MIXING_LEFT, 16, lines=True)], KEY + 28.0
    for words, columns, scale in panels:
        values = {label: [scale * value for value in table[column]] for label, column in columns.items()}
        most = 1.08 * max(max(mine) for mine in values.values())
        plot = Plot(MIXING_LEFT, top, WIDTH - MIXING_LEFT - 2 * MARGIN, MIXING_HEIGHT, (0, last), (0, most))
        parts += [
            tag("text", words, x=MIXING_LEFT, y=fmt(top - 12), class_="strong"),
            plot.frame([], ticks(0, most, 5)),
        ]
        for number, (label, mine) in enumerate(values.items()):
            shown = number if label != "error" else 2
            parts.append(stroke(shown, d=plot.path(enumerate(mine))))
            parts += [
                marker(shown, plot.x(i), plot.y(value), tip=f"share {share:g}: {label} {value:.3g}")
                for i, (share, value) in enumerate(zip(shares, mine, strict=True))
            ]
        bottom = top + MIXING_HEIGHT
        parts += [
            tag("text", f"{100 * share:g} %", x=fmt(plot.x(i)), y=fmt(bottom + 20), class_="mid soft")
            for i, share in enumerate(shares)
        ]
        top = bottom + 66
    end = top - 66 + 44
    parts.append(
        tag(
            "text",
            "share of the right augmentation in the mixture (not to scale)",
            x=WIDTH / 2,
            y=fmt(end),
            class_="mid",
        )
    )
    return sheet(title, note, concat(parts), width=WIDTH, height=end + 8)


STRONG = 0.6
"""The rank correlation above which the paper calls it strong; 12 of its 15 corruptions are."""

ACROSS, STUDY_HEIGHT, GAP_X, GAP_Y = 4, 120, 46, 70


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
        raise BrittleError(f"distance is msd or mmd, got {distance!r}")
    names = list(correlations["corruption"])
    plain = short_names(names)
    width = (WIDTH - 2 * MARGIN - ACROSS * GAP_X) / ACROSS
    panels = []
    for place, (name, words) in enumerate(zip(names, plain, strict=True)):
        row, column = divmod(place, ACROSS)
        left, top = MARGIN + GAP_X + column * (width + GAP_X), 40 + row * (STUDY_HEIGHT + GAP_Y)
        mine = points.filter(pl.col("corruption") == name)
        rho = correlations.filter(pl.col("corruption") == name)[distance][0]
        panels.append(_panel(mine, words, rho, distance, left, top, width))
    rows = -(-len(names) // ACROSS)
    middle = 40 + (rows - 1) * (STUDY_HEIGHT + GAP_Y) + STUDY_HEIGHT + 42
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
    return sheet(title, said, concat(panels, label), width=WIDTH, height=middle + 6)


def _panel(
    points: pl.DataFrame, name: str, rho: float | None, distance: str, left: float, top: float, width: float
) -> Html:
    xs, ys = points[distance].to_list(), [100 * error for error in points["error"]]
    plot = Plot(left, top, width, STUDY_HEIGHT, _padded(xs), _padded(ys))
    marks = [
        tag(
            "circle",
            tag("title", f"{scheme}: {distance.upper()} {x:.3f}, error {y:.1f} %"),
            cx=fmt(plot.x(x)),
            cy=fmt(plot.y(y)),
            r=3,
            class_="mark",
            fill_opacity=0.7,
        )
        for scheme, x, y in zip(points["scheme"], xs, ys, strict=True)
    ]
    words = "no correlation" if rho is None or math.isnan(rho) else f"ρ = {rho:.2f}".replace("-", "−")
    strong = "strong" if rho is not None and rho > STRONG else "soft"
    return concat(
        tag("text", name, x=fmt(left), y=fmt(top - 24), class_="strong"),
        tag("text", words, x=fmt(left), y=fmt(top - 8), class_=strong),
        plot.frame(ticks(*plot.xs, 5), ticks(*plot.ys, 5)),
        marks,
    )


def _padded(values: list[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    pad = 0.08 * (high - low) or max(abs(high) * 0.1, 0.1)
    return low - pad, high + pad
