"""Distances and leak checks of augmentations to a benchmark, from the images to the result in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from brittle._errors import BrittleError
from brittle._types import check_counts
from brittle.benchmarks import Benchmark
from brittle.distance.features import Extractor, FeatureImages, TransformFeatures
from brittle.distance.leakage import NEUTRAL, LeakCheck, check_leak_options, leak_check
from brittle.distance.measures import SchemeDistances, check_tolerance, distances_until
from brittle.distance.transforms import corruption_features, transform_features
from brittle.training.augmentation import Scheme

DistanceProgress = Callable[[str, int, int, float], None]
"""Called with (scheme or `corruptions`, transforms done, in total, images per second)."""


def measure_distances(
    model: Extractor,
    images: FeatureImages,
    augmentations: Mapping[str, Scheme],
    benchmark: Benchmark,
    *,
    samples: int = 1000,
    corruption_samples: int = 25,
    msd_precision: float | None = None,
    seed: int = 0,
    folder: str | Path | None = None,
    batch_size: int = 200,
    progress: DistanceProgress | None = None,
) -> dict[str, SchemeDistances]:
    """MSD and MMD of augmentations to each corruption of a benchmark, by the names of the augmentations.

    Args:
        model: gives the features, see `check_extractor`.
        images: see `feature_images`.
        augmentations: schemes by their names, see `schemes_by_name`.
        benchmark: the corruptions and their levels.
        samples: sampled augmentations of each scheme.
        corruption_samples: sampled corruptions of each level.
        msd_precision: stop sampling when each mean MSD is known to ± this share.
        seed: of the sampled augmentations.
        folder: for the features, which are reused by later calls.
        batch_size: images that the model sees at once.
        progress: see `DistanceProgress`.
    """
    check_counts(samples=samples, corruption_samples=corruption_samples, batch_size=batch_size)
    check_tolerance(msd_precision)
    options: dict[str, Any] = {"folder": folder, "batch_size": batch_size}
    corruptions = corruption_features(
        model, images, benchmark, samples=corruption_samples, progress=_part(progress, "corruptions"), **options
    )
    return distances_until(
        model,
        images,
        augmentations,
        corruptions,
        samples=samples,
        tolerance=msd_precision,
        seed=seed,
        progress=progress,
        **options,
    )


@dataclass(frozen=True)
class MeasuredLeak:
    """A leak check, and the features of the augmentation and of each reference augmentation."""

    check: LeakCheck
    features: Mapping[str, TransformFeatures]


def measure_leak(
    model: Extractor,
    images: FeatureImages,
    augmentation: Mapping[str, Scheme],
    benchmark: Benchmark,
    *,
    neutral: Mapping[str, Scheme] | None = None,
    margin: float = 0.5,
    alpha: float = 0.05,
    samples: int = 1000,
    corruption_samples: int = 25,
    seed: int = 0,
    folder: str | Path | None = None,
    batch_size: int = 200,
    progress: DistanceProgress | None = None,
) -> MeasuredLeak:
    """Which corruptions of a benchmark an augmentation anticipates, against reference augmentations.

    Args:
        augmentation: one scheme by its name.
        neutral: reference augmentations by their names; by default flips and crops, and small affine maps.
        margin: a corruption is leaked if the nearest augmentation is not this many times as far as the nearest
            reference augmentation.
        alpha: family-wise false-positive rate of the test.

    The other arguments are those of `measure_distances`.
    """
    check_counts(samples=samples, corruption_samples=corruption_samples, batch_size=batch_size)
    check_leak_options(samples, margin=margin, alpha=alpha)
    if len(augmentation) != 1:
        raise BrittleError(f"the leak check takes one augmentation at a time, got {', '.join(augmentation) or 'none'}")
    [name], references = augmentation, dict(NEUTRAL) if neutral is None else dict(neutral)
    if name in references:
        raise BrittleError(f"{name!r} is itself a neutral augmentation; compare it with others by `neutral`")
    options: dict[str, Any] = {"folder": folder, "batch_size": batch_size}
    corruptions = corruption_features(
        model, images, benchmark, samples=corruption_samples, progress=_part(progress, "corruptions"), **options
    )
    features = {
        title: transform_features(
            model, images, scheme, samples=samples, seed=seed, progress=_part(progress, title), **options
        )
        for title, scheme in {**augmentation, **references}.items()
    }
    check = leak_check(
        features[name], {title: features[title] for title in references}, corruptions, margin=margin, alpha=alpha
    )
    return MeasuredLeak(check, features)


def _part(progress: DistanceProgress | None, title: str) -> Callable[[int, int, float], None] | None:
    return None if progress is None else partial(progress, title)
