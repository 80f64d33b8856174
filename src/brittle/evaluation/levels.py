"""How images fail along the levels of a benchmark: survival, failure points, and the first images to fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from brittle._types import FloatArray
from brittle.benchmarks import CLEAN, Benchmark, Entry, Level, ends
from brittle.evaluation.results import Results
from brittle.metrics import failure_points, share_intervals


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
