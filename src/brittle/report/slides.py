"""Sections about slides, whose corruptions are continuous shifts: the scores and figures of CNS-Bench."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from brittle.benchmarks import Cell
from brittle.datasets import UnreadableImage, cns_bench
from brittle.datasets.dataset import Dataset
from brittle.evaluation import (
    OVERALL,
    CnsScores,
    Results,
    cns_scores,
    ordered_shifts,
    shift_title,
    typical_trajectory,
)
from brittle.metrics import Estimate
from brittle.report import charts
from brittle.report.data import RESAMPLES, Measure, Measured, Part
from brittle.report.pictures import Picture, Shot, Strip
from brittle.report.theme import ModelStyle, ModelStyles, count, fixed, listed, tenths

CARDS, SHIFTS, FRAMES = 6, 4, 7
"""So many models and shifts are shown, and so many scales of a trajectory."""

REACH = 2.0
"""Intervals of slopes are cut off this far beyond the slopes themselves."""


@lru_cache(maxsize=8)
def _scores(results: Results, models: tuple[str, ...], baseline: str | None) -> CnsScores:
    return cns_scores(results, models=models, baseline=baseline, resamples=RESAMPLES)


def part_scores(part: Part, baseline: str | None = None) -> CnsScores:
    """The scores of a part; computed once for all its sections."""
    return _scores(part.results, tuple(sorted(part.models)), baseline)


def measure_slides(part: Part) -> Measured:
    """Every model of a part with slides, the best first: its accuracy over all shifts at scales above 0."""
    single = part_scores(part).accuracy.filter(~pl.col("shift").is_in(OVERALL))
    measures = []
    for model in part.models:
        rows = single.filter(pl.col("model") == model)
        shifted = rows.filter(pl.col("scale") > 0)
        share = float((shifted["accuracy"] * shifted["trajectories"]).sum()) / int(shifted["trajectories"].sum())
        unknown = np.array([np.nan])
        measures.append(Measure(model, int(rows["trajectories"].sum()), np.array([share]), unknown, unknown))
    return Measured(part, sorted(measures, key=lambda one: (-one.main.value, one.model)))


def slide_summary(measured: Measured, styles: ModelStyles) -> dict[str, Any]:
    """A card for each of the first models: accuracy at both ends, the worst shift, and the mean margin."""
    scores = part_scores(measured.part)
    dropped = {shift: count(number, "trajectory", "trajectories") for shift, number in scores.dropped.items() if number}
    cards = [_card(one.model, scores) for one in measured.models[:CARDS]]
    return {
        "template": "slides.html",
        "blocks": ("slide_summary",),
        "cards": cards,
        "dropped": listed([f"{number} of {shift}" for shift, number in dropped.items()]),
        "many_models": len(styles.order) > 1,
    }


def _card(model: str, scores: CnsScores) -> dict[str, Any]:
    rows = scores.accuracy.filter(pl.col("model") == model)
    over = rows.filter(pl.col("shift") == ("mean" if "mean" in rows["shift"] else rows["shift"][0])).sort("scale")
    first, last = over.row(0, named=True), over.row(-1, named=True)
    single = rows.filter(~pl.col("shift").is_in(OVERALL))
    ends = single.filter(pl.col("scale") == pl.col("scale").max().over("shift")).sort("drop", descending=True)
    pooled = "all" if "all" in scores.margins["shift"] else scores.margins["shift"][0]
    margin = scores.margins.filter((pl.col("model") == model) & (pl.col("shift") == pooled)).row(0, named=True)
    stays, falls = abs(last["drop"]) < 0.0005, last["accuracy"] < first["accuracy"]
    return {
        "model": model,
        "first": first,
        "last": last,
        "goes": "stays at" if stays else "falls to" if falls else "rises to",
        "worst": ends.row(0, named=True),
        "drop": Estimate("accuracy drop", last["drop"], last["drop_low"], last["drop_high"]),
        "never": margin["never_failed"] / margin["trajectories"],
        "margin": margin["mean_margin"],
    }


def _panels(note: str, drawings: Sequence[charts.Chart], part: Part, styles: ModelStyles | None) -> dict[str, Any]:
    legend = [] if styles is None else styles.among(part.models)
    return {"template": "slides.html", "blocks": ("panels",), "note": note, "charts": drawings, "legend": legend}


def _by_shift(rows: pl.DataFrame, overall: str) -> Iterator[tuple[str, str, pl.DataFrame]]:
    """The rows of each shift with its name in words, those over all shifts first."""
    for shift in ordered_shifts(rows, overall):
        yield shift, shift_title(shift), rows.filter(pl.col("shift") == shift).sort("scale")


def _frame(
    height: float, across: charts.Axis, up: tuple[float, float], ticks: Sequence[float], name: str, times: float = 1
) -> charts.Frame:
    shown = [(tick, _plain(round(times * tick, 9))) for tick in ticks]
    return charts.Frame(270, height, across, charts.Axis(*up, shown, name), (8, 10, 40, 34))


def _models(rows: pl.DataFrame, styles: ModelStyles) -> list[str]:
    return [model for model in styles.order if model in set(rows["model"])]


def _scale_axis(scales: Sequence[float]) -> charts.Axis:
    return charts.Axis(scales[0], scales[-1], [(scale, _plain(scale)) for scale in scales], "scale")


def _plain(value: float) -> str:
    return f"{value:g}".replace("-", "−")


def _columns(rows: pl.DataFrame, model: str, *names: str) -> list[list[float]]:
    chosen = rows.filter(pl.col("model") == model)
    return [chosen[name].to_list() for name in names]


def slide_drops(measured: Measured, styles: ModelStyles) -> dict[str, Any]:
    """The paper's Figures 6a and 6b; all charts have the same axes."""
    few, table = len(measured.models) <= charts.BANDS, part_scores(measured.part).accuracy
    low = min(0.0, float(table["drop_low" if few else "drop"].min()))  # type: ignore[arg-type]
    high = 1.04 * max(0.05, float(table["drop_high" if few else "drop"].max()))  # type: ignore[arg-type]
    drawings = []
    for shift, name, rows in _by_shift(table, "mean"):
        scales, models = sorted(rows["scale"].unique().to_list()), _models(rows, styles)
        series = [
            charts.Series(model, styles[model], scales, *_columns(rows, model, "drop", "drop_low", "drop_high"))
            for model in models
        ]
        tips = charts.value_tips(series, [f"{shift.replace('_', ' ')}, scale {scale:g}" for scale in scales], unit="")
        label = f"{name}: {models[0]} loses {tenths(series[0].values[-1])} points at scale {scales[-1]:g}"
        caption = charts.Caption(name, f"{rows['trajectories'][0]:,} trajectories", label)
        frame = _frame(206, _scale_axis(scales), (low, high), charts.round_ticks(low, high, 5), "drop", times=100)
        drawings.append(charts.line_chart(frame, series, caption, tips, bands=few))
    bands = "; bands are 95 % intervals" if few else ""
    note = f"Accuracy drop since scale 0 of a shift, in percentage points, against the scale of the shift{bands}."
    return _panels(note, drawings, measured.part, styles)


def slide_failures(measured: Measured, styles: ModelStyles) -> dict[str, Any]:
    """The paper's Figure 6c: the bins are the scales above 0, and shares are of all trajectories."""
    table = part_scores(measured.part).failure_points
    table = table.filter(pl.col("model").is_in([one.model for one in measured.shown(styles)]))
    top = 1.06 * max(0.05, float(table.filter(pl.col("scale") > 0)["share"].max() or 0))  # type: ignore[arg-type]
    drawings = []
    for _, name, rows in _by_shift(table, "all"):
        above, start = rows.filter(pl.col("scale") > 0), rows.filter(pl.col("scale") == 0)
        models = _models(rows, styles)
        scales = sorted(above["scale"].unique().to_list())
        xs = [i + 0.5 for i in range(len(scales))]
        series = [
            charts.Series(model, styles[model], xs, *_columns(above, model, "share", "low", "high")) for model in models
        ]
        zero = [f"{100 * share:.0f}" for model in models for share in _columns(start, model, "share")[0]]
        about = f"wrong at 0: {', '.join(zero)} %" if zero and len(models) <= charts.BANDS else ""
        most = scales[int(np.argmax(series[0].values))]
        label = f"{name}: most trajectories of {models[0]} fail first at scale {most:g}"
        across = charts.Axis(0, len(scales), [(x, f"{scale:g}") for x, scale in zip(xs, scales, strict=True)], "scale")
        caption = charts.Caption(name, about or f"{rows['trajectories'][0]:,} trajectories", label)
        frame = _frame(196, across, (0, top), charts.round_ticks(0, top, 4), "share", times=100)
        tips = charts.value_tips(series, [f"fail first at {scale:g}" for scale in scales])
        drawings.append(charts.column_chart(frame, series, caption, tips))
    note = (
        "Percent of trajectories that are wrong for the first time at this scale. Those that are wrong at scale 0 "
        "already, and those that never fail, are in no column."
    )
    return _panels(note, drawings, measured.part, styles)


def slide_ranks(measured: Measured, styles: ModelStyles) -> dict[str, Any] | None:
    """Whether models keep their order; only if there is more than one."""
    if len(measured.models) < 2:
        return None
    scores, drawings = part_scores(measured.part), []
    for shift, name, rows in _by_shift(scores.rankings, "all"):
        scales = sorted(rows["scale"].unique().to_list())
        models = _models(rows, styles)
        tips = {scale: [f"scale {scale:g}"] for scale in scales}
        for row in rows.sort("scale", "rank").iter_rows(named=True):
            tips[row["scale"]].append(f"{row['rank']}. {row['model']}  {100 * row['accuracy']:.1f} %")
        series = [charts.Series(model, styles[model], scales, _columns(rows, model, "rank")[0]) for model in models]
        last = scores.agreement.filter((pl.col("shift") == shift) & (pl.col("scale") == scales[-1]))
        tau = last["kendall"][0] if len(last) else None
        about = f"τ = {fixed(tau)} at {scales[-1]:g}" if tau is not None else "τ is undefined"
        moved = rows.filter((pl.col("scale") == scales[-1]) & (pl.col("fallen") != 0))["model"].n_unique()
        label = f"{name}: {moved} of {len(models)} models have another rank at scale {scales[-1]:g} than at 0"
        every = range(1, len(models) + 1, -(-len(models) // 8))
        frame = _frame(186, _scale_axis(scales), (len(models) + 0.4, 0.6), every, "rank")
        ordered = ["\n".join(tips[scale]) for scale in scales]
        drawings.append(charts.line_chart(frame, series, charts.Caption(name, about, label), ordered, size=4))
    note = "Rank by accuracy at each scale, the best on top. τ: Kendall's correlation of the last scale with scale 0."
    return _panels(note, drawings, measured.part, styles)


def slide_slopes(measured: Measured, _: ModelStyles) -> dict[str, Any] | None:
    """The ID/OOD slopes; there are none with fewer than three models."""
    part, slopes = measured.part, part_scores(measured.part).slopes
    if slopes.is_empty():
        return None
    values = slopes["slope"].to_list()
    low, high = min(0.0, *values), max(1.2, *values)
    low = max(min(low, *slopes["low"].to_list()), low - REACH)
    high = min(max(high, *slopes["high"].to_list()), high + REACH)
    scales = sorted({0.0, *slopes["scale"].to_list()})
    drawings = []
    for _shift, name, rows in _by_shift(slopes, "all"):
        xs, slope = rows["scale"].to_list(), rows["slope"].to_list()
        least, most = ([min(max(v, low), high) for v in rows[key].to_list()] for key in ("low", "high"))
        tips = [
            f"scale {row['scale']:g}: slope {fixed(row['slope'])} [{fixed(row['low'])}, {fixed(row['high'])}]\n"
            f"R² {row['r_squared']:.2f}"
            for row in rows.iter_rows(named=True)
        ]
        label = f"{name}: the slope is {slope[-1]:.2f} at scale {xs[-1]:g}"
        about = f"{fixed(slope[-1])} at {xs[-1]:g}, {rows['models'][0]} models"
        frame = _frame(186, _scale_axis(scales), (low, high), charts.round_ticks(low, high, 5), "slope")
        series = charts.Series("slope", ModelStyle(0), xs, slope, least, most)
        drawings.append(charts.line_chart(frame, [series], charts.Caption(name, about, label), tips, target=1.0))
    clean = set(part.models) <= set(part.results.models_with([Cell()]))
    known = "on the clean images" if clean else "at scale 0"
    note = (
        f"Slope of the line, over models, of accuracy at a scale on accuracy {known}. 1 (dashed): what a model gains "
        "without the shift it gains under it too. Bands are 95 % intervals."
    )
    return _panels(note, drawings, part, None)


def slide_rce(measured: Measured, styles: ModelStyles) -> dict[str, Any] | None:
    """rCE against AlexNet if it was run, else the worst model without a shift, of equals the worst under shifts."""
    part = measured.part
    if len(measured.models) < 2:
        return None
    start = part_scores(part).accuracy.filter(pl.col("scale") == 0).group_by("model").agg(pl.col("accuracy").mean())
    at_zero = dict(start.rows())
    alexnet = [model for model in part.models if "alexnet" in model.casefold()]
    worst_first = [one.model for one in reversed(measured.models)]
    baseline = alexnet[0] if alexnet else min(worst_first, key=lambda model: round(at_zero[model], 9))
    try:
        rce = part_scores(part, baseline).rce
    except ValueError as error:
        return {"template": "slides.html", "refusal": str(error)}
    rows = {(row["model"], row["shift"]): row for row in rce.iter_rows(named=True)}
    models = sorted(rce["model"].unique(), key=lambda model: (rows[model, "mean"]["rce"], model))
    shifts = [shift for shift in rce["shift"].unique(maintain_order=True) if shift != "mean"]
    series = []
    for model in models:
        row = rows[model, "mean"]
        least, most = ([math.nan if row[key] is None else row[key]] for key in ("low", "high"))
        series.append(charts.Series(model, styles[model], [0.0], [row["rce"]], least, most))
    label = f"rCE: {models[0]} has the lowest, {rows[models[0], 'mean']['rce']:.2f}"
    caption = charts.Caption("mean over shifts", "1 is the baseline; lower is better", label)
    return {
        "template": "slides.html",
        "refusal": "",
        "baseline": baseline,
        "is_alexnet": bool(alexnet),
        "chart": charts.interval_chart(models, series, caption, target=1.0, measure="rCE"),
        "shifts": ["mean", *(shifts if len(shifts) > 1 else [])],
        "models": models,
        "cells": rows,
    }


def slide_strips(measured: Measured, _: ModelStyles) -> dict[str, Any] | None:
    """A strip for each of the shifts that the first model loses most by; None without the folder of the slides."""
    part, model = measured.part, measured.best.model
    data = _slides(part)
    if data is None:
        return None
    accuracy = part_scores(part).accuracy.filter((pl.col("model") == model) & ~pl.col("shift").is_in(OVERALL))
    ends = accuracy.filter(pl.col("scale") == pl.col("scale").max().over("shift"))
    worst = ends.sort("drop", "shift", descending=[True, False])["shift"].head(SHIFTS)
    strips = [strip for shift in worst if (strip := _strip(part, model, shift, data)) is not None]
    return {"template": "slides.html", "strips": strips, "model": model} if strips else None


def _slides(part: Part) -> Dataset | None:
    """The images that were run, where they were then."""
    for run in part.results.runs:
        for call in reversed(run.calls):
            if call.folder and Path(call.folder).is_dir():
                with suppress(ValueError, OSError):
                    return cns_bench(call.folder)
    return None


def _strip(part: Part, model: str, shift: str, data: Dataset) -> Strip | None:
    rows = typical_trajectory(part.results, model, shift)
    place = {str(sample): i for i, sample in enumerate(data.ids)}
    if len(rows) > FRAMES:
        rows = rows[[round(i * (len(rows) - 1) / (FRAMES - 1)) for i in range(FRAMES)]]
    truth, name, shots = part.class_name(rows["label"][0]), shift.replace("_", " "), []
    for row in rows.iter_rows(named=True):
        if row["sample"] not in place:
            return None
        try:
            image = data.image(place[row["sample"]])
        except UnreadableImage:
            return None
        at, prediction = f"scale {row['level']:g}", part.class_name(row["prediction"])
        shots.append(Shot(Picture(image, f"{truth}, {name}, {at}"), at, prediction, row["confidence"], row["correct"]))
    return Strip(name, truth, shots)
