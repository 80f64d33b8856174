"""As many sampled augmentations as it takes to know an MSD well enough."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from brittle.distance.corruption_features import CorruptionFeatures
from brittle.distance.distances import Distances, distances
from brittle.distance.extractor import Extractor
from brittle.distance.feature_images import FeatureImages
from brittle.distance.feature_store import TransformFeatures
from brittle.distance.transform_features import BATCH, fill, scheme_store
from brittle.training.augmentation.fixed import Scheme, fixed

FEWEST = 200
"""What is looked at before the first question whether it is enough."""


class Looked(NamedTuple):
    """The distances of a scheme, and how many of its augmentations were new, and how fast they were looked at."""

    distances: Distances
    computed: int
    images_per_second: float


def distances_until(
    model: Extractor,
    images: FeatureImages,
    schemes: Mapping[str, Scheme],
    corruptions: CorruptionFeatures,
    *,
    samples: int,
    tolerance: float | None = None,
    seed: int = 0,
    folder: str | Path | None = None,
    batch_size: int = BATCH,
    threads: int | None = None,
    progress: Callable[[str, int, int, float], None] | None = None,
) -> dict[str, Looked]:
    """MSD and MMD of schemes by their names, from `samples` augmentations of each, or from fewer if these are enough.

    With a tolerance, the number of augmentations is doubled from 200 on until, for every scheme, half the interval of
    the mean MSD over all corruptions is at most that share of it. It is the same for all of them, because MSD falls
    with it. `progress` is called with (scheme, transforms done, `samples`, images per second); the other options are
    those of `transform_features`.
    """
    check_tolerance(tolerance)
    if not schemes:
        raise ValueError("give at least one augmentation whose distances are measured, got none")
    stores = {name: scheme_store(model, images, scheme, seed, folder) for name, scheme in schemes.items()}
    parts: dict[str, list[TransformFeatures]] = {name: [] for name in schemes}
    count = samples if tolerance is None else min(FEWEST, samples)
    while True:
        found = {}
        for name, scheme in schemes.items():

            def told(done: int, _count: int, speed: float, name: str = name) -> None:
                if progress is not None:
                    progress(name, done, samples, speed)

            rows = fill(
                stores[name],
                model,
                images,
                lambda i, scheme=scheme: fixed(scheme, seed, i),  # type: ignore[misc]
                what=repr(scheme),
                samples=count,
                batch_size=batch_size,
                threads=threads,
                progress=told,
            )
            parts[name].append(rows)
            found[name] = distances(rows, corruptions, augmentation=name, seed=seed)
        if count >= samples or (tolerance is not None and max(map(relative_width, found.values())) <= tolerance):
            return {name: Looked(one, *_speed(parts[name])) for name, one in found.items()}
        count = min(2 * count, samples)


def check_tolerance(tolerance: float | None) -> None:
    """Raise unless it is None or a share."""
    if tolerance is not None and not 0 < tolerance < 1:
        raise ValueError(f"tolerance is a share of the MSD between 0 and 1, such as 0.05; got {tolerance}")


def relative_width(found: Distances) -> float:
    """Half the interval of the mean MSD over all corruptions, as a share of it; 0 for an MSD of 0."""
    row = found.mean().row(0, named=True)
    half = (row["msd_high"] - row["msd_low"]) / 2
    return float(half / row["msd"]) if row["msd"] else 0.0


def _speed(parts: list[TransformFeatures]) -> tuple[int, float]:
    """How many were new in all calls together, and their images per second."""
    new = [part for part in parts if part.computed]
    computed = sum(part.computed for part in new)
    return computed, computed / sum(part.computed / part.images_per_second for part in new) if new else 0.0
