"""As many sampled augmentations as it takes to know an MSD well enough."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from brittle.distance.corruption_features import CorruptionFeatures
from brittle.distance.distances import Distances, distances
from brittle.distance.extractor import Extractor
from brittle.distance.feature_images import FeatureImages
from brittle.distance.feature_store import TransformFeatures
from brittle.distance.transform_features import transform_features
from brittle.training.augmentation.fixed import Scheme

FEWEST = 200
"""What is looked at before the first question whether it is enough."""


def distances_until(
    model: Extractor,
    images: FeatureImages,
    scheme: Scheme,
    corruptions: CorruptionFeatures,
    *,
    samples: int,
    tolerance: float | None = None,
    augmentation: str = "augmentation",
    seed: int = 0,
    folder: str | Path | None = None,
    progress: Callable[[int, int, float], None] | None = None,
    **options: Any,
) -> tuple[Distances, TransformFeatures]:
    """MSD and MMD of a scheme from `samples` augmentations, or from fewer if these are enough.

    With a tolerance, the number of augmentations is doubled from 200 on until half the interval of the mean MSD over
    all corruptions is at most that share of it. `options` are those of `transform_features`.
    """
    if tolerance is not None and not 0 < tolerance < 1:
        raise ValueError(f"tolerance is a share of the MSD between 0 and 1, such as 0.05; got {tolerance}")
    count = samples if tolerance is None else min(FEWEST, samples)
    computed, seconds = 0, 0.0
    while True:

        def told(done: int, _all: int, speed: float) -> None:
            if progress is not None:
                progress(done, samples, speed)

        rows = transform_features(
            model, images, scheme, samples=count, seed=seed, folder=folder, progress=told, **options
        )
        if rows.computed:
            computed += rows.computed
            seconds += rows.computed * len(images) / rows.images_per_second
        found = distances(rows, corruptions, augmentation=augmentation, seed=seed)
        if count >= samples or (tolerance is not None and relative_width(found) <= tolerance):
            speed = computed * len(images) / seconds if computed else 0.0
            return found, TransformFeatures(rows.store, count, computed, speed)
        count = min(2 * count, samples)


def relative_width(found: Distances) -> float:
    """Half the interval of the mean MSD over all corruptions, as a share of it; 0 for an MSD of 0."""
    row = found.mean().row(0, named=True)
    half = (row["msd_high"] - row["msd_low"]) / 2
    return float(half / row["msd"]) if row["msd"] else 0.0
