"""Figures of evaluations."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl

from brittle._errors import BrittleError
from brittle._types import FloatArray
from brittle.benchmarks import Benchmark
from brittle.evaluation import Results
from brittle.evaluation.score import by_corruption
from brittle.metrics import means, resampled_means, share_intervals
from brittle.report.figures.drawing import (
    BANDS,
    KEY,
    MARGIN,
    WIDTH,
    Panel,
    Plot,
    band,
    between,
    hit,
    key,
    marker,
    panel_sheet,
    scale_name,
    sheet,
    short_names,
    stroke,
    ticks,
    width_of,
)
from brittle.report.html import Html, ModelStyles, concat, fmt, tag

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
        raise BrittleError("give at least one benchmark to draw")
    shown = list(models or results.models_with([cell for one in benchmarks for cell in one.cells()]))
    if not shown:
        raise BrittleError("no model was run through all of these benchmarks; run one through them first")
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
    body = concat(key(shown, left, 14), panels)
    return sheet(title, note, body, width=WIDTH, height=top + 6)


def _accuracies(results: Results, benchmark: Benchmark, model: str) -> FloatArray:
    """Corruptions × (value, low, high)."""
    rows, mean = results.matrix(model, benchmark.cells()).values, by_corruption(benchmark)
    drawn = mean(resampled_means(rows, resamples=500))
    return np.stack([mean(means(rows)), *share_intervals(mean(rows), resampled=drawn)], axis=1)


def _panel(plot: Plot, title: str, names: Sequence[str], table: FloatArray, models: Sequence[str]) -> Html:
    lines = [
        tag("line", x1=x, x2=x, y1=fmt(plot.top), y2=fmt(plot.top + plot.height), class_="grid")
        for x in (fmt(plot.x(value)) for value in ticks(*plot.xs, 8))
    ]
    rows = [
        _row(plot, place, names[i], table[:, i], models) for place, i in enumerate(np.argsort(table[:, :, 0].mean(0)))
    ]
    head = tag("text", title, x=MARGIN, y=fmt(plot.top - 12), class_="strong")
    return concat(head, lines, plot.frame(ticks(*plot.xs, 8), []), rows)


def _row(plot: Plot, place: int, name: str, numbers: FloatArray, models: Sequence[str]) -> Html:
    middle = plot.top + (place + 0.5) * ROW
    parts = [tag("text", name, x=fmt(plot.left - 10), y=fmt(middle + 4.5), class_="end")]
    step = min(6.0, (ROW - 8) / len(models))
    for number, (model, (value, low, high)) in enumerate(zip(models, numbers, strict=True)):
        y = middle + (number - (len(models) - 1) / 2) * step
        ends = {"x1": fmt(plot.x(max(low, plot.xs[0]))), "x2": fmt(plot.x(high))}
        parts.append(stroke(number, y1=fmt(y), y2=fmt(y), **ends))
        tip = f"{model}, {name}: {value:.1f} % [{low:.1f}, {high:.1f}]"
        parts.append(marker(number, plot.x(value), y, tip=tip, size=4))
    return concat(parts)


WIDE, HIGH = 270, 196


def failure_panels(failures: pl.DataFrame, looks: ModelStyles) -> list[Panel]:
    """A panel for each shift of the table `CnsScores.failure_points`, all together first.

    As in the paper, the bins are the scales above 0, and shares are of all trajectories: those that are wrong at
    scale 0 already, and those that never fail, are in no bin.
    """
    shifts = failures["shift"].unique().sort().to_list()
    order = [*(["all"] if "all" in shifts else []), *(s for s in shifts if s != "all")]
    shown = failures.filter(pl.col("model").is_in([m for m in looks.order if looks[m].shown]))
    top = max(5.0, 100 * float(shown.filter(pl.col("scale") > 0)["share"].max() or 0))  # type: ignore[arg-type]
    return [_failure_panel(shown.filter(pl.col("shift") == shift), shift, looks, top * 1.06) for shift in order]


def failure_figure(
    failures: pl.DataFrame, models: list[str], *, title: str = "Where trajectories fail for the first time"
) -> Html:
    """The same as a file; `models` are in the order of their colours."""
    looks = ModelStyles(models)
    note = (
        "Percent of trajectories whose smallest wrong scale is this one. Those that are wrong without a shift, or "
        "never wrong, are in no column, so columns of a model do not add up to 100."
    )
    return panel_sheet(title, note, failure_panels(failures, looks), looks)


def _failure_panel(rows: pl.DataFrame, shift: str, looks: ModelStyles, top: float) -> Panel:
    scales = [scale for scale in sorted(rows["scale"].unique().to_list()) if scale > 0]
    models = [model for model in looks.order if model in set(rows["model"])]
    plot = Plot(34, 8, WIDE - 40, HIGH - 48, (0, len(scales)), (0, top))
    wide = 0.8 / len(models)
    layers, hits = [], []
    values = {(r["model"], r["scale"]): r for r in rows.iter_rows(named=True)}
    for place, model in enumerate(models):
        look, shapes = looks[model], []
        for i, scale in enumerate(scales):
            height = 100 * values[model, scale]["share"]
            x, y = plot.x(i + 0.1 + place * wide), plot.y(height)
            width = plot.x(wide) - plot.x(0) - (1 if len(models) > 3 else 2)
            where = {"x": fmt(x), "y": fmt(y), "width": fmt(width), "height": fmt(plot.y(0) - y)}
            shapes += [tag("rect", class_="column", **where), look.marker(x + width / 2, y, 2.6)]
        layers.append(tag("g", shapes, class_=look.name))
    for i, scale in enumerate(scales):
        lines = [
            f"{m}  {100 * values[m, scale]['share']:.1f} % "
            f"[{100 * values[m, scale]['low']:.1f}, {100 * values[m, scale]['high']:.1f}]"
            for m in models
        ]
        hits.append(hit(plot, i, i + 1, "\n".join([f"fail first at {scale:g}", *lines])))
    names = [
        tag("text", f"{scale:g}", x=fmt(plot.x(i + 0.5)), y=fmt(plot.top + plot.height + 18), class_="mid soft")
        for i, scale in enumerate(scales)
    ]
    name = "all shifts" if shift == "all" else shift.replace("_", " ")
    zero = [f"{100 * values[m, 0.0]['share']:.0f}" for m in models if (m, 0.0) in values]
    about = (
        f"wrong at 0: {', '.join(zero)} %" if zero and len(models) <= 3 else f"{rows['trajectories'][0]:,} trajectories"
    )
    most = max(scales, key=lambda scale: values[models[0], scale]["share"])
    label = f"{name}: most trajectories of {models[0]} fail first at scale {most:g}"
    return Panel(
        name,
        about,
        WIDE,
        HIGH,
        concat(plot.frame([], ticks(0, top, 4)), names, layers, scale_name(plot), hits),
        label,
    )


DROP_WIDE, DROP_HIGH = 270, 206


def drop_panels(accuracy: pl.DataFrame, looks: ModelStyles) -> list[Panel]:
    """A panel for each shift of the table `CnsScores.accuracy`, the mean over shifts first; all with the same axes."""
    shifts = accuracy["shift"].unique().sort().to_list()
    order = [*(["mean"] if "mean" in shifts else []), *(s for s in shifts if s not in ("mean", "all"))]
    table = accuracy.with_columns(pl.col("drop", "drop_low", "drop_high") * 100)
    few = accuracy["model"].n_unique() <= BANDS
    ends = ("drop_low", "drop_high") if few else ("drop", "drop")
    low = min(0.0, float(table[ends[0]].min()))  # type: ignore[arg-type]
    high = max(5.0, float(table[ends[1]].max()))  # type: ignore[arg-type]
    return [
        _drop_panel(table.filter(pl.col("shift") == shift), shift, looks, (low, high * 1.04), few) for shift in order
    ]


def drop_figure(accuracy: pl.DataFrame, models: list[str], *, title: str = "How much accuracy a shift takes") -> Html:
    """The same as a file; `models` are in the order of their colours."""
    looks = ModelStyles(models)
    note = "Accuracy drop since scale 0, in percentage points, against the scale of the slider" + (
        "; bands are 95 % intervals." if len(models) <= BANDS else "."
    )
    return panel_sheet(title, note, drop_panels(accuracy, looks), looks)


def _drop_panel(rows: pl.DataFrame, shift: str, looks: ModelStyles, ys: tuple[float, float], few: bool) -> Panel:
    scales = sorted(rows["scale"].unique().to_list())
    plot = Plot(34, 8, DROP_WIDE - 44, DROP_HIGH - 48, (scales[0], scales[-1]), ys)
    bands, lines, tips = [], [], {scale: [f"{shift.replace('_', ' ')}, scale {scale:g}"] for scale in scales}
    there = [model for model in looks.order if model in set(rows["model"])]
    for model in reversed(there):
        look, mine = looks[model], rows.filter(pl.col("model") == model).sort("scale")
        drop = mine["drop"].to_list()
        if few:
            bands.append(
                tag(
                    "g",
                    band(plot, scales, *(mine[key].to_list() for key in ("drop_low", "drop_high"))),
                    class_=look.name,
                )
            )
        line = tag("path", d=plot.path(zip(scales, drop, strict=True)), class_="line", stroke_dasharray=look.dash)
        marks = [look.marker(plot.x(x), plot.y(y)) for x, y in zip(scales, drop, strict=True)] if look.shown else None
        lines.append(tag("g", line, marks, class_=look.name))
    for model in there:
        for row in rows.filter(pl.col("model") == model).iter_rows(named=True):
            words = f"{model}  {row['drop']:.1f} [{row['drop_low']:.1f}, {row['drop_high']:.1f}]"
            tips[row["scale"]].append(words.replace("-", "−"))
    hits = [hit(plot, *between(scales, i), "\n".join(tips[scale])) for i, scale in enumerate(scales)]
    name = "mean over shifts" if shift == "mean" else shift.replace("_", " ")
    first = rows.filter((pl.col("model") == there[0]) & (pl.col("scale") == scales[-1]))["drop"][0]
    label = f"{name}: {there[0]} loses {first:.1f} points at scale {scales[-1]:g}"
    about = f"{rows['trajectories'][0]:,} trajectories"
    body = concat(plot.frame(scales, ticks(*ys, 5)), bands, lines, scale_name(plot), hits)
    return Panel(name, about, DROP_WIDE, DROP_HIGH, body, label)


RANKING_WIDE, RANKING_HIGH = 270, 186


def ranking_panels(rankings: pl.DataFrame, agreement: pl.DataFrame, looks: ModelStyles) -> list[Panel]:
    """A panel for each shift: the rank of each model at each scale, 1 on top, and Kendall's τ to scale 0 below."""
    shifts = rankings["shift"].unique().sort().to_list()
    order = [*(["all"] if "all" in shifts else []), *(s for s in shifts if s != "all")]
    return [
        _ranking_panel(rankings.filter(pl.col("shift") == s), agreement.filter(pl.col("shift") == s), s, looks)
        for s in order
    ]


def ranking_figure(
    rankings: pl.DataFrame,
    agreement: pl.DataFrame,
    models: list[str],
    *,
    title: str = "Do models keep their order along a shift?",
) -> Html:
    """The same as a file; `models` are in the order of their colours."""
    looks = ModelStyles(models)
    note = (
        "Rank by accuracy at each scale, the best on top; models that are equally good share the better rank. τ is "
        "Kendall's correlation of the accuracies at the last scale with those at scale 0."
    )
    return panel_sheet(title, note, ranking_panels(rankings, agreement, looks), looks)


def _ranking_panel(rows: pl.DataFrame, agreement: pl.DataFrame, shift: str, looks: ModelStyles) -> Panel:
    scales = sorted(rows["scale"].unique().to_list())
    models = [model for model in looks.order if model in set(rows["model"])]
    plot = Plot(26, 10, RANKING_WIDE - 40, RANKING_HIGH - 52, (scales[0], scales[-1]), (len(models) + 0.4, 0.6))
    lines = []
    tips = {scale: [f"scale {scale:g}"] for scale in scales}
    for row in rows.sort("scale", "rank").iter_rows(named=True):
        tips[row["scale"]].append(f"{row['rank']}. {row['model']}  {100 * row['accuracy']:.1f} %")
    for model in reversed(models):
        look, mine = looks[model], rows.filter(pl.col("model") == model).sort("scale")
        points = list(zip(scales, mine["rank"].to_list(), strict=True))
        line = tag("path", d=plot.path(points), class_="line", stroke_dasharray=look.dash)
        marks = [look.marker(plot.x(x), plot.y(y), 4) for x, y in points] if look.shown else None
        lines.append(tag("g", line, marks, class_=look.name))
    hits = [hit(plot, *between(scales, i), "\n".join(tips[scale])) for i, scale in enumerate(scales)]
    last = agreement.filter(pl.col("scale") == scales[-1])
    tau = last["kendall"][0] if len(last) else None
    about = f"τ = {tau:.2f} at {scales[-1]:g}".replace("-", "−") if tau is not None else "τ is undefined"
    moved = rows.filter((pl.col("scale") == scales[-1]) & (pl.col("fallen") != 0))["model"].n_unique()
    name = "all shifts" if shift == "all" else shift.replace("_", " ")
    label = f"{name}: {moved} of {len(models)} models have another rank at scale {scales[-1]:g} than at 0"
    every = range(1, len(models) + 1) if len(models) <= 8 else range(1, len(models) + 1, -(-len(models) // 8))
    return Panel(
        name, about, RANKING_WIDE, RANKING_HIGH, concat(plot.frame(scales, every), lines, scale_name(plot), hits), label
    )


RCE_WIDE, RCE_ROW = 420, 26


def rce_panel(rce: pl.DataFrame, looks: ModelStyles, shift: str = "mean") -> Panel:
    """A row for each model of the table `CnsScores.rce`: a point, its interval, a dashed line at the baseline's 1."""
    mine = rce.filter(pl.col("shift") == shift)
    rows = {row["model"]: row for row in mine.iter_rows(named=True)}
    models = sorted(rows, key=lambda model: (rows[model]["rce"], model))
    ends = [v for row in rows.values() for v in (row["rce"], row["low"], row["high"])]
    ends = [v for v in ends if v is not None and math.isfinite(v)]
    low, high = min(0.0, *ends), max(1.1, *ends)
    left = max(width_of(model, 13) for model in models) + 12
    plot = Plot(left, 6, RCE_WIDE - left - 56, RCE_ROW * len(models), (low, high), (len(models), 0))
    parts = []
    for i, model in enumerate(models):
        row, look, y = rows[model], looks[model], plot.y(i + 0.5)
        ends_known = row["low"] is not None and row["high"] is not None
        words = f"{model}: rCE {row['rce']:.2f}" + (f" [{row['low']:.2f}, {row['high']:.2f}]" if ends_known else "")
        whisker = None
        if ends_known:  # an end may be infinite, where the baseline hardly loses anything
            ends_shown = {"x1": fmt(plot.x(max(row["low"], low))), "x2": fmt(plot.x(min(row["high"], high)))}
            whisker = tag("line", **ends_shown, y1=fmt(y), y2=fmt(y), class_="line")
        parts += [
            tag("text", model, x=fmt(left - 10), y=fmt(y + 4.5), class_="end"),
            tag("g", tag("title", words.replace("-", "−")), whisker, look.marker(plot.x(row["rce"]), y, 4.4),
                class_=look.name),
            tag("text", f"{row['rce']:.2f}".replace("-", "−"), x=RCE_WIDE - 50, y=fmt(y + 4.5), class_="soft"),
        ]  # fmt: skip
    label = f"rCE: {models[0]} has the lowest, {rows[models[0]]['rce']:.2f}"
    name = "mean over shifts" if shift == "mean" else shift.replace("_", " ")
    frame = plot.frame(ticks(low, high, 6), [])
    return Panel(name, "1 is the baseline; lower is better", RCE_WIDE, RCE_ROW * len(models) + 34,
                 concat(frame, plot.down(1.0), parts), label)  # fmt: skip


def rce_figure(
    rce: pl.DataFrame, models: list[str], baseline: str, *, title: str = "Relative corruption error"
) -> Html:
    """The same as a file; `models` are in the order of their colours."""
    note = (
        f"rCE: the summed rise in error over all scales, divided by that of {baseline}, then the mean over shifts. "
        "Lines are 95 % intervals."
    )
    return panel_sheet(title, note, [rce_panel(rce, ModelStyles(models))])


SLOPE_WIDE, SLOPE_HIGH = 270, 186
REACH = 2.0
"""Intervals are cut off this far beyond the slopes themselves."""


def slope_panels(slopes: pl.DataFrame) -> list[Panel]:
    """A panel for each shift of the table `CnsScores.slopes`, all together first; none if there are no slopes."""
    if slopes.is_empty():
        return []
    shifts = slopes["shift"].unique().sort().to_list()
    order = [*(["all"] if "all" in shifts else []), *(s for s in shifts if s != "all")]
    values = slopes["slope"].to_list()
    low, high = min(0.0, *values), max(1.2, *values)
    low = max(min(low, *slopes["low"].to_list()), low - REACH)
    high = min(max(high, *slopes["high"].to_list()), high + REACH)
    scales = (0.0, float(slopes["scale"].max()))  # type: ignore[arg-type]
    return [_slope_panel(slopes.filter(pl.col("shift") == s).sort("scale"), s, scales, (low, high)) for s in order]


def slope_figure(
    slopes: pl.DataFrame, *, title: str = "Does accuracy without a shift foretell accuracy under it?"
) -> Html:
    """The same as a file."""
    note = (
        "Slope of the line of accuracy under a shift on accuracy without it, over models, against the scale. 1 "
        "(dashed): a model that is a point better without the shift is a point better under it. Bands are 95 % "
        "intervals."
    )
    return panel_sheet(title, note, slope_panels(slopes))


def _slope_panel(rows: pl.DataFrame, shift: str, xs: tuple[float, float], ys: tuple[float, float]) -> Panel:
    plot = Plot(34, 8, SLOPE_WIDE - 44, SLOPE_HIGH - 48, xs, ys)
    scales, slopes = rows["scale"].to_list(), rows["slope"].to_list()
    low, high = ([min(max(v, ys[0]), ys[1]) for v in rows[key].to_list()] for key in ("low", "high"))
    marks = [
        tag("circle", cx=fmt(plot.x(x)), cy=fmt(plot.y(y)), r=3.4, class_="mark")
        for x, y in zip(scales, slopes, strict=True)
    ]
    hits = []
    for i, row in enumerate(rows.iter_rows(named=True)):
        words = f"scale {row['scale']:g}: slope {row['slope']:.2f} [{row['low']:.2f}, {row['high']:.2f}]"
        words += f"\nR² {row['r_squared']:.2f}"
        hits.append(hit(plot, *between(scales, i), words.replace("-", "−")))
    name = "all shifts" if shift == "all" else shift.replace("_", " ")
    line = tag("path", d=plot.path(zip(scales, slopes, strict=True)), class_="line")
    body = tag("g", band(plot, scales, low, high), line, marks, class_="one")
    label = f"{name}: the slope is {slopes[-1]:.2f} at scale {scales[-1]:g}"
    about = f"{slopes[-1]:.2f} at {scales[-1]:g}, {rows['models'][0]} models".replace("-", "−")
    frame = plot.frame(sorted({0.0, *scales}), ticks(*ys, 5))
    return Panel(
        name, about, SLOPE_WIDE, SLOPE_HIGH, concat(frame, plot.across(1.0), body, scale_name(plot), hits), label
    )
