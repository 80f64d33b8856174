"""Scores class by class: accuracies, mistakes and largest losses; and how honest confidences are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from brittle._types import FloatArray
from brittle.benchmarks import CLEAN, Benchmark, Cell
from brittle.evaluation.results import Results
from brittle.evaluation.score import by_corruption
from brittle.metrics import (
    Calibration,
    Estimate,
    calibration_bins,
    gap_interval,
    mean_interval,
    resampled_means,
    wilson,
)

LEVEL, RESAMPLES = 0.95, 1000


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
    known = dict(cells.select("sample", "label").unique().iter_rows())
    matrix = results.matrix(model, [*([Cell()] if has_clean else []), *benchmark.cells()])
    labels, table = np.array([known[sample] for sample in matrix.samples]), matrix.values
    shares = by_corruption(benchmark)(table[:, 1:] if has_clean else table)
    names = [entry.id for entry in benchmark.entries]
    wrong = _mistakes(cells)
    present = [int(label) for label in np.unique(labels)]
    picked, pairs = _largest_losses(table[:, 0], shares, labels, names, losses) if has_clean else ([], 0)
    means = {label: float(shares[labels == label].mean()) for label in present}
    worst = sorted(present, key=lambda label: (means[label], label))[:classes]
    first_wrong: dict[int, tuple[int, float]] = {}
    for one in wrong:
        first_wrong.setdefault(one.label, (one.prediction, one.corrupted))
    accuracies = []
    for label in worst:
        inside = labels == label
        clean = table[inside, 0] if has_clean else None
        accuracies.append(_class_accuracy(label, clean, shares[inside], names, first_wrong.get(label)))
    return ClassScores(model, picked, pairs, accuracies, len(present), wrong[:mistakes])


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


def _mistakes(cells: pl.DataFrame) -> list[Confusion]:
    """All mistakes, the most frequent under corruptions first, in shares of the images of their class."""
    is_clean = pl.col("corruption") == CLEAN
    totals = cells.group_by("label").agg((~is_clean).sum().alias("corrupted"), is_clean.sum().alias("clean"))
    wrong = (
        cells.filter(~pl.col("correct"))
        .group_by("label", "prediction")
        .agg((~is_clean).sum().alias("under"), is_clean.sum().alias("before"))
        .join(totals, on="label")
        .filter(pl.col("corrupted") > 0)
        .with_columns(pl.col("under") / pl.col("corrupted"), pl.col("before") / pl.col("clean"))
        .sort(["under", "label", "prediction"], descending=[True, False, False])
    )
    return [
        Confusion(row["label"], row["prediction"], row["under"], row["before"] if row["clean"] else None)
        for row in wrong.iter_rows(named=True)
        if row["under"] > 0
    ]


@dataclass(frozen=True)
class ModelCalibration:
    """How honest the confidences of one model are: bins of its predictions, and its ECE with an interval."""

    model: str
    bins: dict[str, Calibration]
    errors: dict[str, Estimate]


def model_calibration(results: Results, benchmark: Benchmark | None, model: str) -> ModelCalibration | None:
    """Calibration on clean and on corrupted images; None if some prediction has no confidence between 0 and 1."""
    rows = _rows(results, benchmark, model).select("corruption", "sample", "confidence", "correct").collect()
    sure = rows["confidence"].cast(pl.Float64)
    if sure.null_count() or not bool(sure.is_between(0, 1).all()):
        return None
    bins, errors = {}, {}
    clean = pl.col("corruption") == CLEAN
    for name, chosen in (("clean", rows.filter(clean)), ("corrupted", rows.filter(~clean))):
        if chosen.is_empty():
            continue
        confidence, correct = chosen["confidence"].to_numpy().astype(np.float64), chosen["correct"].to_numpy()
        bins[name] = calibration_bins(confidence, correct)
        samples = np.unique(chosen["sample"].to_numpy().astype(str), return_inverse=True)[1]
        errors[name] = _ece(bins[name], confidence, correct, samples)
    return ModelCalibration(model, bins, errors)


def _ece(bins: Calibration, confidence: FloatArray, correct: NDArray[np.bool_], samples: NDArray[np.intp]) -> Estimate:
    """The ECE with its bootstrap interval over images, whose corrupted copies stay together."""
    size, images = len(bins.counts), int(samples.max()) + 1
    place = np.clip(np.ceil(confidence * size).astype(np.int64) - 1, 0, size - 1)
    gaps = np.bincount(samples * size + place, correct - confidence, images * size).reshape(images, size)
    drawn = np.abs(resampled_means(gaps * images / len(confidence), resamples=RESAMPLES)).sum(axis=1)
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    value = bins.ece
    method = f"bootstrap, {RESAMPLES} resamples"
    return Estimate("ECE", value, min(float(low), value), max(float(high), value), n=images, method=method)
