"""Figures of evaluations: accuracy over severity and by corruption, heat maps, failure points, and streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from brittle._errors import BrittleError
from brittle._types import FloatArray
from brittle.benchmarks import Benchmark, Cell
from brittle.evaluation import Results, model_calibration
from brittle.metrics import FailurePoints, means, resampled_means, risk_coverage, share_intervals
from brittle.plots import style
from brittle.plots.style import HEAT, AxesArray, Canvas, Names, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RESAMPLES = 500
Recipe: TypeAlias = str | Benchmark | None
"""A benchmark that the results have, or its name; the one that they have if None."""


def plot_accuracy(
    results: Results, corruption: str | None = None, benchmark: Recipe = None, *, models: Names = None, ax: Panel = None
) -> Axes:
    """The accuracy of each model against the severity, with 95 % intervals over images; 0 are the clean images.

    Of one corruption, such as "fog", or the mean over all of a benchmark. Where corruptions of a benchmark have
    different severities, the first level of each is averaged with the first of the others, and so on.
    """
    recipe = results.find_benchmark(benchmark)
    columns = _by_entry(recipe, None if corruption is None else recipe.entry(corruption).id)
    counts = {len(cells) for cells in columns}
    if len(counts) > 1:
        raise BrittleError(
            f"the corruptions of {recipe.name!r} have {min(counts)} to {max(counts)} levels, so there is no mean at "
            f"each level; give one of them, such as {style.short_names([columns[0][0].corruption])[0]!r}"
        )
    groups = [list(cells) for cells in zip(*columns, strict=True)]
    severities = [{cell.severity for cell in cells} for cells in groups]
    same = all(len(one) == 1 for one in severities)
    xs = [float(min(one) if same else place) for place, one in enumerate(severities, 1)]
    shown = _models(results, [cell for cells in groups for cell in cells], models)
    if set(shown) <= set(results.models_with([Cell()])):
        groups, xs = [[Cell()], *groups], [0.0, *xs]
    with style.one_axes(ax, 2.4) as ax:
        lines = style.draw_curves(ax, {one: (xs, *100 * _accuracies(results, one, groups).T) for one in shown})
        ax.set(xlabel="severity" if same else "level", ylabel="accuracy (%)")
        ax.set_ylim(top=min(ax.get_ylim()[1], 100.5))
        ax.set_xticks(xs if len(xs) <= 8 else ax.get_xticks())
        ax.set_xlim(min(0.0, *xs) if len(xs) > 8 else None)
        style.add_legend(ax, lines)
    return ax


def plot_by_corruption(
    results: Results, benchmarks: Recipe | Sequence[Recipe] = None, *, models: Names = None, figure: Canvas = None
) -> AxesArray:
    """A row for each corruption with a mark for each model, means over the levels with 95 % intervals over images.

    The hardest row comes first. There is a panel for each benchmark, and an array of their Axes is returned.
    """
    given = [benchmarks] if benchmarks is None or isinstance(benchmarks, str | Benchmark) else list(benchmarks)
    style.check_some(given, "benchmark")
    recipes = [results.find_benchmark(one) for one in given]
    shown = _models(results, [cell for one in recipes for cell in one.cells()], models)
    with style.stacked_axes(figure, [len(one.entries) for one in recipes], row=1.15) as axes:
        for ax, recipe in zip(axes, recipes, strict=True):
            table = 100 * np.stack([_accuracies(results, model, _by_entry(recipe)) for model in shown])
            order = np.argsort(table[:, :, 0].mean(0), kind="stable")
            style.name_rows(ax, [style.short_names(entry.id for entry in recipe.entries)[i] for i in order])
            marks = style.draw_rows(ax, {model: table[place, order].T for place, model in enumerate(shown)})
            if len(recipes) > 1:
                ax.set_title(style.plain_text(recipe.name))
        axes[-1].set_xlabel("accuracy (%), mean over levels")
        style.add_legend(axes[0] if len(axes) == 1 else axes[0].figure, marks, right=True)
    return axes


def plot_heat_map(results: Results, benchmark: Recipe = None, *, model: str | None = None, ax: Panel = None) -> Axes:
    """Accuracies in percent: corruption × severity of one model, or corruption × model where there are several.

    In the second case they are means over the levels. Corruptions stand in the order of the benchmark.
    """
    recipe = results.find_benchmark(benchmark)
    models = _models(results, recipe.cells(), None if model is None else [model])
    known = {row[:3]: 100 * row[4] for row in results.accuracy().iter_rows()}
    names = style.short_names(entry.id for entry in recipe.entries)
    cells = _by_entry(recipe)
    if len(models) == 1:
        levels = sorted({cell.severity for row in cells for cell in row})
        columns = [f"{level:g}" for level in levels]
        values = np.array([[known.get((models[0], row[0].corruption, s), np.nan) for s in levels] for row in cells])
    else:
        columns = list(models)
        values = np.array([[np.mean([known[m, *cell.place] for cell in row]) for m in models] for row in cells])
    wide = 0.31 * len(columns) + 0.065 * max(map(len, names)) + 0.7
    high = style.ROW * 1.1 * len(names) + 0.5 + (0.05 * max(map(len, columns)) if len(models) > 1 else 0)
    with style.one_axes(ax, max(high, 1.5), max(wide, style.COLUMN)) as ax:
        style.draw_heat(ax, values, names, columns, HEAT[0], limits=(0, 100), number="{:.0f}", label="accuracy (%)")
        ax.set_xlabel("severity" if len(models) == 1 else "")
    return ax


def plot_failure_points(failures: Mapping[tuple[str, str], FailurePoints], *, ax: Panel = None) -> Axes:
    """The share of images that are still right at each severity, of what `results.failure_points("fog")` gives.

    Bands are 95 % intervals. There is a line for each model and corruption; an image counts as wrong from its first
    error on.
    """
    if not failures:
        raise BrittleError("there are no failure points to draw; run a model on clean images and on a corruption first")
    models, corruptions = ({key[i] for key in failures} for i in (0, 1))
    curves = {}
    for (model, corruption), points in failures.items():
        name = style.short_names([corruption])[0]
        label = model if len(corruptions) == 1 else name if len(models) == 1 else f"{model}, {name}"
        curves[label] = points.severities, *(100 * s for s in (points.survival(), *points.survival_interval()))
    with style.one_axes(ax, 2.4) as ax:
        lines = style.draw_curves(ax, curves)
        ax.set(xlabel="severity", ylabel="images still right (%)")
        ax.set_ylim(top=min(ax.get_ylim()[1], 100.5))
        style.add_legend(ax, lines)
    return ax


NO_CONFIDENCE = "some predictions of {!r} have no confidence between 0 and 1 to draw; import them with one"


def plot_reliability(
    results: Results, benchmark: Recipe = None, *, models: Names = None, figure: Canvas = None
) -> AxesArray:
    """Accuracy against confidence in 15 bins, a panel for each model, on clean and on all corrupted images together.

    On the dashed diagonal confidences are honest; below it the model is too sure.
    """
    recipe = results.find_benchmark(benchmark)
    shown = _models(results, recipe.cells(), models)
    measured = [model_calibration(results, recipe, model) for model in shown]
    for model, one in zip(shown, measured, strict=True):
        if one is None:
            raise BrittleError(NO_CONFIDENCE.format(model))
    with style.many_axes(figure, len(shown), height=2.3, sharex=True, sharey=True) as axes:
        lines: dict[str, Any] = {}
        for ax, model, one in zip(axes, shown, measured, strict=True):
            assert one is not None
            ax.plot([0, 100], [0, 100], **style.DASHED)
            for place, (name, bins) in enumerate(one.bins.items()):
                filled = bins.counts > 0
                xs, ys = 100 * bins.confidence[filled], 100 * bins.accuracy[filled]
                (lines[name],) = ax.plot(xs, ys, **style.series_style(place), clip_on=False)
            ax.set(xlim=(0, 101), ylim=(0, 101), title=style.plain_text(model))
        style.label_panels(axes, "confidence (%)", "accuracy (%)", lines)
    return axes


def plot_risk_coverage(results: Results, benchmark: Recipe = None, *, models: Names = None, ax: Panel = None) -> Axes:
    """The error among the surest predictions against the share that is kept, mean over the corrupted cells."""
    recipe = results.find_benchmark(benchmark)
    shown, cells, grid = _models(results, recipe.cells(), models), _by_entry(recipe), np.linspace(0, 1, 101)[1:]
    curves = {}
    for model in shown:
        each = []
        for group in cells:
            _, (right, sure) = results.columns(model, group, ["correct", "confidence"])
            if not ((sure >= 0) & (sure <= 1)).all():
                raise BrittleError(NO_CONFIDENCE.format(model))
            found = [risk_coverage(sure[:, place], right[:, place]) for place in range(len(group))]
            each.append(np.mean([np.interp(grid, one.coverage, one.risk) for one in found], axis=0))
        curves[model] = 100 * grid, 100 * np.mean(each, axis=0)
    with style.one_axes(ax, 2.4) as ax:
        lines = {}
        for place, (model, (xs, ys)) in enumerate(curves.items()):
            (lines[model],) = ax.plot(xs, ys, **{**style.series_style(place), "marker": ""})
        ax.set(xlabel="coverage: predictions kept, the surest first (%)", ylabel="error (%)", xlim=(0, 100))
        style.add_legend(ax, lines)
    return ax


def _by_entry(recipe: Benchmark, corruption: str | None = None) -> list[list[Cell]]:
    """The cells of each corruption of a recipe, or of one alone."""
    names = [entry.id for entry in recipe.entries if corruption in (None, entry.id)]
    return [[cell for cell in recipe.cells() if cell.corruption == name] for name in names]


def plot_stream(results: Results, stream: str | None = None, *, models: Names = None, ax: Panel = None) -> Axes:
    """The error of each model over time, as a stream shows its images, with 95 % intervals over images.

    There is a mark for each segment, or for each twentieth of a mixed stream; changes of corruption are named above.
    """
    scores = results.stream_scores(stream)
    names = sorted({one.stream for one in scores})
    if len(names) > 1:
        raise BrittleError(f"there are {len(names)} streams, {', '.join(names)}; name one of them to draw")
    shown = [one for one in scores if models is None or one.model in models]
    style.check_some(shown, "model that was shown the stream")
    last = shown[0].over_time[-1].end
    unit, axis = (1000, "images shown (thousands)") if last > 10_000 else (1, "images shown")
    curves = {}
    for one in shown:
        starts = [0, *(window.end for window in one.over_time)]
        middles = [(a + b) / 2 / unit for a, b in pairwise(starts)]
        errors = [window.error for window in one.over_time]
        curves[one.model] = middles, *([100 * getattr(e, end) for e in errors] for end in ("value", "low", "high"))
    with style.one_axes(ax, 2.6, style.PAGE) as ax:
        lines = style.draw_curves(ax, curves)
        windows, start = shown[0].over_time, 0
        for title, group in groupby(windows, key=lambda window: window.title.rpartition(" ")[0]):
            end = list(group)[-1].end
            if title != "part":
                ax.axvline(start / unit, color="0.85", linewidth=0.6, zorder=0)
                top = (start + end) / 2 / unit, 1.01
                ax.text(
                    *top, style.plain_text(title), transform=ax.get_xaxis_transform(), rotation=35, fontsize="small"
                )
            start = end
        ax.set(xlabel=axis, ylabel="error (%)", xlim=(0, last / unit), ylim=(0, None))
        ax.legend(
            list(lines.values()), [style.plain_text(name) for name in lines], loc="upper left", bbox_to_anchor=(1, 1)
        )
    return ax


def _models(results: Results, cells: Sequence[Cell], models: Names) -> list[str]:
    """The models to draw in the order of their colours: as given, else all with these cells, the best first."""
    if models is not None:
        return list(models)
    table = {row[:3]: row[4] for row in results.accuracy().iter_rows()}
    able = results.models_with(cells)
    if not able:
        raise BrittleError("no model was run through all of these benchmarks; run one through them first")
    return sorted(able, key=lambda model: (-round(np.mean([table[model, *cell.place] for cell in cells]), 12), model))


def _accuracies(results: Results, model: str, groups: Sequence[Sequence[Cell]]) -> FloatArray:
    """Groups of cells × (mean accuracy, low, high)."""
    rows = results.matrix(model, [cell for group in groups for cell in group]).values
    ends = np.cumsum([0, *map(len, groups)])

    def mean(values: FloatArray) -> FloatArray:
        return np.stack([values[..., a:b].mean(-1) for a, b in pairwise(ends)], axis=-1)

    low, high = share_intervals(mean(rows), resampled=mean(resampled_means(rows, resamples=RESAMPLES)))
    return np.stack([mean(means(rows)), low, high], axis=1)
