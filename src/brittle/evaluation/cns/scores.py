"""Accuracy along trajectories of continuous shifts: drops, rCE, failure points, ID/OOD slopes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from brittle._errors import BrittleError
from brittle._types import FloatArray, check_fractions
from brittle.benchmarks import Cell
from brittle.evaluation.cns.ranks import agreement_table, ranking_table
from brittle.evaluation.results import SHIFT, Results
from brittle.metrics import (
    Statistic,
    bootstrap,
    failure_points,
    gap_interval,
    id_ood_slope,
    mean_interval,
    resampled_means,
    shift_rce,
    wilson,
)
from brittle.metrics.correlation import AXES

SCALE = re.compile(r"_scale_\d+m?\.[^.]+$")


@dataclass(frozen=True, eq=False)
class Trajectories:
    """Right or wrong of all models on one shift: models × trajectories × scales, complete ones only."""

    shift: str
    models: list[str]
    scales: FloatArray
    correct: NDArray[np.bool_]
    names: list[str]
    dropped: int


def trajectories(results: Results, *, models: Sequence[str] | None = None) -> list[Trajectories]:
    """The trajectories of each shift, from results on a CNS-Bench folder.

    A trajectory with a missing scale for some model, because an image was filtered or could not be read, is dropped for
    all, so that every number is about the same images. Models that were not run on all shifts and scales raise.
    """
    cells = [cell for cell in results.cells if cell.corruption.startswith(SHIFT)]
    if not cells:
        raise BrittleError(
            f"these results have no shifts of CNS-Bench, whose corruptions are called {SHIFT}<shift>; "
            "run evaluate_stored on trajectory_dataset(folder)"
        )
    chosen = results.models_with(cells) if models is None else list(models)
    missing = [model for model in chosen if model not in results.models_with(cells)]
    if missing or not chosen:
        what = f"{missing[0]!r} was not" if missing else "no model was"
        raise BrittleError(f"{what} run on all {len(cells)} cells; there are models {', '.join(results.models)}")
    rows = (
        results.rows.filter(pl.col("corruption").str.starts_with(SHIFT) & pl.col("model").is_in(chosen))
        .select("model", "corruption", "level", "sample", "correct")
        .with_columns(pl.col("sample").str.replace(SCALE.pattern, "").alias("trajectory"))
        .collect()
    )
    by_shift = []
    for name in sorted({cell.corruption for cell in cells}):
        scales = np.array(sorted(cell.severity for cell in cells if cell.corruption == name))
        by_shift.append(_shift(rows.filter(pl.col("corruption") == name), name.removeprefix(SHIFT), chosen, scales))
    return by_shift


def typical_trajectory(results: Results, model: str, shift: str) -> pl.DataFrame:
    """The trajectory, scale by scale, that is right at half of its scales or nearly so, and if possible at 0."""
    rows = results.rows.filter((pl.col("model") == model) & (pl.col("corruption") == f"{SHIFT}{shift}"))
    way = pl.col("sample").str.replace(SCALE.pattern, "").alias("way")
    table = rows.with_columns(way).sort("way", "level").collect()
    ways = table.group_by("way", maintain_order=True).agg(
        pl.col("correct").first().alias("begins"), pl.col("correct").mean().alias("share"), pl.len().alias("scales")
    )
    longest = ways.filter(pl.col("scales") == pl.col("scales").max())
    best = longest.sort(~pl.col("begins"), (pl.col("share") - 0.5).abs(), "way")["way"][0]
    return table.filter(pl.col("way") == best)


def _shift(rows: pl.DataFrame, shift: str, models: list[str], scales: FloatArray) -> Trajectories:
    if scales[0] != 0 or len(scales) < 2:
        raise BrittleError(f"the shift {shift!r} has scales {scales.tolist()}; it needs scale 0 and at least one more")
    names = rows["trajectory"].unique().sort().to_list()
    place = {name: i for i, name in enumerate(names)}
    at, which = {scale: i for i, scale in enumerate(scales)}, {model: i for i, model in enumerate(models)}
    seen = np.zeros((len(models), len(names), len(scales)), np.uint8)
    correct = np.zeros(seen.shape, bool)
    index = (
        np.array([which[model] for model in rows["model"]]),
        np.array([place[name] for name in rows["trajectory"]]),
        np.array([at[scale] for scale in rows["level"]]),
    )
    np.add.at(seen, index, 1)
    if seen.max() > 1:
        raise BrittleError(f"some images of {shift!r} appear twice; load each run once")
    correct[index] = rows["correct"].to_numpy()
    complete = np.asarray(seen.all(axis=(0, 2)))
    if not complete.any():
        raise BrittleError(f"no trajectory of {shift!r} has all scales {scales.tolist()} for all models")
    kept = [name for name, good in zip(names, complete, strict=True) if good]
    return Trajectories(shift, models, scales, correct[:, complete], kept, int((~complete).sum()))


MEAN = "mean"


def accuracy_table(
    shifts: Sequence[Trajectories], with_pooled: Sequence[Trajectories], *, level: float, resamples: int, seed: int
) -> pl.DataFrame:
    """Accuracy with Wilson's interval, and the drop since scale 0 with a bootstrap over trajectories.

    Of the mean over shifts both intervals are bootstraps, with trajectories drawn within each shift, and at least as
    wide as the intervals of the shifts make them.
    """
    rows = []
    for part in with_pooled:
        for number, model in enumerate(part.models):
            right = part.correct[number]
            low, high = wilson(right.sum(0), len(right), level=level)
            drawn = resampled_means(right, seed=seed, resamples=resamples)
            for i, scale in enumerate(part.scales):
                drop = bootstrap(
                    right,
                    lambda means, i=i: means[..., 0] - means[..., i],  # type: ignore[misc]
                    name="accuracy drop",
                    seed=seed,
                    resamples=resamples,
                    level=level,
                    resampled=drawn,
                )
                numbers = (right[:, i].mean(), low[i], high[i], drop.value, drop.low, drop.high)
                rows.append((model, part.shift, scale, len(right), *map(float, numbers)))
    if len(shifts) > 1:
        rows += _mean_rows(shifts, with_pooled[-1].scales, level, resamples, seed)
    ends = ("accuracy", "low", "high", "drop", "drop_low", "drop_high")
    return pl.DataFrame(rows, schema=["model", "shift", "scale", "trajectories", *ends], orient="row")


def failure_table(shifts: Sequence[Trajectories], *, level: float) -> pl.DataFrame:
    """The histogram of failure points over all trajectories, with Wilson's intervals."""
    rows = []
    for part in shifts:
        for number, model in enumerate(part.models):
            points = failure_points(part.correct[number], part.scales)
            shares = points.histogram()
            low, high = wilson(np.rint(shares * len(points)), len(points), level=level)
            for i, scale in enumerate(part.scales):
                rows.append((model, part.shift, scale, shares[i], low[i], high[i], len(points)))
    return pl.DataFrame(rows, schema=["model", "shift", "scale", "share", "low", "high", "trajectories"], orient="row")


def margin_table(shifts: Sequence[Trajectories]) -> pl.DataFrame:
    """The mean margin of CNS-Bench, which is only defined up to its scale 3."""
    rows = []
    for part in shifts:
        for number, model in enumerate(part.models):
            points = failure_points(part.correct[number], part.scales)
            margin = points.mean_margin() if part.scales[-1] <= 3 else None
            rows.append((model, part.shift, len(points), points.at_zero, points.never, margin))
    names = {"model": pl.String, "shift": pl.String}
    counts = dict.fromkeys(("trajectories", "wrong_at_zero", "never_failed"), pl.Int64)
    return pl.DataFrame(rows, schema={**names, **counts, "mean_margin": pl.Float64}, orient="row")


def drawn_means(part: Trajectories, model: int, place: int, *, resamples: int, seed: int) -> FloatArray:
    """Resampled accuracies [resample, scale]; models share the draws of a shift, and every shift has separate draws."""
    return resampled_means(part.correct[model], seed=seed + 1000003 * (place + 1), resamples=resamples)


def mean_of_parts(
    parts: Sequence[tuple[FloatArray, FloatArray, FloatArray]], drawn: FloatArray, tail: float
) -> tuple[FloatArray, FloatArray]:
    """The interval of the mean over independent parts, from (rows, low, high) of each and the resampled means.

    How far the ends of the parts lie from their means adds up as squares; the bootstrap's interval is held, too.
    """
    means = np.array([rows.mean(axis=0) for rows, _, _ in parts])
    value = means.mean(axis=0)
    under, over = (np.array([ends[side] for ends in parts]) - means for side in (1, 2))
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=0)
    reach = [np.sqrt((far**2).sum(axis=0)) / len(parts) for far in (under, over)]
    return np.minimum(low, value - reach[0]), np.maximum(high, value + reach[1])


def _mean_rows(
    shifts: Sequence[Trajectories], scales: FloatArray, level: float, resamples: int, seed: int
) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    tail = (1 - level) / 2
    count = sum(part.correct.shape[1] for part in shifts)
    for number, model in enumerate(shifts[0].models):
        where = [np.isin(part.scales, scales) for part in shifts]
        value = np.mean([p.correct[number].mean(0)[w] for p, w in zip(shifts, where, strict=True)], axis=0)
        each = [
            drawn_means(part, number, i, resamples=resamples, seed=seed)[:, w]
            for i, (part, w) in enumerate(zip(shifts, where, strict=True))
        ]
        drawn = np.mean(each, axis=0)
        right = [part.correct[number][:, w].astype(float) for part, w in zip(shifts, where, strict=True)]
        low, high = mean_of_parts([(one, *mean_interval(one, 0, 1, level=level)) for one in right], drawn, tail)
        drops = [(one[:, :1] - one, *gap_interval(one[:, :1], one, 1, 1, level=level)) for one in right]
        drop_low, drop_high = mean_of_parts(drops, drawn[:, :1] - drawn, tail)
        drop_low[0] = drop_high[0] = 0.0  # by definition
        for i, scale in enumerate(scales):
            numbers = (value[i], low[i], high[i], value[0] - value[i], drop_low[i], drop_high[i])
            rows.append((model, MEAN, float(scale), count, *map(float, numbers)))
    return rows


def slope_table(
    shifts: Sequence[Trajectories],
    models: Sequence[str],
    id_accuracy: Mapping[str, float] | None,
    *,
    axes: str,
    level: float,
) -> pl.DataFrame:
    """The line of accuracy at a scale on ID accuracy, over models; where there is none, there is no row."""
    names = ("shift", "scale", "slope", "low", "high", "intercept", "r_squared")
    schema = {name: pl.String if name == "shift" else pl.Float64 for name in names}
    rows = []
    if axes not in AXES:
        raise BrittleError(f"axes must be one of {', '.join(AXES)}, got {axes!r}")
    if id_accuracy is not None:
        missing = [model for model in models if model not in id_accuracy]
        if missing:
            raise BrittleError(f"there is no ID accuracy of {missing[0]!r}; id_accuracy has {', '.join(id_accuracy)}")
        check_fractions([id_accuracy[model] for model in models], "the ID accuracy")
    for part in shifts if len(models) >= 3 else ():
        accuracy = part.correct.mean(1)[[part.models.index(model) for model in models]]
        known = accuracy[:, 0] if id_accuracy is None else [id_accuracy[model] for model in models]
        for i, scale in enumerate(part.scales):
            if scale == 0 and id_accuracy is None:
                continue  # a line of scale 0 on itself
            try:
                fit = id_ood_slope(known, accuracy[:, i], axes=axes)
            except ValueError:
                continue  # models that are all alike have no slope, nor have 0 and 1 on probit and logit axes
            slope = fit.estimate(level=level)
            line = (slope.value, slope.low, slope.high, fit.intercept, fit.r_squared)
            rows.append((part.shift, float(scale), *line, fit.n))
    return pl.DataFrame(rows, schema={**schema, "models": pl.Int64}, orient="row")


SCHEMA = {"model": pl.String, "shift": pl.String, "rce": pl.Float64, "low": pl.Float64, "high": pl.Float64}


Ends = tuple[float | None, float | None]


def rce_table(
    shifts: Sequence[Trajectories], baseline: str | None, *, level: float, resamples: int, seed: int
) -> pl.DataFrame:
    """rCE of each shift and its mean, with bootstrap intervals; model and baseline share the resampled trajectories.

    The interval is null where the baseline's summed rise is 0, or changes sign, in some resample.
    """
    rows: list[tuple[str, str, float, float | None, float | None]] = []
    if baseline is None:
        return pl.DataFrame(rows, schema=SCHEMA, orient="row")
    models = shifts[0].models
    reference = models.index(baseline)
    for number, model in enumerate(models):
        values: list[float] = []
        ends: list[Ends] = []
        for place, part in enumerate(shifts):
            error, theirs = (1 - part.correct[i].mean(0) for i in (number, reference))
            try:
                values.append(float(shift_rce(error, theirs)))
            except ValueError as problem:
                raise BrittleError(
                    f"rCE of the shift {part.shift!r} is undefined: the errors of {baseline!r} do not rise there"
                ) from problem
            model_errors, baseline_errors = (
                1 - drawn_means(part, i, place, resamples=resamples, seed=seed) for i in (number, reference)
            )
            rise = (baseline_errors[:, 1:] - baseline_errors[:, :1]).sum(1)
            steady = (rise > 0).all() or (rise < 0).all()
            if number == reference:
                ends.append((1.0, 1.0))  # by definition
            elif steady:
                ratio = bootstrap(
                    np.hstack([part.correct[number], part.correct[reference]]),
                    _rce_of(len(part.scales)),
                    name="rCE",
                    resamples=resamples,
                    level=level,
                    resampled=1 - np.hstack([model_errors, baseline_errors]),
                )
                ends.append((ratio.low, ratio.high))
            else:
                ends.append((None, None))
            rows.append((model, part.shift, values[-1], *ends[-1]))
        rows.append((model, MEAN, float(np.mean(values)), *_mean_ends(values, ends)))
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def _rce_of(scales: int) -> Statistic:
    """From accuracies of the model and then of the baseline."""
    return lambda right: shift_rce(1 - right[..., :scales], 1 - right[..., scales:])


def _mean_ends(values: list[float], ends: list[Ends]) -> Ends:
    """The mean over shifts, which are independent: how far their ends lie from their values adds up as squares."""
    far = [
        (value - low, high - value)
        for value, (low, high) in zip(values, ends, strict=True)
        if low is not None and high is not None
    ]
    if len(far) < len(values):
        return None, None
    mean = float(np.mean(values))
    below, above = np.sqrt((np.array(far) ** 2).sum(axis=0)) / len(values)
    return mean - float(below), mean + float(above)


ALL = "all"
OVERALL = (ALL, MEAN)
"""What stands in place of a shift in rows over all of them."""


def ordered_shifts(table: pl.DataFrame, overall: str) -> list[str]:
    """The shifts of a table of scores, what stands for all of them first."""
    known = table["shift"].unique().sort().to_list()
    return [*([overall] if overall in known else []), *(shift for shift in known if shift not in OVERALL)]


def shift_title(shift: str) -> str:
    """A shift, or what stands for all of them, in words."""
    return {MEAN: "mean over shifts", ALL: "all shifts"}.get(shift, shift.replace("_", " "))


@dataclass(frozen=True, eq=False)
class CnsScores:
    """One table for each question; `shift` is a shift or, if there are more, "all" (pooled images) or the "mean".

    Attributes:
        accuracy: model, shift, scale: accuracy and its drop since scale 0 of the same shift, with intervals.
        failure_points: model, shift, scale: the share of trajectories that fail first there, with an interval. Scale 0
            are those that were never right; those that never fail are in no row.
        margins: model, shift: trajectories, how many are wrong at 0 and how many never fail, and the mean margin
            3 − failure point, where those that never fail count as 3.
        rce: model, shift and "mean": rCE with its interval; empty without a baseline.
        rankings: shift, scale, model: the rank by accuracy, or by its drop, from 1, ties sharing the better one, and
            how many places it has fallen since scale 0, or since the next one; with intervals.
        agreement: shift, scale: Kendall's τ between the ranking there and the first one; null where it is undefined.
        slopes: shift, scale: the line of OOD on ID accuracy over models; empty with fewer than three.
        dropped: incomplete trajectories of each shift, which count nowhere.
        id_axis: what the ID accuracy of the slopes is: "clean images", "scale 0" of the same shift, or "given".
        rank_by: what models are ranked by: "accuracy" or "drop".
    """

    accuracy: pl.DataFrame
    failure_points: pl.DataFrame
    margins: pl.DataFrame
    rce: pl.DataFrame
    rankings: pl.DataFrame
    agreement: pl.DataFrame
    slopes: pl.DataFrame
    dropped: Mapping[str, int]
    id_axis: str = "scale 0"
    rank_by: str = "accuracy"


def cns_scores(
    results: Results,
    *,
    models: Sequence[str] | None = None,
    baseline: str | None = None,
    id_accuracy: Mapping[str, float] | None = None,
    slope_models: Sequence[str] | None = None,
    axes: str = "linear",
    rank_by: str = "accuracy",
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> CnsScores:
    """Everything CNS-Bench reports, from results on its images or on slides of your own.

    Args:
        models: by default all that were run on every shift and scale.
        baseline: the model whose rise in error divides that of others in rCE; the paper's is AlexNet.
        id_accuracy: of models, for the slope; by default on the clean images of the run and, if some model has none,
            at scale 0 of the same shift.
        slope_models: those the line is fitted over; the paper takes 16 trained with labels on ImageNet alone.
        axes: of the line, "linear" as in the paper, "probit" or "logit".
        rank_by: "accuracy" at a scale, or its "drop" since scale 0, which the paper ranks models by.
    """
    shifts = trajectories(results, models=models)
    names = shifts[0].models
    if baseline is not None and baseline not in names:
        raise BrittleError(f"the baseline {baseline!r} was not run; there are models {', '.join(names)}")
    with_pooled = [*shifts, *([_pooled(shifts)] if len(shifts) > 1 else [])]
    options = {"level": level, "resamples": resamples, "seed": seed}
    fitted = list(names if slope_models is None else slope_models)
    unknown = [model for model in fitted if model not in names]
    if unknown:
        raise BrittleError(f"the slope model {unknown[0]!r} was not run; there are models {', '.join(names)}")
    known = id_accuracy if id_accuracy is not None else _clean(results, fitted)
    return CnsScores(
        accuracy=accuracy_table(shifts, with_pooled, **options),  # type: ignore[arg-type]
        failure_points=failure_table(with_pooled, level=level),
        margins=margin_table(with_pooled),
        rce=rce_table(shifts, baseline, **options),  # type: ignore[arg-type]
        rankings=ranking_table(with_pooled, rank_by=rank_by, **options),  # type: ignore[arg-type]
        agreement=agreement_table(with_pooled, level=level, rank_by=rank_by),
        slopes=slope_table(with_pooled, fitted, known, axes=axes, level=level),
        dropped={part.shift: part.dropped for part in shifts},
        id_axis="given" if id_accuracy is not None else "scale 0" if known is None else "clean images",
        rank_by=rank_by,
    )


def _pooled(shifts: list[Trajectories]) -> Trajectories:
    """All shifts as one, images counting alike, as in the authors' notebook; at the scales that all shifts have."""
    scales = shifts[0].scales
    for part in shifts[1:]:
        scales = np.intersect1d(scales, part.scales)
    blocks = [part.correct[:, :, np.isin(part.scales, scales)] for part in shifts]
    names = [f"{part.shift}/{name}" for part in shifts for name in part.names]
    dropped = sum(part.dropped for part in shifts)
    return Trajectories(ALL, shifts[0].models, scales, np.concatenate(blocks, axis=1), names, dropped)


def _clean(results: Results, models: Sequence[str]) -> Mapping[str, float] | None:
    """The accuracy on the clean images, if all the models were run on them."""
    if not set(models) <= set(results.models_with([Cell()])):
        return None
    return {model: results.clean_accuracy(model) for model in models}


def clean_accuracies(results: Results) -> dict[str, float]:
    """The accuracy of each model on the clean images of a run, such as ImageNet's, for `id_accuracy`."""
    models = results.models_with([Cell()])
    if not models:
        raise BrittleError("these results have no clean images; run the models on the clean set, such as imagenet:val")
    return {model: results.clean_accuracy(model) for model in models}


def ranked_by_drop(results: Results, scores: CnsScores) -> CnsScores:
    """The same scores with rankings by the accuracy drop, as `cns_scores(rank_by="drop")` gives them."""
    shifts = trajectories(results, models=scores.accuracy["model"].unique(maintain_order=True).to_list())
    with_pooled = [*shifts, *([_pooled(shifts)] if len(shifts) > 1 else [])]
    agreement = agreement_table(with_pooled, level=0.95, rank_by="drop")
    return replace(scores, rankings=ranking_table(with_pooled, rank_by="drop"), agreement=agreement, rank_by="drop")
