"""What one model sees of a candidate corruption, level by level."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from brittle.metrics.fraction import Floats


@dataclass(frozen=True, eq=False)
class Scan:
    """What one model saw of a candidate, at growing severities: its error, and how far it is from the benchmark.

    The distance of a level is the smallest one from its mean feature to those of the benchmark's cells.
    """

    candidate: str
    severities: tuple[float, ...]
    errors: Floats
    distances: Floats

    def __post_init__(self) -> None:
        if not len(self.severities) == len(self.errors) == len(self.distances):
            raise ValueError(
                f"{self.candidate} needs an error and a distance at each severity, got {len(self.severities)}, "
                f"{len(self.errors)} and {len(self.distances)}"
            )


def nearest_distances(features: ArrayLike, baseline: ArrayLike) -> Floats:
    """From each mean feature of a candidate's levels to the nearest of a benchmark's cells (step 4)."""
    mine, theirs = np.asarray(features, np.float64), np.asarray(baseline, np.float64)
    if mine.ndim != 2 or theirs.ndim != 2 or mine.shape[1] != theirs.shape[1]:
        raise ValueError(f"features are levels × dimensions of one model, got shapes {mine.shape} and {theirs.shape}")
    return np.asarray(np.linalg.norm(mine[:, None] - theirs, axis=-1).min(1))
