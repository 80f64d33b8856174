"""Summaries of failure points by corruption: quantiles with intervals, and what their severities do to an image."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from brittle._errors import BrittleError
from brittle._io import atomic_write
from brittle._types import Image
from brittle.benchmarks import Benchmark
from brittle.evaluation.failures.search import drawn_key, load_failure_points, searched_recipes
from brittle.evaluation.records import decoded_ids, decoded_images
from brittle.metrics import Estimate, FailurePoints
from brittle.metrics.image_quality import contrast_kept, psnr, ssim

MEASURED = 32
"""So many images are corrupted to measure what a severity does to them."""

EXAMPLES = (0.05, 0.5)
"""Images are shown whose failure points are nearest these quantiles."""


@dataclass(frozen=True)
class Change:
    """What a severity does: the corruption's own parameters, and the mean change of images of the data.

    `psnr` is in dB, `ssim` 1 for unchanged images, `contrast` the share of the RMS contrast that is left.
    """

    severity: float
    parameters: dict[str, float]
    psnr: float
    ssim: float
    contrast: float

    @property
    def contrast_change(self) -> str:
        """The change of contrast in percent, such as −35 %; a dash where the clean images have none to lose."""
        if not np.isfinite(self.contrast):
            return "–"
        change = round(100 * (self.contrast - 1))
        return f"{change:+d} %".replace("-", "−") if change else "0 %"

    @property
    def words(self) -> str:
        """The parameters, such as "strength 1.82, decay 1.95"."""
        return ", ".join(f"{name.replace('_', ' ')} {value:.3g}" for name, value in self.parameters.items())


@dataclass(frozen=True)
class FailureExample:
    """An image on its way: right up to `held`, taken for `prediction` at `failed`."""

    sample: str
    label: int
    held: float
    failed: float
    prediction: int
    clean_confidence: float
    held_confidence: float
    failed_confidence: float

    @property
    def steps(self) -> list[tuple[float, int, float, bool]]:
        """Severity, prediction, confidence and whether it is right: clean, just before it fails, and where it fails."""
        return [
            (0.0, self.label, self.clean_confidence, True),
            (self.held, self.label, self.held_confidence, True),
            (self.failed, self.prediction, self.failed_confidence, False),
        ]


@dataclass(frozen=True, eq=False)
class FailureSummary:
    """One model under one corruption. Quantiles are of the images that are right when clean."""

    model: str
    key: str
    corruption: str
    drawn: str
    points: FailurePoints
    evaluations: float
    rows: pl.DataFrame = field(repr=False)

    @property
    def last(self) -> float:
        """The largest severity."""
        return float(self.points.severities[-1])

    @property
    def clean_accuracy(self) -> float:
        """The share of images that are right when clean."""
        return 1 - self.points.at_zero / len(self.points)

    @property
    def never(self) -> float:
        """The share of the images that are right when clean which never fail."""
        right = len(self.points) - self.points.at_zero
        return self.points.never / right if right else math.nan

    @cached_property
    def early(self) -> Estimate | None:
        """The severity below which 5 % fail; None if every image is wrong when clean."""
        return self._quantile(0.05)

    @cached_property
    def half(self) -> Estimate | None:
        """The severity below which half fail."""
        return self._quantile(0.5)

    @property
    def rank(self) -> tuple[float, float, float]:
        """What sorts the most brittle first: the 5 % quantile, the median, then the mean, as shares of the axis."""
        ends = [math.inf if one is None else one.value / self.last for one in (self.early, self.half)]
        return ends[0], ends[1], self.points.mean() / self.last

    @property
    def severity(self) -> float:
        """Where it is worth to know what the severity does: at the 5 % quantile, else the median, else the end."""
        finite = [one.value for one in (self.early, self.half) if one is not None and math.isfinite(one.value)]
        return finite[0] if finite else self.last

    def _quantile(self, share: float) -> Estimate | None:
        return None if self.points.at_zero == len(self.points) else self.points.right_at_zero().quantile(share)

    def examples(self, quantiles: tuple[float, ...] = EXAMPLES) -> list[FailureExample]:
        """Images that fail near these quantiles, each once; of equally near ones the one it was surest of."""
        examples: list[FailureExample] = []
        failures = self.rows.filter(pl.col("failed").is_finite() & (pl.col("failed") > 0))
        for share in quantiles:
            left = failures.filter(~pl.col("sample").is_in([one.sample for one in examples]))
            if left.is_empty():
                break
            wanted = left["failed"].quantile(share, "nearest")
            order = left.sort((pl.col("failed") - wanted).abs(), -pl.col("clean_confidence"), "sample")
            examples.append(FailureExample(**order.select(*FailureExample.__dataclass_fields__).row(0, named=True)))
        return sorted(examples, key=lambda one: one.failed)


def summarize_failure_points(rows: pl.DataFrame) -> list[FailureSummary]:
    """A summary for each model and corruption of a table of failure points, the most brittle corruption first.

    Of repeated searches for the same failure points the finest one counts.
    """
    finest = pl.col("resolution") == pl.col("resolution").min().over("key", "corruption", "drawn")
    summaries = []
    for (model, key, corruption, drawn), group in rows.filter(finest).group_by(
        "model", "key", "corruption", "drawn", maintain_order=True
    ):
        searched = group.unique("sample", keep="first", maintain_order=True)
        resolution, highest = float(searched["resolution"][0]), float(searched["max_severity"][0])
        axis = np.arange(round(highest / resolution) + 1, dtype=np.float64) * resolution
        points = FailurePoints(searched["failed"].to_numpy(), axis)
        evaluations = float(searched["evaluations"].to_numpy().mean())
        summaries.append(
            FailureSummary(str(model), str(key), str(corruption), str(drawn), points, evaluations, searched)
        )
    return sorted(summaries, key=lambda one: (one.rank, one.corruption))


def write_failure_points(rows: pl.DataFrame, path: str | Path) -> Path:
    """Write the failure point of every image as CSV; an image that never fails has an empty one."""
    fails = pl.col("failed").is_finite()
    table = rows.select(
        "model",
        "corruption",
        "sample",
        "label",
        pl.when(fails).then("failed").alias("failure_point"),
        pl.when(pl.col("failed") > 0).then("held").alias("last_right"),
        pl.when(fails).then("prediction").alias("prediction"),
        pl.when(fails).then("failed_confidence").alias("confidence"),
        "evaluations",
        "max_severity",
        "resolution",
    )
    with atomic_write(Path(path)) as part:
        table.write_csv(part, float_precision=6)
    return Path(path)


class SearchedFolder:
    """A run's folder with failure points: their summaries, the images, and what the recipes make of these."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        rows = load_failure_points(folder)
        if rows is None:
            raise BrittleError(f"{str(folder)!r} holds no failure points; `brittle failure-points` writes them")
        self.rows = rows
        self.summaries = summarize_failure_points(rows)
        self._recipes = {
            drawn_key(recipe, entry): recipe for recipe in searched_recipes(folder) for entry in recipe.entries
        }
        self._ids = decoded_ids(self.folder)
        self._place = {str(sample): i for i, sample in enumerate(self._ids)}
        self._images = decoded_images(self.folder)
        self._changes: dict[tuple[str, str, float], Change | None] = {}

    def recipe(self, summary: FailureSummary) -> Benchmark | None:
        """The recipe that draws a search's corruption; None if it is not in the folder."""
        return self._recipes.get(summary.drawn)

    def image(self, summary: FailureSummary, sample: str, severity: float) -> Image | None:
        """An image at a severity, drawn as it was for the search; None if the folder does not hold what it takes."""
        recipe = self.recipe(summary)
        if recipe is None or self._images is None or sample not in self._place:
            return None
        clean: Image = np.array(self._images[self._place[sample]])
        if severity == 0:
            return clean
        drawn: Image = recipe.apply(clean, summary.corruption, severity, self._ids[self._place[sample]])
        return drawn

    def change(self, summary: FailureSummary, severity: float | None = None) -> Change | None:
        """What a severity does to images of the data, by default that of the 5 % quantile, measured on some of them."""
        severity = summary.severity if severity is None else severity
        where = summary.drawn, summary.corruption, severity
        if where not in self._changes:
            self._changes[where] = self._measure(summary, severity)
        return self._changes[where]

    def _measure(self, summary: FailureSummary, severity: float) -> Change | None:
        recipe = self.recipe(summary)
        if recipe is None or self._images is None or not self._ids:
            return None
        count = min(MEASURED, len(self._ids))
        measured = []
        for place in np.arange(count) * len(self._ids) // count:
            sample = str(self._ids[place])
            clean, seen = self.image(summary, sample, 0), self.image(summary, sample, severity)
            assert clean is not None
            assert seen is not None
            measured.append((min(psnr(clean, seen), 100.0), ssim(clean, seen), contrast_kept(clean, seen)))
        parameters = recipe.entry(summary.corruption).corruption.parameters(
            severity, self._images.shape[1:3], table=recipe.table
        )
        known = [[number for number in column if np.isfinite(number)] for column in zip(*measured, strict=True)]
        means = (float(np.mean(numbers)) if numbers else float("nan") for numbers in known)
        return Change(severity, parameters, *means)
