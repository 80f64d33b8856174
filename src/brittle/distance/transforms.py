"""Features of transforms: mean feature changes over images, for schemes and corruptions."""

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
"""Called with (transforms done, transforms in total, images per second) after each batch."""

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

    Transform i is one set of random numbers, applied unchanged to all images. Models take 8-bit images, so
    floats from a scheme are rounded. Batch size and threads change at most the last bits.

    Args:
        model: the extractor, usually one trained with flips and crops alone.
        images: the images to transform; use the same for all distances to be compared.
        scheme: an augmentation; with a folder it must be a dataclass or have a `to_dict()` of its settings.
        samples: the number of transforms. With a folder, 100,000 take no more memory than 200.
        seed: the seed of the scheme's draws.
        folder: where features are stored; by default in memory. Stored features are reused, so an interrupted run
            resumes, and more samples add to the existing ones.
        batch_size: images per model call, of one transform or of several.
        threads: worker threads that augment images (prefetch); by default one per core.
        progress: called after each batch.
    """
    return fill(
        scheme_store(model, images, scheme, seed, folder),
        model,
        images,
        lambda i: fixed(scheme, seed, i),
        title=repr(scheme),
        samples=samples,
        batch_size=batch_size,
        threads=threads,
        progress=progress,
    )


def scheme_store(
    model: Extractor, images: FeatureImages, scheme: Scheme, seed: int, folder: str | Path | None
) -> FeatureStore:
    """The store of the features of a scheme."""
    return store_of(model, images, {"scheme": scheme, "seed": check_seed(seed)}, folder)


def store_of(
    model: Extractor, images: FeatureImages, identity: Mapping[str, Any], folder: str | Path | None
) -> FeatureStore:
    """The store of the features of transforms; `identity` describes the transforms in plain data."""
    about = {"model": check_extractor(model).key, "images": images.key, "image ids": [str(i) for i in images.ids]}
    return FeatureStore(folder, {**about, **identity})


def fill(
    store: FeatureStore,
    model: Extractor,
    images: FeatureImages,
    transform: Callable[[int], Transform],
    *,
    title: str,
    samples: int,
    batch_size: int = BATCH,
    threads: int | None = None,
    progress: Progress | None = None,
) -> TransformFeatures:
    """Compute the missing ones of transforms 0 … samples−1 of a store; `title` names the transform in errors."""
    for name, value in (("samples", samples), ("batch_size", batch_size), ("threads", threads)):
        if value is not None and value < 1:
            raise BrittleError(f"{name} must be at least 1, got {value}")
    tasks = _missing(store, samples, max(1, batch_size // len(images)))
    existing = samples - sum(map(len, tasks))
    clean: FloatArray = np.zeros(0)
    started, done = time.perf_counter(), 0

    def transform_task(task: int) -> Image:
        return np.concatenate([_eight_bit(np.asarray(transform(i)(images.pixels)), title) for i in tasks[task]])

    pending: list[Features] = []
    for task, transformed in zip(tasks, prefetch(transform_task, range(len(tasks)), threads or cores()), strict=True):
        if not clean.size:
            clean = features_of(model, images.pixels, batch_size).mean(0, dtype=np.float64)
            started = time.perf_counter()
        features = features_of(model, transformed, batch_size).reshape(len(task), len(images), -1)
        pending.append((features.mean(1, dtype=np.float64) - clean).astype(np.float32))
        done += len(task)
        stop = task[-1] + 1
        if stop % BLOCK == 0 or stop == samples:
            store.extend(task[0] // BLOCK, np.concatenate(pending), stop)
            pending = []
        if progress is not None:
            progress(existing + done, samples, done * len(images) / (time.perf_counter() - started))
    seconds = time.perf_counter() - started
    return TransformFeatures(store, samples, done, done * len(images) / seconds if done else 0.0)


def _missing(store: FeatureStore, samples: int, group_size: int) -> list[list[int]]:
    """The missing transforms, in groups that do not cross blocks."""
    tasks: list[list[int]] = []
    for number, start in enumerate(range(0, samples, BLOCK)):
        block = store.read(number)
        missing = list(range(start + (0 if block is None else len(block)), min(start + BLOCK, samples)))
        tasks += [missing[i : i + group_size] for i in range(0, len(missing), group_size)]
    return tasks


def _eight_bit(transformed: NDArray[Any], title: str) -> Image:
    """Transformed images as uint8."""
    if transformed.dtype == np.uint8:
        return transformed
    if not np.isfinite(transformed).all():
        raise BrittleError(f"{title} gave values that are not numbers; it must give 0 to 255")
    return np.asarray(np.clip(np.rint(transformed), 0, 255), np.uint8)


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
            wrong = int((~np.isfinite(self.values)).sum())
            raise BrittleError(
                f"features of corruptions must be finite numbers, and {wrong} of {self.values.size} are not; check the "
                "model"
            )

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
    draw_per_image: bool = False,
    folder: str | Path | None = None,
    batch_size: int = BATCH,
    threads: int | None = None,
    progress: Progress | None = None,
) -> CorruptionFeatures:
    """The features of every cell of a benchmark, from `samples` sampled corruptions of each (the paper takes 100).

    A sampled corruption is one fixed transform: all images get the same sample id, so the same flakes and the same
    noise. With `draw_per_image` every image gets its own draw instead, as the paper builds ImageNet-C-bar: 10,000
    images and samples=1; all images are corrupted at once, so they must fit into memory twice. Each cell is stored
    separately in `folder`, so benchmarks that share a cell share its features. `progress`
    counts the transforms of all cells.
    """
    cells = benchmark.cells()
    total, values = samples * len(cells), []
    for i, cell in enumerate(cells):

        def on_progress(done: int, _all: int, speed: float, before: int = i * samples) -> None:
            if progress is not None:
                progress(before + done, total, speed)

        identity = {"corruption": cell.corruption, "level": cell.level, "recipe": cell.key}
        identity |= {"draw_per_image": True} if draw_per_image else {}
        rows = fill(
            store_of(model, images, identity, folder),
            model,
            images,
            lambda sample, cell=cell: _sampled(benchmark, cell, sample, draw_per_image),  # type: ignore[misc]
            title=cell.title,
            samples=samples,
            batch_size=batch_size,
            threads=threads,
            progress=on_progress,
        )
        values.append(np.asarray(rows))
    return CorruptionFeatures(tuple(cells), np.stack(values))


def _sampled(benchmark: Benchmark, cell: Cell, sample: int, draw_per_image: bool) -> Transform:
    """One sampled corruption, for any number of images, or one of each image."""

    def transform(images: Image) -> Image:
        ids = [f"{sample}/{i}" for i in range(len(images))] if draw_per_image else [sample] * len(images)
        corrupted: Image = benchmark.apply(images, cell.corruption, cell.level, ids)
        return corrupted

    return transform
