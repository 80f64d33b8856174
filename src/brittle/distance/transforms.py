"""Features of a transform: the mean over images."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle._errors import BrittleError
from brittle._parallel import cores, prefetch
from brittle._types import FloatArray, Image, check_seed
from brittle.benchmarks import Benchmark, Cell
from brittle.distance.features import (
    BLOCK,
    Extractor,
    FeatureImages,
    Features,
    FeatureStore,
    TransformFeatures,
    check_extractor,
    features_of,
)
from brittle.training.augmentation import Scheme, Transform, fixed

Progress = Callable[[int, int, float], None]
"""Called with (transforms done, transforms in all, images per second) after each batch."""

BATCH = 200


def transform_features(
    model: Extractor,
    images: FeatureImages,
    scheme: Scheme,
    *,
    samples: int,
    seed: int = 0,
    folder: str | Path | None = None,
    batch_size: int = BATCH,
    threads: int | None = None,
    progress: Progress | None = None,
) -> TransformFeatures:
    """The features of the first `samples` transforms of an augmentation scheme.

    Transform i is one set of random numbers, applied unchanged to all images. Models take 8-bit images, so what a
    scheme gives as floats is rounded. Batch size and threads change at most the last bits.

    Args:
        model: the extractor, usually one trained with flips and crops alone.
        images: what the transforms are applied to; the same for everything that is to be compared.
        scheme: an augmentation; its repr must name all its settings if there is a folder.
        samples: how many transforms. With a folder, 100,000 take no more memory than 200.
        seed: of the scheme's draws.
        folder: where features are kept; without one they stay in memory. What is there already is not computed again,
            so an ended run, however suddenly it ended, goes on, and more samples add to those there are.
        batch_size: images shown to the model at once, of one transform or of several.
        threads: that augment while the model works; by default one for each processor.
        progress: called after each batch.
    """
    return fill(
        scheme_store(model, images, scheme, seed, folder),
        model,
        images,
        lambda i: fixed(scheme, seed, i),
        what=repr(scheme),
        samples=samples,
        batch_size=batch_size,
        threads=threads,
        progress=progress,
    )


def scheme_store(
    model: Extractor, images: FeatureImages, scheme: Scheme, seed: int, folder: str | Path | None
) -> FeatureStore:
    """Where the features of a scheme are kept."""
    return store_of(model, images, {"scheme": scheme, "seed": check_seed(seed)}, folder)


def store_of(
    model: Extractor, images: FeatureImages, identity: Mapping[str, Any], folder: str | Path | None
) -> FeatureStore:
    """Where the features of some transforms are kept; `identity` says in plain data what the transforms are."""
    about = {"model": check_extractor(model).key, "images": images.key, "image ids": [str(i) for i in images.ids]}
    return FeatureStore(folder, {**about, **identity})


def fill(
    store: FeatureStore,
    model: Extractor,
    images: FeatureImages,
    transform: Callable[[int], Transform],
    *,
    what: str,
    samples: int,
    batch_size: int = BATCH,
    threads: int | None = None,
    progress: Progress | None = None,
) -> TransformFeatures:
    """Compute what a store lacks of transforms 0 … samples−1; `what` names them where they go wrong."""
    for name, value in (("samples", samples), ("batch_size", batch_size), ("threads", threads)):
        if value is not None and value < 1:
            raise BrittleError(f"{name} must be at least 1, got {value}")
    tasks = _missing(store, samples, max(1, batch_size // len(images)))
    kept = samples - sum(map(len, tasks))
    clean: FloatArray = np.zeros(0)
    start, done = time.perf_counter(), 0

    def work(task: int) -> Image:
        return np.concatenate([_eight_bit(np.asarray(transform(i)(images.pixels)), what) for i in tasks[task]])

    pending: list[Features] = []
    for task, shown in zip(tasks, prefetch(work, range(len(tasks)), threads or cores()), strict=True):
        if not clean.size:
            clean = features_of(model, images.pixels, batch_size).mean(0, dtype=np.float64)
            start = time.perf_counter()
        seen = features_of(model, shown, batch_size).reshape(len(task), len(images), -1)
        pending.append((seen.mean(1, dtype=np.float64) - clean).astype(np.float32))
        done += len(task)
        stop = task[-1] + 1
        if stop % BLOCK == 0 or stop == samples:
            store.extend(task[0] // BLOCK, np.concatenate(pending), stop)
            pending = []
        if progress is not None:
            progress(kept + done, samples, done * len(images) / (time.perf_counter() - start))
    seconds = time.perf_counter() - start
    return TransformFeatures(store, samples, done, done * len(images) / seconds if done else 0.0)


def _missing(store: FeatureStore, samples: int, together: int) -> list[list[int]]:
    """Which transforms are missing, in groups that stay within a block."""
    tasks: list[list[int]] = []
    for number, start in enumerate(range(0, samples, BLOCK)):
        block = store.read(number)
        missing = list(range(start + (0 if block is None else len(block)), min(start + BLOCK, samples)))
        tasks += [missing[i : i + together] for i in range(0, len(missing), together)]
    return tasks


def _eight_bit(changed: NDArray[Any], what: str) -> Image:
    """Transformed images as a model takes them."""
    if changed.dtype == np.uint8:
        return changed
    if not np.isfinite(changed).all():
        raise BrittleError(f"{what} gave values that are not numbers; it must give 0 to 255")
    return np.asarray(np.clip(np.rint(changed), 0, 255), np.uint8)


@dataclass(frozen=True, eq=False)
class CorruptionFeatures:
    """f(c) of sampled corruptions: cells × samples × dimensions, for each of the `cells`."""

    cells: tuple[Cell, ...]
    values: Features

    def __post_init__(self) -> None:
        if self.values.ndim != 3 or len(self.values) != len(self.cells) or not self.values.size:
            raise BrittleError(
                f"{len(self.cells)} cells need features cells × samples × dimensions, got shape {self.values.shape}"
            )
        if not np.isfinite(self.values).all():
            raise BrittleError("features of corruptions must be finite numbers, and some are not; look at the model")

    @cached_property
    def means(self) -> FloatArray:
        """The mean feature of each cell, cells × dimensions: what MSD and MMD measure the distance to."""
        return np.asarray(self.values.mean(1, dtype=np.float64))

    @property
    def corruptions(self) -> list[str]:
        """The corruptions, each once, in the order of the benchmark."""
        return list(dict.fromkeys(cell.corruption for cell in self.cells))

    def over_levels(self, values: NDArray[Any]) -> NDArray[Any]:
        """From values on the cells, on the last axis, to their means over the levels of each corruption."""
        names = np.array([cell.corruption for cell in self.cells])
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
    cells = benchmark.cells()
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
    return CorruptionFeatures(tuple(cells), np.stack(found))


def _sampled(benchmark: Benchmark, cell: Cell, sample: int) -> Transform:
    """One sampled corruption, for any number of images."""

    def transform(images: Image) -> Image:
        corrupted: Image = benchmark.apply(images, cell.corruption, cell.level, [sample] * len(images))
        return corrupted

    return transform
