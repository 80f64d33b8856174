"""Figures of benchmark design: overlap, categories, sets, coverage, balance, correlation, calibration, agreement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from brittle._errors import BrittleError
from brittle.corruptions import get_corruption
from brittle.design import Calibration, Categories, OverlapMatrix, SingleScores, compare_overlaps
from brittle.plots import style
from brittle.plots.style import DASHED, LIGHT, MODEL_COLOURS, OVERLAP, SHIFT, AxesArray, Canvas, Names, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_overlap(overlap: OverlapMatrix, *, order: Names = None, ax: Panel = None) -> Axes:
    """The overlap of each pair of corruptions, in the order of `overlap.ordered()` unless another is given.

    0: training with one corruption does not help with the other. 1: it helps as much as training with the other
    itself. Masked pairs are hatched; the diagonal, which is 1 by definition, is left empty.
    """
    matrix = overlap.subset(list(order or overlap.ordered()))
    names = style.short_names(matrix.names)
    with style.one_axes(ax, _side(names), max(_side(names) + 0.6, style.COLUMN * 0.9)) as ax:
        values = np.where(np.eye(len(names), dtype=bool), np.nan, matrix.scores)
        style.draw_heat(ax, values, names, names, OVERLAP, label="overlap")
        for i in range(len(names)):
            ax.fill_between([i, i + 1], i, i + 1, color=LIGHT["line"], edgecolor="white", linewidth=0.6)
    return ax


def plot_categories(overlap: OverlapMatrix, categories: Categories, *, ax: Panel = None) -> Axes:
    """The overlap matrix in the order of its categories, each outlined and named."""
    titles = [f"category {name}" if name.isdecimal() else name for name in categories.members]
    side = _side(style.short_names(categories.names))
    with style.one_axes(ax, side, side + 0.7 + 0.06 * max(map(len, titles))) as ax:
        plot_overlap(overlap, order=categories.names, ax=ax)
        ends = np.cumsum([0, *map(len, categories.members.values())])
        look: dict[str, Any] = {"color": MODEL_COLOURS[1], "va": "center", "fontsize": 7, "textcoords": "offset points"}
        for title, start, stop in zip(titles, ends[:-1], ends[1:], strict=True):
            box = [start, stop, stop, start, start], [start, start, stop, stop, start]
            ax.plot(*box, color=MODEL_COLOURS[1], clip_on=False)
            ax.annotate(style.plain_text(title), (ends[-1], (start + stop) / 2), (5, 0), **look)
    return ax


def _side(names: Sequence[str]) -> float:
    """The height in inches of a matrix of these names, and nearly its width."""
    return max(min(0.26 * len(names) + 0.065 * max(map(len, names)), style.PAGE - 0.9), 2.2)


def plot_sweep(table: pl.DataFrame, *, chosen: float | None = None, figure: Canvas = None) -> AxesArray:
    """The size of the largest sets under each threshold, and the mean overlap of the best, of what `sweep` gives.

    The dashed line is the chosen threshold. The two Axes are returned.
    """
    rows = table.sort("threshold")
    style.check_some(rows, "threshold")
    with style.many_axes(figure, 2, height=1.35, across=1, width=style.COLUMN, sharex=True) as axes:
        sizes, thresholds = rows["size"].to_numpy(), rows["threshold"].to_numpy()
        axes[0].step(thresholds, sizes, where="post", marker="o", color=MODEL_COLOURS[0])
        for x, y in zip(thresholds, sizes, strict=True) if len(sizes) <= 12 else ():
            axes[0].annotate(f"{y}", (x, y), (0, 4), textcoords="offset points", ha="center", fontsize=7)
        style.draw_curve(axes[1], 0, thresholds, rows["mean_overlap"])
        for ax, label in zip(axes, ("corruptions in\nthe largest sets", "mean overlap\nof the best"), strict=True):
            ax.set_ylabel(label)
            ax.set_ylim(0, 1.25 * max(ax.dataLim.y1, 0.01))
            if chosen is not None:
                ax.axvline(chosen, **DASHED)
        axes[0].locator_params(axis="y", integer=True, nbins=5)
        axes[1].set_xlabel("threshold on the overlap of each pair")
    return axes


def plot_coverage(
    overlap: OverlapMatrix, benchmark: Sequence[str], *, of: Sequence[str], threshold: float = 0.3, ax: Panel = None
) -> Axes:
    """The strongest overlap of each corruption with a member of a benchmark, the best covered first, members last.

    A corruption beyond the dashed threshold is covered; the name beside a bar is the member that covers it.
    """
    of, benchmark = (tuple(overlap.names[i] for i in overlap.positions(names)) for names in (of, benchmark))
    scores = np.nan_to_num(overlap.scores[np.ix_(overlap.positions(of), overlap.positions(benchmark))])
    short = dict(zip((*of, *benchmark), style.short_names((*of, *benchmark)), strict=True))
    best = dict(zip(of, scores.max(1).tolist(), strict=True))
    nearest = {name: short[benchmark[place]] for name, place in zip(of, scores.argmax(1), strict=True)}
    order = sorted(of, key=lambda name: (name in benchmark, -best[name]))
    kinds = ["member" if one in benchmark else "covered" if best[one] > threshold else "not covered" for one in order]
    colours = {"covered": LIGHT["accent"], "not covered": LIGHT["bad"], "member": LIGHT["rest"]}
    with style.row_axes(ax, [short[name] for name in order]) as ax:
        bars = style.draw_bars(ax, [best[one] for one in order], kinds, colours)
        for y, name in enumerate(name for name in order if name not in benchmark):
            text = style.plain_text(f"{best[name]:.2f} {nearest[name]}") if best[name] > 0 else "no overlap"
            inside = best[name] > 0.55
            where: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": 6}
            where |= {"ha": "right", "color": "white"} if inside else {}
            ax.annotate(text, (max(best[name], threshold), y), (-3 if inside else 3, 0), **where)
        ax.axvline(threshold, **DASHED)
        ax.set(xlim=(0, 1.02 * max(1.0, *best.values())), xlabel="strongest overlap with a member")
        style.add_legend(ax, bars, right=True)
    return ax


def plot_balance(benchmarks: Mapping[str, SingleScores], *, figure: Canvas = None) -> AxesArray:
    """The relative mCE of each model that was trained with one corruption of a benchmark; Axes for each benchmark.

    The dashed line at 100 is the reference model. The shaded band reaches from the best to the worst: the narrower it
    is, the more evenly the benchmark weighs its corruptions. Intervals are drawn where they are known.
    """
    style.check_some(benchmarks, "benchmark")
    with style.stacked_axes(figure, [len(one.scores) for one in benchmarks.values()]) as axes:
        for ax, (name, single) in zip(axes, benchmarks.items(), strict=True):
            order = sorted(single.scores, key=lambda one: single.scores[one].value)
            scores = [single.scores[one] for one in order]
            style.name_rows(ax, style.short_names(order))
            ax.axvspan(scores[0].value, scores[-1].value, color=LIGHT["accent"], alpha=0.1, linewidth=0)
            ends = [[one.value if end is None else end for end in (one.low, one.value, one.high)] for one in scores]
            low, value, high = np.transpose(ends)
            style.draw_rows(ax, {name: (value, low, high)})
            ax.axvline(100, **DASHED)
            balance = single.balance
            ax.set_title(style.plain_text(f"{name}: range {balance.range:.1f}, standard deviation {balance.std:.1f}"))
        reference = next(iter(benchmarks.values())).reference or "reference"
        axes[-1].set_xlabel(style.plain_text(f"relative mCE (100 = {reference})"))
    return axes


def plot_correlation(table: pl.DataFrame, *, ax: Panel = None) -> Axes:
    """The mean correlations that `correlation_table` gives: a row for each natural shift, a column for each group.

    They are of the accuracy drops of models on synthetic benchmarks with those on natural shifts; (n,k) are benchmarks
    with k corruptions from each of n categories. The colours diverge from 0 where some are negative.
    """
    if table.width < 2 or not len(table):
        raise BrittleError(f"give a first column of natural shifts and one column a group, got {table.columns}")
    index, *groups = table.columns
    rows = [str(name) for name in table[index]]
    values = table.select(pl.col(groups).cast(pl.Float64)).to_numpy()
    negative = bool((np.nan_to_num(values) < 0).any())
    width = min(max(0.42 * len(groups) + 0.065 * max(map(len, rows)) + 0.7, style.COLUMN), style.PAGE)
    with style.one_axes(ax, 0.27 * len(rows) + 0.3 + 0.045 * max(map(len, groups)), width) as ax:
        ramp, limits = (SHIFT[0], (-1.0, 1.0)) if negative else (OVERLAP, (0.0, 1.0))
        style.draw_heat(ax, values, rows, groups, ramp, limits=limits, number="{:.3f}", label="correlation r")
        if rows[-1] == "mean" and len(rows) > 1:
            ax.axhline(len(rows) - 1, color=LIGHT["ink"], linewidth=0.9)
    return ax


def plot_calibration(
    calibrations: Sequence[Calibration], *, robustness: Sequence[float] = (), figure: Canvas = None
) -> AxesArray:
    """R, the share of the clean accuracy that is left, at every severity that was tried; Axes for each corruption.

    The shaded range is the one that the recipe draws from; `robustness` are dashed lines.
    """
    style.check_some(calibrations, "calibration")
    with style.many_axes(figure, len(calibrations), height=1.05, across=5, sharey=True) as axes:
        names = style.short_names(one.corruption for one in calibrations)
        for ax, one, name in zip(axes, calibrations, names, strict=True):
            severities, shares = np.array(sorted(one.evaluations)).T
            ax.plot(severities, np.clip(shares, 0, 1.1), marker="o", markersize=2.2, color=MODEL_COLOURS[0])
            ax.axvspan(min(one.severities), max(one.severities), color=LIGHT["accent"], alpha=0.14, linewidth=0)
            for value in robustness:
                ax.axhline(value, **DASHED)
            most = max(1.1 * max(one.severities) if one.beyond else 0, get_corruption(one.corruption).max_severity)
            ax.set(xlim=(0, float(most)), ylim=(0, 1.12), yticks=(0, 0.5, 1))
            ax.set_title(style.plain_text(name), fontsize=7)
        style.label_panels(axes, "severity", "robustness R, share of the clean accuracy")
    return axes


def plot_agreement(
    reference: OverlapMatrix, others: Mapping[str, OverlapMatrix], *, across: str = "reference", figure: Canvas = None
) -> AxesArray:
    """A dot for each pair of corruptions, at its overlap in the reference and in another matrix; Axes for each other.

    On the dashed line both matrices give a pair the same overlap. `across` says what the reference is.
    """
    style.check_some(others, "other matrix")
    upper = np.triu_indices(len(reference), 1)
    ends: list[float] = [0.0, 1.0]
    with style.many_axes(figure, len(others), height=2.6, sharex=True, sharey=True) as axes:
        for ax, (name, matrix) in zip(axes, others.items(), strict=True):
            xs, ys = reference.scores[upper], matrix.subset(reference.names).scores[upper]
            ax.plot(xs, ys, "o", color=MODEL_COLOURS[0], alpha=0.5, markersize=2.6, markeredgewidth=0)
            ax.axline((0, 0), slope=1, **DASHED)
            agreement = compare_overlaps(reference, matrix)
            numbers = f"Spearman {agreement.spearman.value:.2f}, |Δ| {agreement.mean_absolute.value:.2f}"
            ax.set_title(style.plain_text(name) + "\n" + style.signed(numbers), fontsize=7)
            ax.set_aspect("equal")
            ends.extend(np.append(xs, ys)[np.isfinite(np.append(xs, ys))])
        axes[0].set(xlim=(min(ends) - 0.04, max(ends) + 0.04), ylim=(min(ends) - 0.04, max(ends) + 0.04))
        axes[0].figure.supxlabel(style.plain_text(f"overlap, {across}"))
        axes[0].set_ylabel("overlap")
    return axes
