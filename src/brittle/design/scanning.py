"""Errors and feature distances of candidate corruptions, level by level."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from brittle._errors import BrittleError
from brittle._types import FloatArray, Progress
from brittle.benchmarks import Benchmark, Entry, ends
from brittle.datasets.dataset import Dataset
from brittle.design.calibration import calibrate, error_target
from brittle.distance import Extractor, FeatureImages, check_extractor
from brittle.distance import feature_images as select_images
from brittle.distance.transforms import corruption_features
from brittle.evaluation import Results, evaluate
from brittle.models import Model


@dataclass(frozen=True, eq=False)
class Scan:
    """One model on one candidate, at ascending severities: its errors, and the distances to the benchmark.

    The distance of a level is the smallest distance of its mean feature to those of the benchmark's cells.
    """

    candidate: str
    severities: tuple[float, ...]
    errors: FloatArray
    distances: FloatArray

    def __post_init__(self) -> None:
        if not len(self.severities) == len(self.errors) == len(self.distances):
            raise BrittleError(
                f"{self.candidate} needs an error and a distance at each severity, got {len(self.severities)}, "
                f"{len(self.errors)} and {len(self.distances)}"
            )


def nearest_distances(features: ArrayLike, baseline: ArrayLike) -> FloatArray:
    """The distance of each mean feature of a candidate's levels to the nearest of a benchmark's cells (step 4)."""
    rows, cells = np.asarray(features, np.float64), np.asarray(baseline, np.float64)
    if rows.ndim != 2 or cells.ndim != 2 or rows.shape[1] != cells.shape[1]:
        raise BrittleError(f"features are levels × dimensions of one model, got shapes {rows.shape} and {cells.shape}")
    return np.asarray(np.linalg.norm(rows[:, None] - cells, axis=-1).min(1))


LEVELS = 10
"""The number of levels at which a candidate is scanned, if its recipe has fewer than five."""

HARM = (0.97, 0.4)
"""Such a candidate is scanned from where a model keeps 97 % of its accuracy to where it keeps 40 %."""


def scan_levels(
    candidates: Benchmark, model: Model, dataset: Dataset, *, progress: Progress | None = None
) -> Benchmark:
    """The candidates with levels to scan: those of the recipe if there are five or more, else ten evenly spaced ones.

    The ten end where the model keeps 40 % of its clean accuracy, or at the largest severity.
    """
    entries = []
    for done, entry in enumerate(candidates.entries):
        if len(entry.levels) >= 5:
            entries.append(entry)
            continue
        if progress is not None:
            progress(f"calibrating {entry.corruption.name}", done, len(candidates.entries))
        calibration = calibrate(entry.id, model, dataset, HARM, benchmark=candidates, tolerance=0.05)
        low, high = min(calibration.severities), max(calibration.severities)
        low = min(low, high / 2)
        levels = [round(low + (high - low) * step / (LEVELS - 1), 2) for step in range(LEVELS)]
        entries.append(replace(entry, levels=tuple(dict.fromkeys(levels))))
    return replace(candidates, entries=tuple(entries))


class Scanned(NamedTuple):
    """The scans of each run, the target error and spread, and the candidates with the scanned levels."""

    runs: list[list[Scan]]
    target_error: float
    spread: float
    candidates: Benchmark


def repeated_images(
    models: Sequence[Model],
    training: Dataset,
    *,
    feature_models: Sequence[Model] = (),
    feature_images: int = 100,
    repeats: int | None = None,
    seed: int = 0,
) -> list[FeatureImages]:
    """The images of each run, another seed each; models take turns, so there is at least one run for each of them.

    `feature_models` are the networks that give features, if those are others, see `scan_runs`. Raises a BrittleError if
    one gives no features, if two models have the same name, or if the numbers of both do not fit.
    """
    if feature_models and len(feature_models) != len(models):
        raise BrittleError(
            f"a run has one network for errors and one for features, got {len(models)} models and "
            f"{len(feature_models)} feature models; give as many of both"
        )
    count = len(models) if repeats is None else repeats
    if count < len(models):
        raise BrittleError(
            f"`repeats={repeats}` leaves out some of {len(models)} models; give at least one run a model"
        )
    names = [model.name for model in models]
    for name in names:
        if names.count(name) > 1:
            raise BrittleError(f"two models are called {name!r}, and errors are kept by names; rename one of the files")
    images = [select_images(training, feature_images, seed=seed + run) for run in range(count)]
    for model in feature_models or models:
        check_extractor(model).features(images[0].pixels[:1])
    return images


def scan_runs(
    models: Sequence[Model],
    test: Dataset,
    images: Sequence[FeatureImages],
    candidates: Benchmark,
    baseline: Benchmark,
    folder: str | Path,
    *,
    corruption_samples: int,
    feature_models: Sequence[Model] = (),
    draw_per_image: bool = False,
    batch_size: int = 128,
    progress: Progress | None = None,
) -> Scanned:
    """One run for each set of feature images, each with another seed, with the models in turn.

    In the paper a run has two networks of the same training: the model gives the errors, and the one at its place among
    `feature_models` the features. Without these a model gives both. The errors of a model are measured once for all its
    runs; the target error and the spread are means over the models. `draw_per_image` is that of `corruption_features`.
    Errors are written to `folder`/run, features to `folder`/features; existing ones are reused.
    """
    features = [check_extractor(model) for model in feature_models or models]
    levelled = scan_levels(candidates, models[0], test, progress=progress)
    options: dict[str, Any] = {"batch_size": batch_size, "progress": progress}
    measured = [scan_errors(model, test, levelled, baseline, Path(folder) / "run", **options) for model in models]
    runs = []
    for run, run_images in enumerate(images):
        i = run % len(models)
        recipes = [replace(recipe, seed=recipe.seed + run) for recipe in (levelled, baseline)]
        feature_options = {"samples": corruption_samples, "folder": Path(folder) / "features", **options}
        feature_options |= {"draw_per_image": draw_per_image}
        results, name = measured[i][0], models[i].name
        runs.append(scan_candidates(features[i], run_images, results, name, *recipes, **feature_options))
    target, spread = (float(np.mean([row[column] for row in measured])) for column in (1, 2))
    return Scanned(runs, target, spread, levelled)


def scan_errors(
    model: Model,
    dataset: Dataset,
    candidates: Benchmark,
    baseline: Benchmark,
    folder: str | Path,
    *,
    batch_size: int = 128,
    progress: Progress | None = None,
) -> tuple[Results, float, float]:
    """The results of a model on the candidates and the baseline, and the mean error and spread on the baseline."""
    scanned = replace(candidates, name=f"{candidates.name}-scan", version=1)
    recipes = {"the benchmark": baseline, "candidates": scanned}
    results: Results | None = None
    for title, recipe in recipes.items():
        on_progress = None if progress is None else _on_test(progress, title)
        results = evaluate(model, dataset, recipe, folder, batch_size=batch_size, progress=on_progress)
    assert results is not None
    target, spread = error_target(results, baseline, model.name)
    return results, target, spread


def scan_candidates(
    extractor: Extractor,
    images: FeatureImages,
    results: Results,
    model: str,
    candidates: Benchmark,
    baseline: Benchmark,
    *,
    samples: int,
    draw_per_image: bool = False,
    folder: str | Path,
    batch_size: int = 200,
    progress: Progress | None = None,
) -> list[Scan]:
    """One run: the error of every level of every candidate, and its distance to the nearest cell of the baseline."""

    def on_progress(title: str) -> Callable[[int, int, float], None] | None:
        return None if progress is None else lambda done, total, _speed: progress(f"features of {title}", done, total)

    options: dict[str, Any] = {"samples": samples, "folder": folder, "batch_size": batch_size}
    options |= {"draw_per_image": draw_per_image}
    baseline_features = corruption_features(
        extractor, images, baseline, progress=on_progress("the benchmark"), **options
    )
    features = corruption_features(extractor, images, candidates, progress=on_progress("candidates"), **options)
    errors = 1 - results.matrix(model, candidates.cells()).values.mean(0)
    scans, start = [], 0
    for entry in candidates.entries:
        part = slice(start, start + len(entry.levels))
        start = part.stop
        order = np.argsort(_severities(entry))
        scans.append(
            Scan(
                entry.id,
                tuple(float(x) for x in _severities(entry)[order]),
                errors[part][order],
                nearest_distances(features.means[part], baseline_features.means)[order],
            )
        )
    return scans


def _severities(entry: Entry) -> np.ndarray:
    if any(isinstance(level, tuple) for level in entry.levels):
        raise BrittleError(f"{entry.id} has a range of severities; candidates are scanned at single severities")
    return np.array([ends(level)[0] for level in entry.levels])


def _on_test(progress: Progress, title: str) -> Progress:
    return lambda _cell, done, total: progress(f"testing {title}", done, total)
