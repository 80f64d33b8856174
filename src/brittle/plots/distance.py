"""Figures of distances: MSD and how it converges, leaks, studies of schemes, mixtures, and dissimilar corruptions."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from brittle._errors import BrittleError
from brittle.plots import style
from brittle.plots.style import LIGHT, AxesArray, Canvas, Panel, series_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from brittle.design import Dissimilar
    from brittle.distance import Distances, LeakCheck

STRONG = 0.6
"""The rank correlation above which the paper calls it strong; 12 of its 15 corruptions are."""


def plot_distance(distances: Sequence[Distances], *, ax: Panel = None) -> Axes:
    """The MSD of each augmentation to each corruption, means over the levels with intervals; the nearest row is first.

    The short grey line is how far the clean images are: a mark far left of it says that the augmentation shows the
    network something like this corruption.
    """
    style.check_some(distances, "augmentation")
    tables = [one.by_corruption() for one in distances]
    order = np.argsort(np.mean([table["msd"].to_numpy() for table in tables], axis=0), kind="stable")
    names = style.short_names(tables[0]["corruption"])
    values = [table.select("msd", "msd_low", "msd_high").to_numpy()[order].T for table in tables]
    with style.row_axes(ax, [names[i] for i in order], 1.25) as ax:
        rows = np.arange(len(order))
        clean = ax.vlines(tables[0]["clean"].to_numpy()[order], rows - 0.34, rows + 0.34, color=LIGHT["rest"], lw=2)
        marks = style.draw_rows(ax, {one.augmentation: [*ends] for one, ends in zip(distances, values, strict=True)})
        ax.set(xlim=(0, None), xlabel="MSD, the nearest sampled augmentation")
        style.add_legend(ax, {**marks, "clean images": clean}, right=True)
    return ax


def plot_convergence(distances: Sequence[Distances], *, ax: Panel = None) -> Axes:
    """The expected MSD, a mean over all corruptions, against the number of sampled augmentations.

    The dashed line is how far the clean images are. The curve of smaller samples is exact, so it has no interval.
    """
    style.check_some(distances, "augmentation")
    mean = distances[0].corruptions.over_levels
    with style.one_axes(ax, 2.4) as ax:
        clean = float(mean(distances[0].clean).mean())
        lines = style.draw_curves(ax, {one.augmentation: (one.sizes, mean(one.curve).mean(-1)) for one in distances})
        lines["clean images"] = ax.axhline(clean, color=LIGHT["soft"], linestyle="--", linewidth=0.8)
        ax.set(xscale="log", ylim=(0, None), xlabel="sampled augmentations", ylabel="mean MSD")
        style.add_legend(ax, lines)
    return ax


def plot_leak(check: LeakCheck, *, ax: Panel = None) -> Axes:
    """How much of the way from the clean images to each corruption an augmentation covers, the most covered on top.

    Red bars are leaked, blue ones nearer than every neutral augmentation; the tick is the nearest neutral one. Shares
    are cut off at 0 and at 1.
    """
    order = sorted(check.leaks, key=lambda one: -one.covered)
    kinds = ["leaked" if one.leaked else "nearer" if one.nearer else "not nearer" for one in order]
    colours = {"leaked": LIGHT["bad"], "nearer": LIGHT["accent"], "not nearer": LIGHT["rest"]}
    with style.row_axes(ax, style.short_names(one.corruption for one in order)) as ax:
        bars = style.draw_bars(ax, np.clip([one.covered for one in order], 0, 1), kinds, colours)
        neutral = np.clip([one.reference_covered for one in order], 0, 1)
        rows = np.arange(len(order))
        ax.vlines(neutral, rows - 0.42, rows + 0.42, color="white", linewidth=3)
        ticks = ax.vlines(neutral, rows - 0.42, rows + 0.42, color=LIGHT["ink"], linewidth=1)
        ax.set(xlim=(0, 1), xlabel="share of the way to the corruption")
        style.add_legend(ax, {**bars, "nearest neutral one": ticks}, right=True)
    return ax


def plot_study(
    points: pl.DataFrame,
    correlations: pl.DataFrame,
    *,
    distance: str = "msd",
    groups: Mapping[str, Collection[str]] | None = None,
    figure: Canvas = None,
) -> AxesArray:
    """A dot for each scheme, its MSD (or "mmd") and the error of the model trained with it; Axes for each corruption.

    `correlations` is what `scheme_correlations` gives for these points; ρ is bold above 0.6, which the paper calls
    strong. `groups` are schemes that have a mark of their own, by a title for the legend; the others are grey then.
    """
    if distance not in ("msd", "mmd"):
        raise BrittleError(f"distance is msd or mmd, got {distance!r}")
    corruptions = correlations["corruption"].to_list()
    with style.many_axes(figure, len(corruptions), height=1.15, across=5) as axes:
        for ax, name, short in zip(axes, corruptions, style.short_names(corruptions), strict=True):
            rows = points.filter(pl.col("corruption") == name)
            look = {**series_style(0), "linestyle": "none", "alpha": 0.6, "markersize": 3}
            look |= {"color": LIGHT["rest"]} if groups else {}
            (cloud,) = ax.plot(rows[distance], 100 * rows["error"], **look)
            marks = {"other schemes": cloud}
            for place, (group, members) in enumerate((groups or {}).items()):
                few = rows.filter(pl.col("scheme").is_in(list(members)))
                look = {**series_style(place), "linestyle": "none", "markersize": 4}
                (marks[group],) = ax.plot(few[distance], 100 * few["error"], **look)
            rho = correlations.filter(pl.col("corruption") == name)[distance][0]
            known = rho is not None and not math.isnan(rho)
            title = f"{style.plain_text(short)}\n" + (style.signed(f"ρ = {rho:.2f}") if known else "no correlation")
            ax.set_title(title, fontweight="bold" if known and rho > STRONG else "normal")
            ax.locator_params(nbins=3)
        x = f"{distance.upper()} of the scheme to the corruption"
        style.label_panels(axes, x, "error of its model (%)", marks)
    return axes


def plot_mixing(points: pl.DataFrame, *, figure: Canvas = None) -> AxesArray:
    """MSD and MMD over the share of the right augmentation in a mixture, which falls from left to right in even steps.

    `points` are what `mixing_points` gives, with a column `error` if models were trained; the error has its own Axes.
    """
    if len(points) < 2:
        raise BrittleError(f"a figure of mixtures needs two shares or more, got {len(points)}")
    table = points.sort("share", descending=True)
    trained = "error" in table.columns
    with style.many_axes(figure, 1 + trained, height=1.7, across=1, width=style.COLUMN, sharex=True) as axes:
        steps = range(len(table))
        lines = style.draw_curves(axes[0], {name: (steps, table[name.lower()]) for name in ("MSD", "MMD")})
        axes[0].set_ylabel("distance")
        style.add_legend(axes[0], lines)
        if trained:
            style.draw_curve(axes[1], 2, steps, 100 * table["error"])
            axes[1].set_ylabel("error on the\ncorruption (%)")
        for ax in axes:
            ax.set_ylim(bottom=0)
        shares = [f"{100 * share:g}" for share in table["share"]]
        axes[-1].set_xticks(steps, shares, rotation=0 if len(shares) <= 9 else 60)
        axes[-1].set_xlabel("share of the right augmentation (%), not to scale")
    return axes


def plot_dissimilar(found: Dissimilar, *, published: Collection[str] = (), ax: Panel = None) -> Axes:
    """A bar for each candidate, the farthest first, blue if picked; ± 2 standard errors over runs.

    A diamond marks those of a published benchmark.
    """
    table = found.table().drop_nulls("shift")
    names = style.short_names(table["candidate"])
    shifts, errors = table["shift"].to_numpy(), table["standard_error"].to_numpy()
    with style.row_axes(ax, names, 1.05) as ax:
        kinds = ["picked" if one else "not picked" for one in table["picked"]]
        bars = style.draw_bars(ax, shifts, kinds, {"picked": LIGHT["accent"], "not picked": LIGHT["rest"]})
        ax.hlines(range(len(names)), shifts - 2 * errors, shifts + 2 * errors, color=LIGHT["ink"], linewidth=0.8)
        ax.axvline(0, color=LIGHT["soft"], linewidth=0.8)
        rows = [y for y, name in enumerate(table["candidate"]) if name in published]
        if rows:
            beside: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "clip_on": False, "markersize": 3.2}
            (bars["published"],) = ax.plot([1.02] * len(rows), rows, "D", color=LIGHT["bad"], **beside)
        ax.set_xlabel("shift of the mean distance (SD)")
        style.add_legend(ax, bars, right=True)
    return ax
