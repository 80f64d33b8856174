"""The transform features of a benchmark: every cell, seen through many sampled corruptions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Image
from brittle.benchmarks import Benchmark
from brittle.distance.extractor import Extractor, Features
from brittle.distance.feature_images import FeatureImages
from brittle.distance.transform_features import BATCH, Progress, fill, store_of
from brittle.evaluation.cell import Cell, plan
from brittle.metrics.fraction import Floats
from brittle.training.augmentation.fixed import Transform


@dataclass(frozen=True, eq=False)
class CorruptionFeatures:
    """f(c) of sampled corruptions: cells × samples × dimensions, for the (corruption, severity) in `cells`."""

    cells: tuple[tuple[str, float], ...]
    values: Features

    def __post_init__(self) -> None:
        if self.values.ndim != 3 or len(self.values) != len(self.cells) or not self.values.size:
            raise ValueError(
                f"{len(self.cells)} cells need features cells × samples × dimensions, got shape {self.values.shape}"
            )
        if not np.isfinite(self.values).all():
            raise ValueError("features of corruptions must be finite numbers, and some are not; look at the model")

    @cached_property
    def means(self) -> Floats:
        """The mean feature of each cell, cells × dimensions: what MSD and MMD measure the distance to."""
        return np.asarray(self.values.mean(1, dtype=np.float64))

    @property
    def corruptions(self) -> list[str]:
        """The corruptions, each once, in the order of the benchmark."""
        return list(dict.fromkeys(corruption for corruption, _ in self.cells))

    def over_levels(self, values: NDArray[Any]) -> NDArray[Any]:
        """From values on the cells, on the last axis, to their means over the levels of each corruption."""
        names = np.array([corruption for corruption, _ in self.cells])
        return np.stack([values[..., names == name].mean(-1) for name in self.corruptions], -1)


def corruption_features(
    model: Extractor,
    images: FeatureImages,
    benchmark: Benchmark,
    *,
    samples: int = 100,
    folder: str | Path | None = None,
    batch_size: int = BATCH,
    threads: int | None = None,
    progress: Progress | None = None,
) -> CorruptionFeatures:
    """The features of every cell of a benchmark, from `samples` sampled corruptions of each (the paper takes 100).

    A sampled corruption is one fixed transform: all images get the same sample id, so the same flakes and the same
    noise. Each cell is kept in `folder` by itself, so benchmarks that share a cell share its features. `progress`
    counts the transforms of all cells.
    """
    cells = plan(benchmark)[1:]
    total, found = samples * len(cells), []
    for i, cell in enumerate(cells):

        def told(done: int, _all: int, speed: float, before: int = i * samples) -> None:
            if progress is not None:
                progress(before + done, total, speed)

        identity = {"corruption": cell.corruption, "level": cell.level, "recipe": cell.key}
        rows = fill(
            store_of(model, images, identity, folder),
            model,
            images,
            lambda sample, cell=cell: _sampled(benchmark, cell, sample),  # type: ignore[misc]
            what=cell.title,
            samples=samples,
            batch_size=batch_size,
            threads=threads,
            progress=told,
        )
        found.append(np.asarray(rows))
    return CorruptionFeatures(tuple((cell.corruption, cell.severity) for cell in cells), np.stack(found))


def _sampled(benchmark: Benchmark, cell: Cell, sample: int) -> Transform:
    """One sampled corruption, for any number of images."""

    def transform(images: Image) -> Image:
        corrupted: Image = benchmark.apply(images, cell.corruption, cell.level, [sample] * len(images))
        return corrupted

    return transform
