"""Figures of generated shifts: the scores of CNS-Bench, sliders and the filter of images that lost their class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from brittle._errors import BrittleError
from brittle.evaluation import CnsScores, ordered_shifts, shift_title
from brittle.plots import style
from brittle.plots.style import DASHED, LIGHT, AxesArray, Canvas, Names, Panel, series_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FILTER = {"tpr": "out-of-class images removed", "fpr": "other images removed", "accuracy": "treated rightly"}
PANEL = 1.45
"""The height in inches of a panel of many."""


def plot_drop(scores: CnsScores, *, models: Names = None, figure: Canvas = None) -> AxesArray:
    """The accuracy drop since scale 0 against the scale, with 95 % intervals; an array with the Axes of each shift.

    The mean over shifts comes first. `models` are those to draw, in the order of their colours.
    """
    names = ("drop", "drop_low", "drop_high")
    table = scores.accuracy.with_columns(pl.col(*names) * 100)
    series = _by_scale(table, names, shift=ordered_shifts(table, "mean"), model=_models(scores, models))
    with _scale_panels(figure, series, "accuracy drop (points)") as axes:
        return axes


def plot_first_failures(scores: CnsScores, *, models: Names = None, figure: Canvas = None) -> AxesArray:
    """The share of trajectories that fail first at each scale above 0, with 95 % intervals; Axes for each shift.

    Shares are of all trajectories, as in CNS-Bench: those that are wrong at scale 0 already, and those that never fail,
    are in no bar, so the bars of a model do not add up to 100.
    """
    table, shown = scores.failure_points.filter(pl.col("scale") > 0), _models(scores, models)
    shifts = ordered_shifts(table, "all")
    with style.many_axes(figure, len(shifts), height=PANEL, sharey=True) as axes:
        for ax, shift in zip(axes, shifts, strict=True):
            marks: dict[str, Any] = {}
            for place, model in enumerate(shown):
                scales, *rest = _columns(table, ("scale", "share", "low", "high"), shift=shift, model=model)
                share, low, high = (100 * column.to_numpy() for column in rest)
                xs = np.arange(len(scales)) + (place - (len(shown) - 1) / 2) * 0.8 / len(shown)
                look = {**series_style(place), "linestyle": "none"}
                ax.bar(xs, share, 0.74 / len(shown), color=look["color"], alpha=0.4)
                ax.vlines(xs, low, high, colors=look["color"], linewidth=0.8)
                (marks[model],) = ax.plot(xs, share, **look)
            ax.set_xticks(range(len(scales)), [f"{scale:g}" for scale in scales])
            ax.grid(visible=False, axis="x")
            ax.set_title(style.plain_text(shift_title(shift)))
        style.label_panels(axes, "scale of the first error", "trajectories (%)", marks)
    return axes


def plot_ranks(scores: CnsScores, *, models: Names = None, figure: Canvas = None) -> AxesArray:
    """The rank of each model by accuracy at each scale, 1 on top; an array with the Axes of each shift.

    Models that are equally good share the better rank. τ is Kendall's correlation of the accuracies at the last scale
    with those at scale 0.
    """
    table, shifts = scores.rankings, ordered_shifts(scores.rankings, "all")
    series = _by_scale(table, ["rank"], shift=shifts, model=_models(scores, models))
    with _scale_panels(figure, series, "rank") as axes:
        for ax, shift in zip(axes, shifts, strict=True):
            tau = _columns(scores.agreement, ["kendall"], shift=shift)[0][-1]
            ax.set_title(
                style.plain_text(shift_title(shift)) + ("" if tau is None else style.signed(f", τ = {tau:.2f}"))
            )
        lowest = int(table["rank"].max())  # type: ignore[arg-type]
        axes[0].set_yticks(range(1, lowest + 1, -(-lowest // 8)))
        axes[0].set_ylim(lowest + 0.4, 0.6)
    return axes


def plot_slopes(scores: CnsScores, *, figure: Canvas = None) -> AxesArray:
    """The slope, over models, of accuracy under a shift on accuracy without it, with 95 % intervals; Axes a shift.

    1 (dashed): a model that is a point better without the shift is a point better under it. Long intervals are cut off.
    """
    table = scores.slopes.with_columns(of=pl.lit("slope"))
    series = _by_scale(table, ("slope", "low", "high"), shift=ordered_shifts(table, "all"), of=["slope"])
    with _scale_panels(figure, series, f"slope (ID: {scores.id_axis})") as axes:
        for ax in axes:
            ax.axhline(1, **DASHED)
        least, most = float(table["slope"].min()), float(table["slope"].max())  # type: ignore[arg-type]
        bottom, top = axes[0].get_ylim()
        axes[0].set_ylim(max(bottom, min(0.0, least) - 2), min(top, max(1.2, most) + 2))
    return axes


def plot_rce(scores: CnsScores, shift: str = "mean", *, models: Names = None, ax: Panel = None) -> Axes:
    """The relative corruption error of each model with its 95 % interval, the best on top; 1 (dashed) is the baseline.

    Of one shift, or the mean over all. The scores need a baseline: `cns_scores(results, baseline="alexnet")`.
    """
    known = {row["model"]: row for row in scores.rce.filter(pl.col("shift") == shift).iter_rows(named=True)}
    if not known:
        raise BrittleError(f"there is no rCE of {shift!r}; give cns_scores a baseline, and one of its shifts or 'mean'")
    shown = [model for model in _models(scores, models) if model in known]
    order = sorted(shown, key=lambda model: (known[model]["rce"], model))
    with style.one_axes(ax, style.ROW * 1.2 * len(order) + 0.5) as ax:
        style.name_rows(ax, order)
        for y, model in enumerate(order):
            row = known[model]
            style.draw_marks(ax, shown.index(model), [row["rce"]], [y], [row["low"]], [row["high"]])
        ax.axvline(1, **DASHED)
        ax.set_xlabel("rCE (baseline = 1), lower is better")
    return ax


def plot_shift_curves(curves: pl.DataFrame, *, figure: Canvas = None) -> AxesArray:
    """ΔCLIP to the words of the shift and of the class against the scale, with 95 % intervals, of `shift_curves`.

    Rising to the shift, a slider works; falling to the class, it destroys what it should only shift. An array with the
    Axes of each shift or class is returned.
    """
    first = curves.columns[0]
    groups = curves[first].unique().sort().to_list()
    measures = curves["measure"].unique(maintain_order=True).to_list()
    series = _by_scale(curves, ("value", "low", "high"), **{first: groups, "measure": measures})
    with _scale_panels(figure, series, "100 × change of cosine") as axes:
        return axes


def plot_filter(quality: pl.DataFrame, *, figure: Canvas = None) -> AxesArray:
    """TPR, FPR and accuracy of each filter in percent with 95 % intervals, as `compare_filters` gives them."""
    names = quality["filter"].to_list()
    with style.many_axes(figure, 3, height=style.ROW * 1.2 * len(names) + 0.4, sharey=True) as axes:
        for ax, (measure, title) in zip(axes, FILTER.items(), strict=True):
            for y, row in enumerate(quality.iter_rows(named=True)):
                value, low, high = (100 * row[f"{measure}{end}"] for end in ("", "_low", "_high"))
                style.draw_marks(ax, y, [value], [y], [low], [high])
            ax.set_title(title)
            ax.set(xlim=(-3, 103), xticks=(0, 50, 100))
        style.name_rows(axes[0], names)
        style.label_panels(axes, f"percent of {quality['images'][0]:,} labelled images", "")
    return axes


def plot_ooc_scores(known: pl.DataFrame, thresholds: Mapping[str, float], *, figure: Canvas = None) -> AxesArray:
    """How the scores of images that show their class and of those that do not are distributed; Axes for each score.

    `known` is what `labelled` gives. An image with a score below the dashed threshold does not pass; see `plot_roc`.
    """
    outside = known["out_of_class"].to_numpy()
    with style.many_axes(figure, len(thresholds), height=1.4, across=2) as axes:
        for ax, (name, threshold) in zip(axes, thresholds.items(), strict=True):
            values = known[name].cast(pl.Float64).to_numpy()
            there = np.isfinite(values)
            edges = np.histogram_bin_edges(values[there], 32)
            kinds = {"shows its class": values[there & ~outside], "out of class": values[there & outside]}
            steps: dict[str, Any] = {}
            for place, (kind, chosen) in enumerate(kinds.items()):
                shares = 100 * np.histogram(chosen, edges)[0] / max(1, len(chosen))
                look = series_style(place)
                ax.stairs(shares, edges, fill=True, color=look["color"], alpha=0.16)
                steps[kind] = ax.stairs(shares, edges, color=look["color"], linestyle=look["linestyle"], linewidth=1.1)
            ax.axvline(threshold, **DASHED)
            ax.set_title(style.plain_text(name))
        style.label_panels(axes, "score", "images of each kind (%)", steps)
    return axes


def plot_roc(curves: pl.DataFrame, *, ax: Panel = None) -> Axes:
    """The ROC curve of each score and of their rule, as `filter_roc` gives them, and the area below; dashed: chance."""
    parts = {f"{one['filter'][0]}, AUC {one['auc'][0]:.2f}": one for one in curves.partition_by("filter")}
    with style.one_axes(ax, style.COLUMN) as ax:
        lines = style.draw_curves(ax, {name: [100 * one["fpr"], 100 * one["tpr"]] for name, one in parts.items()})
        for line in lines.values():
            line.set_marker("")
        ax.axline((0, 0), slope=1, **DASHED)
        ax.set(xlabel=f"{FILTER['fpr']} (%)", ylabel=f"{FILTER['tpr']} (%)")
        style.add_legend(ax, lines)
    return ax


def plot_loss(losses: Mapping[str, Sequence[float]], *, smooth: float = 0.08, figure: Canvas = None) -> AxesArray:
    """The training loss of each slider by its name: every step as a point, and a running mean; an array of Axes.

    The mean is over the share `smooth` of all steps. Steps stop at different noise levels, hence the scatter.
    """
    if not losses or not all(len(steps) for steps in losses.values()):
        raise BrittleError("a figure of losses needs at least one slider, and steps of each")
    with style.many_axes(figure, len(losses), height=PANEL, sharey=True) as axes:
        for ax, (name, steps) in zip(axes, losses.items(), strict=True):
            values = np.maximum(np.asarray(steps, float), 1e-12)
            width = max(1, round(smooth * len(values)))
            mean = np.convolve(values, np.ones(width) / width, mode="valid")
            every = max(1, len(values) // 200)
            ax.plot(np.arange(1, len(values) + 1)[::every], values[::every], ".", color=LIGHT["rest"], markersize=1.5)
            ax.plot(np.arange(len(mean)) + 1 + (width - 1) / 2, mean, color=series_style(0)["color"])
            ax.set_yscale("log")
            ax.set_title(style.plain_text(shift_title(name)))
        style.label_panels(axes, "training step", "mean squared error")
    return axes


def _by_scale(table: pl.DataFrame, columns: Sequence[str], **by: Sequence[str]) -> dict[str, dict[str, list[Any]]]:
    """The scales and these columns of each panel and of each series in it; `by` are the columns that name the two."""
    (panel, panels), (series, names) = by.items()
    wanted = ("scale", *columns)
    return {one: {name: _columns(table, wanted, **{panel: one, series: name}) for name in names} for one in panels}


@contextmanager
def _scale_panels(figure: Canvas, panels: Mapping[str, Mapping[str, list[Any]]], label: str) -> Iterator[AxesArray]:
    """Axes for each panel, with a line over the scales for each of its series."""
    with style.many_axes(figure, len(panels), height=PANEL, sharex=True, sharey=True) as axes:
        for ax, (name, series) in zip(axes, panels.items(), strict=True):
            lines = style.draw_curves(ax, series)
            ax.set_title(style.plain_text(shift_title(str(name))))
        style.label_panels(axes, "scale", label, lines)
        yield axes


def _models(scores: CnsScores, models: Names) -> list[str]:
    """As given, else the best at scale 0 first."""
    if models is not None:
        return list(models)
    start = scores.accuracy.filter(pl.col("scale") == 0).group_by("model").agg(pl.col("accuracy").mean().round(12))
    return [str(model) for model in start.sort(["accuracy", "model"], descending=[True, False])["model"]]


def _columns(table: pl.DataFrame, wanted: Sequence[str], **values: Any) -> list[pl.Series]:
    """Columns of the rows with these values, by scale."""
    rows = table.filter(*(pl.col(name) == value for name, value in values.items())).sort("scale")
    return rows.select(wanted).get_columns()
