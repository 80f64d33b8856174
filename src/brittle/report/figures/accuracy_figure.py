"""Models side by side under each corruption of one or several benchmarks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from brittle.benchmarks import Benchmark
from brittle.evaluation import Results
from brittle.evaluation.scores import by_corruption, cells_of
from brittle.metrics.bootstrap import means, resampled_means, share_intervals
from brittle.metrics.fraction import Floats
from brittle.report.figures.look import width_of
from brittle.report.figures.plot import Plot, ticks
from brittle.report.figures.series import KEY, key, marker, stroke
from brittle.report.figures.sheet import MARGIN, WIDTH, sheet, short_names
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.models import short

ROW, HEAD = 27, 36


def accuracy_figure(
    results: Results,
    benchmarks: Sequence[Benchmark],
    *,
    models: Sequence[str] | None = None,
    title: str = "Accuracy under each corruption",
) -> Html:
    """A row for each corruption with a mark for each model, means over the levels; the hardest row comes first."""
    if not benchmarks:
        raise ValueError("give at least one benchmark to draw")
    shown = list(models or results.models_with([cell for one in benchmarks for cell in cells_of(one)]))
    if not shown:
        raise ValueError("no model was run through all of these benchmarks; run one through them first")
    tables = [np.stack([_accuracies(results, one, model) for model in shown]) for one in benchmarks]
    low = max(min(float(table.min()) for table in tables) - 0.03, 0.0)
    every = [short_names(entry.id for entry in one.entries) for one in benchmarks]
    left = MARGIN + max(width_of(name, 13) for names in every for name in names) + 10
    panels, top = [], float(KEY)
    for one, names, table in zip(benchmarks, every, tables, strict=True):
        plot = Plot(left, top + HEAD, WIDTH - left - MARGIN - 10, ROW * len(names), (100 * low, 100), (0, 1))
        panels.append(_panel(plot, one.name, names, 100 * table, shown))
        top += HEAD + plot.height + 26
    note = "Percent of images recognised, mean over the levels of a corruption, with 95 % intervals over images."
    body = together(key(shown, left, 14), panels)
    return sheet(title, note, body, width=WIDTH, height=top + 6)


def _accuracies(results: Results, benchmark: Benchmark, model: str) -> Floats:
    """Corruptions × (value, low, high)."""
    rows, mean = results.matrix(model, cells_of(benchmark)).values, by_corruption(benchmark)
    drawn = mean(resampled_means(rows, resamples=500))
    return np.stack([mean(means(rows)), *share_intervals(mean(rows), resampled=drawn)], axis=1)


def _panel(plot: Plot, title: str, names: Sequence[str], table: Floats, models: Sequence[str]) -> Html:
    lines = [
        tag("line", x1=x, x2=x, y1=short(plot.top), y2=short(plot.top + plot.height), class_="grid")
        for x in (short(plot.x(value)) for value in ticks(*plot.xs, 8))
    ]
    rows = [
        _row(plot, place, names[i], table[:, i], models) for place, i in enumerate(np.argsort(table[:, :, 0].mean(0)))
    ]
    head = tag("text", title, x=MARGIN, y=short(plot.top - 12), class_="strong")
    return together(head, lines, plot.frame(ticks(*plot.xs, 8), []), rows)


def _row(plot: Plot, place: int, name: str, numbers: Floats, models: Sequence[str]) -> Html:
    middle = plot.top + (place + 0.5) * ROW
    parts = [tag("text", name, x=short(plot.left - 10), y=short(middle + 4.5), class_="end")]
    step = min(6.0, (ROW - 8) / len(models))
    for number, (model, (value, low, high)) in enumerate(zip(models, numbers, strict=True)):
        y = middle + (number - (len(models) - 1) / 2) * step
        ends = {"x1": short(plot.x(max(low, plot.xs[0]))), "x2": short(plot.x(high))}
        parts.append(stroke(number, y1=short(y), y2=short(y), **ends))
        tip = f"{model}, {name}: {value:.1f} % [{low:.1f}, {high:.1f}]"
        parts.append(marker(number, plot.x(value), y, tip=tip, size=4))
    return together(parts)
