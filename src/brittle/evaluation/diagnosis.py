"""Where a model fails: along the levels of a benchmark, class by class, and in its confidences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from brittle._types import FloatArray
from brittle.benchmarks import CLEAN, Benchmark, Cell, Entry, Level, ends
from brittle.evaluation.results import Results, by_corruption
from brittle.metrics import (
    Calibration,
    Estimate,
    calibration_bins,
    failure_points,
    gap_interval,
    mean_interval,
    share_intervals,
    wilson,
)

LEVEL, RESAMPLES = 0.95, 1000


@dataclass(frozen=True)
class Columns:
    """A corruption with its levels, lowest first, and the column of each; column 0 is the clean images."""

    entry: Entry
    levels: tuple[Level, ...]
    places: tuple[int, ...]

    @property
    def ladder(self) -> tuple[float, ...]:
        """The severities, if there are at least two; ranges to draw from are no ladder."""
        steps = tuple(level for level in self.levels if not isinstance(level, tuple))
        return steps if len(steps) == len(self.levels) > 1 else ()


def severity_columns(benchmark: Benchmark) -> list[Columns]:
    """Every corruption in the order of the recipe."""
    columns, start = [], 1
    for entry in benchmark.entries:
        order = sorted(range(len(entry.levels)), key=[*map(ends, entry.levels)].__getitem__)
        columns.append(Columns(entry, tuple(entry.levels[i] for i in order), tuple(start + i for i in order)))
        start += len(entry.levels)
    return columns


Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class FailureNumbers:
    """Failure points of one corruption, or of some together: those of images that are right when clean."""

    median: float
    mean: float
    last: float
    still_right: float


@dataclass(frozen=True, eq=False)
class FailureCurves:
    """How images that are right when clean fail along the levels.

    `ticks` names the steps of the pooled numbers: severities if all corruptions share them, else their ranks.
    """

    images: int
    ticks: list[str]
    shared: bool
    survival: FloatArray
    low: FloatArray
    high: FloatArray
    histogram: FloatArray
    never: float
    pooled: FailureNumbers
    corruptions: dict[str, FailureNumbers]
    left_out: list[str]


def failure_curves(benchmark: Benchmark, table: Bools) -> FailureCurves | None:
    """Failure points from a matrix of samples × (clean, then every cell); None if there is nothing to climb."""
    right = table[table[:, 0]]
    climbed = [columns for columns in severity_columns(benchmark) if columns.ladder]
    if not climbed or not len(right):
        return None
    blocks = {columns.entry.id: right[:, [0, *columns.places]] for columns in climbed}
    steps = Counter(len(columns.ladder) for columns in climbed).most_common(1)[0][0]
    pooled = {columns.entry.id: columns.ladder for columns in climbed if len(columns.ladder) == steps}
    ladders = set(pooled.values())
    shared = len(ladders) == 1
    axis = np.array([0.0, *next(iter(ladders))]) if shared else np.arange(steps + 1.0)
    together = np.concatenate([blocks[name] for name in pooled])
    points = failure_points(together, axis)
    alive = np.mean([np.logical_and.accumulate(blocks[name], axis=1) for name in pooled], axis=0)
    low, high = share_intervals(alive)
    low[0] = high[0] = 1.0  # by definition: these images are right at severity 0
    return FailureCurves(
        len(right),
        [f"{x:.4g}" for x in axis[1:]],
        shared,
        points.survival(),
        low,
        high,
        points.histogram()[1:],
        points.never / len(points),
        _failure_numbers(together, axis),
        {one.entry.id: _failure_numbers(blocks[one.entry.id], np.array([0.0, *one.ladder])) for one in climbed},
        [entry.corruption.name for entry in benchmark.entries if entry.id not in pooled],
    )


def _failure_numbers(right: Bools, axis: FloatArray) -> FailureNumbers:
    points = failure_points(right, axis)
    last = float(points.severities[-1])
    return FailureNumbers(points.median(), points.mean(), last, float(points.survival([last])[0]))


@dataclass(frozen=True)
class EarliestFailure:
    """An image that is right when clean, and the lowest level at which it is wrong."""

    sample: str
    label: int
    confidence: float
    corruption: str
    level: Level
    wrong: int
    wrong_confidence: float


NAMES = (
    *("sample", "label", pl.col("level").alias("at"), pl.col("prediction").alias("wrong")),
    *(pl.col("confidence").alias("wrong_confidence"), pl.col("sure").alias("confidence")),
)
"""The columns of a row that an `EarliestFailure` is made of."""


def earliest_failures(
    results: Results, benchmark: Benchmark, model: str, wanted: Sequence[tuple[str, int | None]], each: int
) -> list[list[EarliestFailure]]:
    """For each corruption, and class if there is one, the images that fail at the lowest level.

    Of those the ones that the model was surest of when they were clean; no image comes twice.
    """
    names = [CLEAN, *dict.fromkeys(corruption for corruption, _ in wanted)]
    rows = results.rows.filter((pl.col("model") == model) & pl.col("corruption").is_in(names))
    table = rows.select("corruption", "level", "sample", "label", "prediction", "confidence", "correct").collect()
    clean = (pl.col("corruption") == CLEAN) & pl.col("correct")
    sure = table.filter(clean).select("sample", pl.col("confidence").alias("sure"))
    used: set[str] = set()
    failures = []
    for corruption, label in wanted:
        levels: dict[float, Level] = {
            sum(level) / 2 if isinstance(level, tuple) else level: level for level in benchmark.entry(corruption).levels
        }
        wrong = (pl.col("corruption") == corruption) & ~pl.col("correct") & pl.col("level").is_in(list(levels))
        failed = (
            table.filter(wrong if label is None else wrong & (pl.col("label") == label))
            .join(sure, on="sample")
            .sort(["level", "sure", "sample"], descending=[False, True, False])
            .unique("sample", keep="first", maintain_order=True)
            .filter(~pl.col("sample").is_in(sorted(used)))
            .head(each)
        )
        used |= set(failed["sample"])
        named = failed.select(NAMES).iter_rows(named=True)
        failures.append([EarliestFailure(corruption=corruption, level=levels[row.pop("at")], **row) for row in named])
    return failures


FailureStep = tuple[float, int, float, bool]
"""Severity, prediction, confidence, and whether it was right."""


def typical_failure(
    results: Results, model: str, corruption: str, levels: tuple[float, ...]
) -> tuple[str, int, list[FailureStep]] | None:
    """The image that fails nearest the middle of the levels and stays wrong, of those the one the model was surest of.

    Its sample id, its label, and what the model says of it from the clean image on.
    """
    places = (pl.col("corruption") == CLEAN) | ((pl.col("corruption") == corruption) & pl.col("level").is_in(levels))
    table = results.rows.filter((pl.col("model") == model) & places).sort("sample", "level").collect()
    middle = (len(levels) + 1) // 2
    chosen = (
        table.group_by("sample", maintain_order=True)
        .agg(pl.col("correct"), pl.col("confidence").first().alias("sure"), pl.col("correct").sum().alias("steps"))
        .filter(
            pl.col("correct").list.first()
            & ~pl.col("correct").list.last()
            & (pl.col("correct").list.arg_min() == pl.col("steps"))  # all that is right comes first
        )
        .sort((pl.col("steps").cast(pl.Int64) - middle).abs(), "sure", "sample", descending=[False, True, False])
    )
    if chosen.is_empty():
        return None
    sample = chosen["sample"][0]
    steps = table.filter(pl.col("sample") == sample)
    return sample, int(steps["label"][0]), steps.select("level", "prediction", "confidence", "correct").rows()


@dataclass(frozen=True)
class Loss:
    """What one corruption, over its levels, takes from the clean accuracy of one class."""

    corruption: str
    label: int
    images: int
    clean: float
    corrupted: float
    loss: Estimate


@dataclass(frozen=True)
class ClassAccuracy:
    """One class: its clean accuracy, that over all corruptions, the worst of them, and the most frequent mistake."""

    label: int
    images: int
    clean: Estimate | None
    mean: Estimate
    worst: str
    worst_accuracy: float
    mistake: tuple[int, float] | None


@dataclass(frozen=True)
class Confusion:
    """How often a class is taken for another one, as a share of its corrupted and of its clean images."""

    label: int
    prediction: int
    corrupted: float
    clean: float | None


@dataclass(frozen=True)
class ClassScores:
    """Everything of one model; `pairs` is the number of all pairs of corruption and class, of which some are picked."""

    model: str
    losses: list[Loss]
    pairs: int
    classes: list[ClassAccuracy]
    all_classes: int
    confusions: list[Confusion]


def scores_by_class(
    results: Results, benchmark: Benchmark, model: str, *, losses: int = 8, classes: int = 20, mistakes: int = 10
) -> ClassScores:
    """The largest losses, the worst classes and the most frequent mistakes of one model, so many of each.

    A loss is the clean accuracy of a class minus its accuracy under one corruption, over the levels of that.
    """
    has_clean = model in results.models_with([Cell()])
    cells = _rows(results, benchmark, model).select("corruption", "sample", "label", "prediction", "correct").collect()
    known = dict(cells.select("sample", "label").unique("sample").iter_rows())
    matrix = results.matrix(model, [*([Cell()] if has_clean else []), *benchmark.cells()])
    labels, table = np.array([known[sample] for sample in matrix.samples]), matrix.values
    shares = by_corruption(benchmark)(table[:, 1:] if has_clean else table)
    names = [entry.id for entry in benchmark.entries]
    wrong = _mistakes(cells)
    present = [int(label) for label in np.unique(labels)]
    picked, pairs = _largest_losses(table[:, 0], shares, labels, names, losses) if has_clean else ([], 0)
    means = {label: float(shares[labels == label].mean()) for label in present}
    worst = sorted(present, key=lambda label: (means[label], label))[:classes]
    shown = wrong.filter(pl.col("label").is_in(worst)).unique("label", keep="first", maintain_order=True)
    first_wrong = {one.label: (one.prediction, one.corrupted) for one in _confusions(shown)}
    accuracies = []
    for label in worst:
        inside = labels == label
        clean = table[inside, 0] if has_clean else None
        accuracies.append(_class_accuracy(label, clean, shares[inside], names, first_wrong.get(label)))
    return ClassScores(model, picked, pairs, accuracies, len(present), _confusions(wrong.head(mistakes)))


def _rows(results: Results, benchmark: Benchmark | None, model: str) -> pl.LazyFrame:
    """The rows of one model on the clean images and on the cells of the benchmark."""
    cells = [Cell(), *([] if benchmark is None else benchmark.cells())]
    places = pl.LazyFrame([cell.place for cell in cells], schema=["corruption", "level"], orient="row")
    return results.rows.filter(pl.col("model") == model).join(places, on=["corruption", "level"])


def _largest_losses(
    clean: NDArray[np.bool_], shares: FloatArray, labels: NDArray[np.integer], names: list[str], most: int
) -> tuple[list[Loss], int]:
    """The pairs of corruption and class with the largest losses, and how many pairs there are.

    The intervals are paired by image, and hold for all pairs at once (Bonferroni), so also for those that were picked
    because they are the largest.
    """
    candidates = []
    for label in np.unique(labels):
        inside = labels == label
        right, means = float(clean[inside].mean()), shares[inside].mean(axis=0)
        candidates += [(right - float(mean), int(label), place) for place, mean in enumerate(means)]
    candidates.sort(key=lambda pair: (-pair[0], pair[1], pair[2]))
    level = 1 - (1 - LEVEL) / len(candidates)
    losses = []
    for loss, label, place in candidates[:most]:
        if loss <= 0:
            break
        before, after = clean[labels == label].astype(float), shares[labels == label, place]
        low, high = gap_interval(before, after, 1.0, 1.0, level=level)
        estimate = Estimate("loss", loss, float(low), float(high), n=len(before), method="paired, Bonferroni")
        losses.append(Loss(names[place], label, len(before), float(before.mean()), float(after.mean()), estimate))
    return losses, len(candidates)


def _class_accuracy(
    label: int, clean: NDArray[np.bool_] | None, shares: FloatArray, names: list[str], mistake: tuple[int, float] | None
) -> ClassAccuracy:
    images = len(shares)
    means = shares.mean(axis=0)
    place = int(means.argmin())
    each = shares.mean(axis=1)
    low, high = mean_interval(each, 0, 1)
    mean = Estimate("mean accuracy", float(each.mean()), float(low), float(high), n=images)
    first = None
    if clean is not None:
        ends = wilson(clean.sum(), images)
        first = Estimate("clean accuracy", float(clean.mean()), float(ends[0]), float(ends[1]), n=images)
    return ClassAccuracy(label, images, first, mean, names[place], float(means[place]), mistake)


def _mistakes(cells: pl.DataFrame) -> pl.DataFrame:
    """All mistakes, the most frequent under corruptions first, in shares of the images of their class."""
    is_clean = pl.col("corruption") == CLEAN
    totals = cells.group_by("label").agg((~is_clean).sum().alias("corrupted"), is_clean.sum().alias("clean"))
    return (
        cells.filter(~pl.col("correct"))
        .group_by("label", "prediction")
        .agg((~is_clean).sum().alias("under"), is_clean.sum().alias("before"))
        .join(totals, on="label")
        .filter((pl.col("corrupted") > 0) & (pl.col("under") > 0))
        .with_columns(pl.col("under") / pl.col("corrupted"), pl.col("before") / pl.col("clean"))
        .sort(["under", "label", "prediction"], descending=[True, False, False])
    )


def _confusions(wrong: pl.DataFrame) -> list[Confusion]:
    return [
        Confusion(row["label"], row["prediction"], row["under"], row["before"] if row["clean"] else None)
        for row in wrong.iter_rows(named=True)
    ]


@dataclass(frozen=True)
class ModelCalibration:
    """How honest the confidences of one model are: bins of its predictions on clean and on all corrupted images."""

    model: str
    bins: dict[str, Calibration]


def model_calibration(results: Results, benchmark: Benchmark | None, model: str) -> ModelCalibration | None:
    """Calibration on clean and on corrupted images; None if some prediction has no confidence between 0 and 1."""
    rows = _rows(results, benchmark, model).select("corruption", "confidence", "correct").collect()
    sure = rows["confidence"].cast(pl.Float64)
    if sure.null_count() or not bool(sure.is_between(0, 1).all()):
        return None
    clean = pl.col("corruption") == CLEAN
    parts = {"clean": rows.filter(clean), "corrupted": rows.filter(~clean)}
    bins = {
        name: calibration_bins(chosen["confidence"].to_numpy().astype(np.float64), chosen["correct"].to_numpy())
        for name, chosen in parts.items()
        if not chosen.is_empty()
    }
    return ModelCalibration(model, bins)
