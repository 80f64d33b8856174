"""What the confidences of models are worth: calibration and selection, cell by cell and as means, with intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from brittle._errors import BrittleError
from brittle._types import FloatArray
from brittle.benchmarks import Benchmark, Cell
from brittle.evaluation.results import Results, by_corruption
from brittle.evaluation.score import check_same_images
from brittle.evaluation.tables.formats import Better, Column, ScoreTable, Value
from brittle.evaluation.tables.scores import OVER_IMAGES, table_title
from brittle.metrics import (
    BINS,
    Estimate,
    bootstrap,
    brier_scores,
    calibration_interval,
    confidence_bins,
    deal_into_groups,
    equal_mass_bins,
    mean_interval,
    negative_log_likelihoods,
    resampled_means,
    risk_coverage,
    shared_by_ties,
)

GROUPS = 2000
"""More samples than these are dealt into so many groups, which are resampled as wholes, for the gaps of ECE: the spread
of the resamples is that of samples to about 2 % of it, as many as a thousand resamples leave open anyway."""

MOST_RESAMPLES = 10_000
"""Calibration errors are resampled no more often."""

COLUMNS = ("correct", "confidence", "label_probability", "label_in_top5", "square_sum")


@dataclass(frozen=True)
class ConfidenceMetric:
    """A metric of confidences: its field in Python, JSON and rules, its name in tables, and the columns it needs."""

    field: str
    name: str
    better: Better
    percent: bool
    needs: tuple[str, ...]
    high: float = 1.0

    @property
    def short(self) -> str:
        """Its name in a narrow column."""
        return {"accuracy_at_90": "acc. at 90 %", "brier": "Brier", "top5": "top-5"}.get(self.field, self.name)

    @property
    def is_gap(self) -> bool:
        """Whether it is a sum of absolute gaps over bins, which is resampled bin by bin."""
        return self.field in ("ece", "adaptive_ece")


CONFIDENCE_METRICS = (
    ConfidenceMetric("ece", "ECE", "lower", True, ("confidence",)),
    ConfidenceMetric("adaptive_ece", "adaptive ECE", "lower", True, ("confidence",)),
    ConfidenceMetric("brier", "Brier score", "lower", False, ("label_probability", "square_sum"), 2.0),
    ConfidenceMetric("nll", "NLL", "lower", False, ("label_probability",), math.inf),
    ConfidenceMetric("aurc", "AURC", "lower", False, ("confidence",)),
    ConfidenceMetric("accuracy_at_90", "accuracy at 90 % coverage", "higher", True, ("confidence",)),
    ConfidenceMetric("top5", "top-5 accuracy", "higher", True, ("label_in_top5",)),
)
"""All of them, in the order of tables."""

MEAN_GAP = "mean gap"
"""What is right minus the confidence, of each sample."""

LIMITS = {"brier": (0.0, 2.0), "aurc": (0.0, 1.0), "accuracy_at_90": (0.0, 1.0)}
"""Between which values the intervals of means hold for few predictions too, as those of accuracies do."""

UNLIMITED = 1e6
"""Stands for noise without limit."""

GAPS = tuple(one.field for one in CONFIDENCE_METRICS if one.is_gap)
SMOOTH = tuple(one for one in CONFIDENCE_METRICS if not one.is_gap)


@dataclass(frozen=True, eq=False)
class CellConfidences:
    """One cell of one model: each metric, and what it is resampled from.

    `values` are NaN for what the rows do not have. `smooth` has a number for each sample whose mean is the metric, and
    `gaps` for each group of samples and each bin the sum of what is right minus what is expected.
    """

    samples: int
    values: dict[str, float]
    smooth: dict[str, FloatArray]
    gaps: dict[str, FloatArray]


def cell_confidences(columns: dict[str, NDArray[Any]], *, seed: int = 0) -> CellConfidences:
    """The metrics of one cell from the columns of its rows."""
    right = np.asarray(columns["correct"], bool)
    count = len(right)
    values = {one.field: math.nan for one in CONFIDENCE_METRICS}
    smooth: dict[str, FloatArray] = {}
    gaps: dict[str, FloatArray] = {}
    known = {name for name in COLUMNS if not np.isnan(columns[name]).any()}
    sure = np.asarray(columns["confidence"], np.float64)
    if "confidence" in known and ((sure >= 0) & (sure <= 1)).all():
        curve = risk_coverage(sure, right)
        smooth["aurc"], smooth["accuracy_at_90"] = curve.area_values(), curve.accuracy_values()
        smooth[MEAN_GAP] = right - sure
        groups, size = _groups(count, seed), min(count, GROUPS)
        equal_width = np.bincount(groups * BINS + confidence_bins(sure), right - sure, size * BINS).reshape(size, BINS)
        for name, sums in (("ece", equal_width), ("adaptive_ece", _adaptive_sums(sure, right, groups, size))):
            gaps[name] = sums * size / count
            values[name] = float(np.abs(sums.sum(axis=0)).sum() / count)
    if "label_probability" in known:
        of_label = np.minimum(np.asarray(columns["label_probability"], np.float64), 1.0)
        smooth["nll"] = negative_log_likelihoods(of_label)
        if "square_sum" in known:
            smooth["brier"] = brier_scores(of_label, columns["square_sum"])
    if "label_in_top5" in known:
        smooth["top5"] = np.asarray(columns["label_in_top5"], np.float64)
    return CellConfidences(
        count, values | {name: float(column.mean()) for name, column in smooth.items()}, smooth, gaps
    )


@lru_cache(maxsize=2)
def _groups(count: int, seed: int) -> NDArray[np.int64]:
    """The group of each sample, the same in every cell."""
    return np.arange(count) if count <= GROUPS else deal_into_groups(count, GROUPS, seed=seed)


def _adaptive_sums(sure: FloatArray, right: NDArray[np.bool_], groups: NDArray[np.int64], size: int) -> FloatArray:
    """For each group and each bin of equally many predictions the sum of what is right minus the confidence.

    Predictions of one confidence share what is right. What each of them adds to that belongs to all the bins that they
    lie in, so that the sums still vary with the groups.
    """
    order = np.argsort(sure, kind="stable")
    place, ties = np.empty(len(sure), np.int64), np.empty(len(sure), np.int64)
    place[order] = equal_mass_bins(len(sure))
    ranked = sure[order]
    ties[order] = np.concatenate([[0], np.cumsum(ranked[1:] != ranked[:-1])])
    shared = shared_by_ties(sure, right.astype(np.float64), order)
    sums = np.asarray(np.bincount(groups * BINS + place, shared - sure, size * BINS).reshape(size, BINS), np.float64)
    counts = np.bincount(ties)
    tied = np.flatnonzero(counts[ties] > 1)
    if len(tied):
        shares = np.bincount(ties * BINS + place, minlength=len(counts) * BINS).reshape(-1, BINS) / counts[:, None]
        added = (right - shared)[tied]
        for column, share in zip(sums.T, shares.T, strict=True):
            column += np.bincount(groups[tied], added * share[ties[tied]], size)
    return sums


TOGETHER = 16
"""Cells that are resampled together: one product of large matrices takes a fraction of the time of many of small ones.
"""


@dataclass(eq=False)
class MeanConfidences:
    """A weighted mean over cells of one model, summed up cell by cell; metrics that some cell lacks are missing."""

    resamples: int = 1000
    seed: int = 0
    cells: int = 0
    values: dict[str, float] = field(default_factory=dict)
    smooth: dict[str, FloatArray] = field(default_factory=dict)
    drawn: dict[str, FloatArray] = field(default_factory=dict)
    noise: dict[str, FloatArray] = field(default_factory=dict)
    lacking: dict[str, int] = field(default_factory=dict)
    samples: int = 0
    pending: list[tuple[CellConfidences, float]] = field(default_factory=list)

    def add(self, cell: CellConfidences, weight: float) -> None:
        """Add a cell."""
        self.cells, self.samples = self.cells + 1, cell.samples
        for name, value in cell.values.items():
            self.lacking[name] = self.lacking.get(name, 0) + math.isnan(value)
            self.values[name] = self.values.get(name, 0.0) + weight * value
        for name, column in cell.smooth.items():
            known = self.smooth.get(name)
            self.smooth[name] = weight * column if known is None else known + weight * column
        if cell.gaps:
            self.pending.append((cell, weight))
            if len(self.pending) == TOGETHER:
                self.resample()

    def resample(self) -> None:
        """Draw the gaps of the cells that were added since the last time."""
        if not self.pending:
            return
        gaps = np.hstack([cell.gaps[name] for cell, _ in self.pending for name in GAPS])
        means = resampled_means(gaps, seed=self.seed, resamples=min(self.resamples, MOST_RESAMPLES))
        each = (len(means), len(self.pending), len(GAPS), BINS)
        errors = np.abs(means).reshape(each).sum(axis=3)
        noise = np.abs(means - gaps.mean(axis=0)).reshape(each).sum(axis=3)
        for place, (cell, weight) in enumerate(self.pending):
            for column, name in enumerate(GAPS):
                self.drawn[name] = self.drawn.get(name, 0.0) + weight * errors[:, place, column]
                more = weight * _shrunk(cell, name) * noise[:, place, column]
                self.noise[name] = self.noise.get(name, 0.0) + more
        self.pending.clear()

    def estimates(self, *, level: float = 0.95, only: Sequence[str] | None = None) -> dict[str, Estimate]:
        """Every metric that all cells have, with its interval."""
        self.resample()
        wanted = [
            one
            for one in CONFIDENCE_METRICS
            if (only is None or one.field in only) and self.lacking.get(one.field) == 0 and self.samples
        ]
        columns = [self.smooth[one.field] for one in wanted if not one.is_gap]
        how: dict[str, Any] = {"seed": self.seed, "resamples": self.resamples}
        drawn = resampled_means(np.stack(columns, axis=1), **how) if columns else np.empty((self.resamples, 0))
        found, place = {}, 0
        for one in wanted:
            if one.is_gap:
                drawn_errors, noise = self.drawn[one.field], self.noise[one.field]
                ends = calibration_interval(self.values[one.field], drawn_errors, level, noise=noise)
                ends = _with_mean_gap(ends, self.values[one.field], self.smooth[MEAN_GAP], level)
                method = f"bootstrap, {len(self.drawn[one.field])} resamples, seed {self.seed}, on both sides"
            else:
                bounded = one.field == "top5"
                part = drawn[:, place : place + 1]
                column = np.clip(self.smooth[one.field], 0, 1) if bounded else self.smooth[one.field]
                mean = bootstrap(column, name=one.name, level=level, resampled=part, bounded=bounded, **how)
                assert mean.low is not None
                assert mean.high is not None
                ends, method, place = (mean.low, mean.high), mean.method, place + 1
                if one.field in LIMITS:
                    least, most = LIMITS[one.field]
                    limits = min(least, float(column.min())), max(most, float(column.max()))
                    wider = [float(end) for end in mean_interval(column, *limits, level=level)]
                    ends = min(ends[0], wider[0]), max(ends[1], wider[1])
            low, high = max(ends[0], 0.0), min(ends[1], one.high)
            value = self.values[one.field]
            found[one.field] = Estimate(one.name, value, low, high, level, self.samples, method, one.percent)
        return found


def _shrunk(cell: CellConfidences, name: str) -> float:
    """How much more gaps vary than their resamples: each bin has its own mean, and that takes a prediction from all."""
    free = cell.samples - int((cell.gaps[name] != 0).any(axis=0).sum())
    return math.sqrt(cell.samples / free) if free > 0 else UNLIMITED


def _with_mean_gap(ends: tuple[float, float], value: float, gaps: FloatArray, level: float) -> tuple[float, float]:
    """The interval of a calibration error with what the mean gap tells, than which the error is never smaller.

    It reaches as far up, and not below the smallest absolute gap. Resamples of few predictions that are all right and
    sure, or all wrong, do not tell how far the gap may reach; its own interval does.
    """
    low, high = map(float, mean_interval(np.clip(gaps, -1, 1), -1, 1, level=level))
    nearest = max(low, -high, 0.0)
    down = max(abs(float(gaps.mean())) - nearest, 0.0)
    return max(min(ends[0], value - down), nearest), max(ends[1], -low, high)


def difference_of(
    metric: ConfidenceMetric, first: MeanConfidences, second: MeanConfidences, *, level: float = 0.95
) -> Estimate:
    """A metric of one model minus that of another on the same images in the same order, paired."""
    name, field_name = f"difference of {metric.name}", metric.field
    value = first.values[field_name] - second.values[field_name]
    if metric.is_gap:
        first.resample()
        second.resample()
        drawn = first.drawn[field_name] - second.drawn[field_name]
        method = f"paired bootstrap, {len(drawn)} resamples, seed {first.seed}, on both sides"
        return Estimate(
            name, value, *calibration_interval(value, drawn, level), level, first.samples, method, metric.percent
        )
    gaps = first.smooth[field_name] - second.smooth[field_name]
    how: dict[str, Any] = {"seed": first.seed, "resamples": first.resamples, "bounded": False}
    return bootstrap(gaps, name=name, level=level, percent=metric.percent, **how)


READ_TOGETHER = 4_000_000
"""Rows that are read at once: each reading opens all files, and takes 60 bytes of memory a row."""


def read_confidences(
    results: Results, model: str, cells: Sequence[Cell], *, seed: int = 0
) -> Iterator[tuple[int, CellConfidences]]:
    """Each cell of a model by its place, on the samples that are in all of them; some corruptions at a time."""
    counts = _sample_counts(results, model, cells)
    most = READ_TOGETHER // max(next(iter(counts))[0], 1) if len(counts) == 1 else len(cells)
    parts: list[list[int]] = [[]]  # if samples differ, all cells are read at once to find those that all have
    for _, of_corruption in groupby(range(len(cells)), lambda place: cells[place].corruption):
        together = list(of_corruption)
        if parts[-1] and len(parts[-1]) + len(together) > most:
            parts.append([])
        parts[-1] += together
    for places in filter(None, parts):
        _, arrays = results.columns(model, [cells[place] for place in places], COLUMNS)
        for column, place in enumerate(places):
            of_cell = {name: array[:, column] for name, array in zip(COLUMNS, arrays, strict=True)}
            yield place, cell_confidences(of_cell, seed=seed)


def _sample_counts(results: Results, model: str, cells: Sequence[Cell]) -> set[tuple[int, int]]:
    """The number of samples and a digest of them, of each cell."""
    names = sorted({cell.corruption for cell in cells})
    sums = (
        results.rows.filter((pl.col("model") == model) & pl.col("corruption").is_in(names))
        .group_by("corruption", "level")
        .agg(pl.len().alias("count"), pl.col("sample").hash().sum().alias("hash"))
        .collect(engine="streaming")
    )
    places = {cell.place for cell in cells}
    return {
        (row["count"], row["hash"]) for row in sums.iter_rows(named=True) if (row["corruption"], row["level"]) in places
    }


@dataclass(frozen=True)
class CalibrationScores:
    """What the confidences of one model are worth on one benchmark.

    `clean` and `mean` have an `Estimate` for each field of `CONFIDENCE_METRICS` that the rows allow for, such as `ece`.
    A mean is over corruptions of the mean over their levels, each cell measured alone.
    `missing` says in a sentence what is not there, and why.
    """

    model: str
    benchmark: str
    clean: dict[str, Estimate]
    mean: dict[str, Estimate]
    missing: str = ""

    def __repr__(self) -> str:
        shown = ", ".join(map(str, (self.mean or self.clean).values()))
        return f"<CalibrationScores of {self.model!r} on {self.benchmark or 'clean images'!r}: {shown}>"


class CalibrationList(list[CalibrationScores]):
    """The calibration of each model on one benchmark, the lowest mean ECE first."""

    def table(self) -> ScoreTable:
        """Two rows for each model, clean images and the mean over corrupted cells, and a column for each metric."""
        rows = [
            (row.model, images, estimates)
            for row in self
            for images, estimates in (("clean", row.clean), ("corrupted", row.mean))
            if estimates or (images == "clean" and not row.mean)
        ]
        kept = [one for one in CONFIDENCE_METRICS if any(one.field in estimates for _, _, estimates in rows)]
        head = Column("model"), Column("images"), *(_column(one) for one in kept)
        lines: list[tuple[Value, ...]] = [
            (model, images, *(estimates.get(one.field) for one in kept)) for model, images, estimates in rows
        ]
        name = self[0].benchmark if self else ""
        title = f"{name or 'clean images'}: calibration and selection"
        notes = (
            (*dict.fromkeys(row.missing for row in self if row.missing), *NOTES)
            if kept
            else tuple(dict.fromkeys(row.missing for row in self))
        )
        return ScoreTable(f"{name or 'clean'}-calibration", title, head, tuple(lines), OVER_IMAGES, notes)

    def to_polars(self) -> pl.DataFrame:
        """A data frame with two rows for each model."""
        return self.table().to_polars()

    def to_pandas(self) -> Any:
        """The same as a DataFrame of pandas."""
        return self.table().to_pandas()

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


NOTES = (
    "ECE and accuracies in percent; acc. at 90 %: of the nine in ten predictions that the model is surest of; "
    "corrupted: mean over corruptions and severities of each cell's own value",
)


def _column(one: ConfidenceMetric) -> Column:
    return Column(one.short, digits=None if one.percent else 3)


def calibration_scores(
    results: Results,
    benchmark: str | Benchmark | None = None,
    *,
    models: Sequence[str] | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> CalibrationList:
    """ECE, adaptive ECE, Brier score, NLL, AURC, accuracy at 90 % coverage and top-5 accuracy of every model.

    >>> import brittle
    >>> blur = brittle.Benchmark("blur", [brittle.benchmarks.Entry("gaussian_blur", [1, 5])])
    >>> results = brittle.evaluate("demo:standard", brittle.load_dataset("demo").limited(50), blur)
    >>> [scores] = results.calibration()
    >>> scores.clean["nll"].value < scores.mean["nll"].value
    True

    The benchmark may be left out if the results hold one, or none but clean images. Rows of predictions that were made
    elsewhere, or before probabilities were kept, lack some metrics; `missing` says which.
    """
    check_same_images(results)
    recipe = None if benchmark is None and not results.benchmarks() else results.find_benchmark(benchmark)
    cells = [] if recipe is None else recipe.cells()
    weights = [] if recipe is None else _weights(recipe)
    scored = CalibrationList()
    for model in results.models_with(cells or [Cell()]) if models is None else models:
        clean, mean = MeanConfidences(resamples, seed), MeanConfidences(resamples, seed)
        has_clean = model in results.models_with([Cell()])
        wanted = [*([Cell()] if has_clean else []), *cells]
        for place, cell in read_confidences(results, model, wanted, seed=seed):
            if wanted[place].is_clean:
                clean.add(cell, 1.0)
            else:
                mean.add(cell, weights[place - has_clean])
        name = "" if recipe is None else recipe.name
        missing = _missing(model, clean, mean)
        scored.append(CalibrationScores(model, name, clean.estimates(), mean.estimates(), missing))
    scored.sort(key=lambda row: [one["ece"].value if "ece" in one else math.inf for one in (row.mean, row.clean)])
    return scored


def calibration_table(results: Results, benchmark: Benchmark | None = None, **how: Any) -> ScoreTable:
    """What `calibration_scores` gives as a table: clean images and means over corrupted cells of each model."""
    return calibration_scores(results, benchmark, **how).table()


def _weights(recipe: Benchmark) -> list[float]:
    """The weight of each cell in a mean over corruptions of means over levels."""
    each: FloatArray = by_corruption(recipe)(np.eye(len(recipe.cells()))).mean(axis=-1)
    return each.tolist()  # type: ignore[no-any-return]


def _missing(model: str, *parts: MeanConfidences) -> str:
    """What a model has no value of, and why, in a sentence."""
    cells = sum(part.cells for part in parts)
    lacking = {one.field: sum(part.lacking.get(one.field, 0) for part in parts) for one in CONFIDENCE_METRICS}
    if lacking["ece"]:
        return (
            f"{lacking['ece']} of {cells} cells of {model} have no confidences between 0 and 1, so nothing is known of "
            "their calibration; import predictions with a column `confidence`"
        )
    if lacking["nll"]:
        return (
            f"{lacking['nll']} of {cells} cells of {model} have no probabilities of the labels, so there is no Brier "
            "score, NLL and top-5 accuracy over them: they were imported, or computed before probabilities were kept; "
            "run the model in a new folder"
        )
    return ""


def calibration_by_cell(
    results: Results,
    benchmark: str | Benchmark | None = None,
    *,
    models: Sequence[str] | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> ScoreTable:
    """A row for each model and cell, clean images first, with every metric of `calibration_scores` and its interval."""
    check_same_images(results)
    recipe = None if benchmark is None and not results.benchmarks() else results.find_benchmark(benchmark)
    cells = [] if recipe is None else recipe.cells()
    able = results.models_with(cells or [Cell()]) if models is None else list(models)
    if not able:
        raise BrittleError("no model of these results has all cells of this benchmark; run one through it")
    lines: list[tuple[Value, ...]] = []
    for model in able:
        wanted = [*([Cell()] if model in results.models_with([Cell()]) else []), *cells]
        for place, cell in read_confidences(results, model, wanted, seed=seed):
            alone = MeanConfidences(resamples, seed)
            alone.add(cell, 1.0)
            found = alone.estimates()
            lines.append((model, *wanted[place].place, *(found.get(one.field) for one in CONFIDENCE_METRICS)))
    head = Column("model"), Column("corruption"), Column("level"), *map(_column, CONFIDENCE_METRICS)
    what = "calibration and selection in each cell"
    title = what if recipe is None else table_title(results, recipe, what)
    name = "clean" if recipe is None else recipe.name
    return ScoreTable(f"{name}-calibration-by-cell", title, head, tuple(lines), OVER_IMAGES)
