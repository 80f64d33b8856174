"""What one model sees of a candidate corruption, level by level."""

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
from brittle.distance.features import Extractor, FeatureImages, check_extractor
from brittle.distance.transforms import corruption_features
from brittle.evaluation import Results, evaluate
from brittle.models import Model


@dataclass(frozen=True, eq=False)
class Scan:
    """What one model saw of a candidate, at growing severities: its error, and how far it is from the benchmark.

    The distance of a level is the smallest one from its mean feature to those of the benchmark's cells.
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
    """From each mean feature of a candidate's levels to the nearest of a benchmark's cells (step 4)."""
    mine, theirs = np.asarray(features, np.float64), np.asarray(baseline, np.float64)
    if mine.ndim != 2 or theirs.ndim != 2 or mine.shape[1] != theirs.shape[1]:
        raise BrittleError(f"features are levels × dimensions of one model, got shapes {mine.shape} and {theirs.shape}")
    return np.asarray(np.linalg.norm(mine[:, None] - theirs, axis=-1).min(1))


LEVELS = 10
"""How many levels a candidate is scanned at, if its recipe does not say."""

HARM = (0.97, 0.4)
"""A candidate without levels is scanned from where a model keeps 97 % of its accuracy to where it keeps 40 %."""


def scan_levels(
    candidates: Benchmark, model: Model, dataset: Dataset, *, progress: Progress | None = None
) -> Benchmark:
    """The candidates with levels to scan: their own if there are five or more, else ten even ones.

    The ten end where the model keeps 40 % of its clean accuracy, or at the largest severity.
    """
    entries = []
    for place, entry in enumerate(candidates.entries):
        if len(entry.levels) >= 5:
            entries.append(entry)
            continue
        if progress is not None:
            progress(f"calibrating {entry.corruption.name}", place, len(candidates.entries))
        found = calibrate(entry.id, model, dataset, HARM, benchmark=candidates, tolerance=0.05)
        low, high = min(found.severities), max(found.severities)
        low = min(low, high / 2)
        levels = [round(low + (high - low) * step / (LEVELS - 1), 2) for step in range(LEVELS)]
        entries.append(replace(entry, levels=tuple(dict.fromkeys(levels))))
    return replace(candidates, entries=tuple(entries))


class Scanned(NamedTuple):
    """The scans of each run, the error and spread to meet, and the candidates with the levels they were scanned at."""

    runs: list[list[Scan]]
    target_error: float
    spread: float
    candidates: Benchmark


def scan_runs(
    models: Sequence[Model],
    test: Dataset,
    images: Sequence[FeatureImages],
    candidates: Benchmark,
    baseline: Benchmark,
    folder: str | Path,
    *,
    samples: int,
    batch_size: int = 128,
    progress: Progress | None = None,
) -> Scanned:
    """A run for each set of feature images, with other draws, by the models in turn.

    A model's errors are measured once, whatever the number of its runs; the target error and the spread are means over
    the models. Errors land in `folder`/run and features in `folder`/features, and what is there is not computed again.
    """
    extractors = [check_extractor(model) for model in models]
    levelled = scan_levels(candidates, models[0], test, progress=progress)
    how: dict[str, Any] = {"batch_size": batch_size, "progress": progress}
    measured = [scan_errors(model, test, levelled, baseline, Path(folder) / "run", **how) for model in models]
    runs = []
    for run, shown in enumerate(images):
        mine = run % len(models)
        drawn = [replace(recipe, seed=recipe.seed + run) for recipe in (levelled, baseline)]
        where = {"samples": samples, "folder": Path(folder) / "features", **how}
        runs.append(scan_candidates(extractors[mine], shown, measured[mine][0], models[mine].name, *drawn, **where))
    target, spread = (float(np.mean([one[i] for one in measured])) for i in (1, 2))
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
    """The results of a model on all candidates and on the baseline, whose mean error and spread are the target."""
    scanned = replace(candidates, name=f"{candidates.name}-scan", version=1)
    recipes = {"the benchmark": baseline, "candidates": scanned}
    results: Results | None = None
    for what, recipe in recipes.items():
        said = None if progress is None else _testing(progress, what)
        results = evaluate(model, dataset, recipe, folder, batch_size=batch_size, progress=said)
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
    folder: str | Path,
    batch_size: int = 200,
    progress: Progress | None = None,
) -> list[Scan]:
    """One run: the error of every level of every candidate, and its distance to the nearest cell of the baseline."""

    def said(what: str) -> Callable[[int, int, float], None] | None:
        return None if progress is None else lambda done, total, _speed: progress(f"looking at {what}", done, total)

    how = {"samples": samples, "folder": folder, "batch_size": batch_size}
    theirs = corruption_features(extractor, images, baseline, progress=said("the benchmark"), **how)  # type: ignore[arg-type]
    mine = corruption_features(extractor, images, candidates, progress=said("candidates"), **how)  # type: ignore[arg-type]
    wrong = 1 - results.matrix(model, candidates.cells()).values.mean(0)
    scans, start = [], 0
    for entry in candidates.entries:
        part = slice(start, start + len(entry.levels))
        start = part.stop
        order = np.argsort(_severities(entry))
        scans.append(
            Scan(
                entry.id,
                tuple(float(x) for x in _severities(entry)[order]),
                wrong[part][order],
                nearest_distances(mine.means[part], theirs.means)[order],
            )
        )
    return scans


def _severities(entry: Entry) -> np.ndarray:
    if any(isinstance(level, tuple) for level in entry.levels):
        raise BrittleError(f"{entry.id} has a range of severities; candidates are scanned at single ones")
    return np.array([ends(level)[0] for level in entry.levels])


def _testing(progress: Progress, what: str) -> Progress:
    return lambda _cell, done, total: progress(f"testing {what}", done, total)
