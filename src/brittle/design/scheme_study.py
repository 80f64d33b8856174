"""Does an augmentation that comes nearer to a corruption help more against it? (Mintun et al. 2021, section 4)"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from brittle.benchmarks import Benchmark
from brittle.datasets.dataset import Dataset
from brittle.distance import (
    CorruptionFeatures,
    Extractor,
    FeatureImages,
    TransformFeatures,
    mmd_to,
    msd_to,
    transform_features,
)
from brittle.evaluation import Results, evaluate
from brittle.evaluation.scores import by_corruption, cells_of
from brittle.metrics.correlation import Correlation, spearman
from brittle.metrics.fraction import Floats
from brittle.models import Model
from brittle.training.augmentation import Scheme

Progress = Callable[[str, int, int], None]
"""Called with (what is done, steps done, steps in all)."""


def scheme_features(
    schemes: Mapping[str, Scheme],
    model: Extractor,
    images: FeatureImages,
    folder: str | Path,
    *,
    samples: int,
    seed: int = 0,
    batch_size: int = 200,
    progress: Progress | None = None,
) -> dict[str, TransformFeatures]:
    """The features of each scheme, as many samples of all, kept in the folder."""
    found = {}
    for place, (name, scheme) in enumerate(schemes.items()):

        def told(done: int, total: int, _speed: float, name: str = name, before: int = place * samples) -> None:
            if progress is not None:
                progress(f"looking at {name}", before + done, len(schemes) * total)

        found[name] = transform_features(
            model, images, scheme, samples=samples, seed=seed, folder=folder, batch_size=batch_size, progress=told
        )
    return found


def run_together(
    models: Mapping[str, Model],
    test: Dataset,
    benchmark: Benchmark,
    folder: str | Path,
    *,
    batch_size: int = 128,
    progress: Progress | None = None,
) -> Results:
    """All models through a benchmark at once, so that every corrupted image is drawn only once."""
    said = None if progress is None else lambda what, done, total: progress(f"testing {what}", done, total)
    return evaluate(list(models.values()), test, benchmark, folder, batch_size=batch_size, progress=said)


def scheme_points(
    features: Mapping[str, TransformFeatures],
    corruptions: CorruptionFeatures,
    results: Results,
    benchmark: Benchmark,
) -> pl.DataFrame:
    """A row for each scheme and corruption: MSD, MMD and error, each a mean over the levels as in the paper."""
    rows = []
    for name, mine in features.items():
        msd = corruptions.over_levels(msd_to(mine, corruptions.means))
        mmd = corruptions.over_levels(mmd_to(mine, corruptions.means))
        right = results.matrix(name, cells_of(benchmark)).values.mean(0)
        errors = 1 - by_corruption(benchmark)(right)
        rows += [(name, *row) for row in zip(corruptions.corruptions, msd, mmd, errors, strict=True)]
    return pl.DataFrame(rows, schema=["scheme", "corruption", "msd", "mmd", "error"], orient="row")


def scheme_correlations(points: pl.DataFrame) -> pl.DataFrame:
    """Spearman's rank correlation of distance and error over schemes, for each corruption, by MSD and by MMD.

    Columns: corruption, schemes, msd, msd_low, msd_high, msd_p, and the same for mmd. They are empty where all schemes
    err alike, or are equally far.
    """
    rows = []
    for (corruption,), mine in points.group_by("corruption", maintain_order=True):
        row: dict[str, Any] = {"corruption": corruption, "schemes": len(mine)}
        for name in ("msd", "mmd"):
            found = _spearman(mine[name].to_numpy(), mine["error"].to_numpy())
            row |= dict.fromkeys((name, f"{name}_low", f"{name}_high", f"{name}_p"))
            if found is not None:
                row |= {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high, f"{name}_p": found.p}
        rows.append(row)
    numbers = [f"{name}{part}" for name in ("msd", "mmd") for part in ("", "_low", "_high", "_p")]
    return pl.DataFrame(
        rows, schema={"corruption": pl.String, "schemes": pl.Int64, **dict.fromkeys(numbers, pl.Float64)}
    )


def _spearman(distance: Floats, error: Floats) -> Correlation | None:
    """None where one side does not vary, and so ranks nothing."""
    flat = len(distance) >= 3 and (np.ptp(distance) == 0 or np.ptp(error) == 0)
    return None if flat else spearman(distance, error)
