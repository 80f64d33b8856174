"""The local engine: corrupt ahead in threads, show each batch to every model, write each cell when it is done."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Image
from brittle.benchmarks import Benchmark
from brittle.datasets.dataset import Dataset
from brittle.evaluation.cell import Cell, plan
from brittle.evaluation.decode import Decoded, decode
from brittle.evaluation.predict import predict
from brittle.evaluation.results import Results, load_results
from brittle.evaluation.store import Store
from brittle.models.model import Model

AHEAD = 2
"""Batches that each thread may be ahead of the models: enough never to wait, few enough to need little memory."""

Progress = Callable[[str, int, int], None]
"""Called with (what is done, images done, images in all) after each batch."""


def evaluate(
    models: Model | Sequence[Model],
    dataset: Dataset,
    benchmark: Benchmark,
    folder: str | Path,
    *,
    batch_size: int = 64,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Results:
    """Run models through a benchmark and keep every prediction in `folder`.

    Cells that are there already are not computed again, so a run that was ended, however suddenly, goes on where it
    was, and another model or another recipe on the same data adds only what is missing. The rows do not depend on
    batch size or threads. Images that cannot be read are left out of every cell and counted.

    Args:
        models: one or several; they share the corrupted batches.
        dataset: images with labels and sample ids, of one size.
        benchmark: the recipe.
        folder: where the results go.
        batch_size: images shown to a model at once.
        threads: that corrupt while the model works; by default one for each processor.
        progress: called after each batch.
    """
    several: list[Model] = list(models) if isinstance(models, Sequence) else [models]
    _check(several, dataset, batch_size)
    store = Store(folder)
    store.claim({"data": dataset.name, "data_key": dataset.key, "images": len(dataset)})
    store.keep_recipe(benchmark)
    cells = plan(benchmark)
    if all(store.has(_folder_name(model), cell) for model in several for cell in cells):
        return load_results(folder)
    decoded = decode(dataset, store.folder, progress and (lambda done, total: progress("reading", done, total)))
    workers = threads or (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    with ThreadPoolExecutor(workers) as pool:
        run = _Run(store, dataset, decoded, benchmark, batch_size, pool, workers * AHEAD, progress)
        for cell in cells:
            missing = [model for model in several if not store.has(_folder_name(model), cell)]
            if missing:
                run.fill(cell, missing)
    return load_results(folder)


@dataclass(frozen=True)
class _Run:
    store: Store
    dataset: Dataset
    decoded: Decoded
    benchmark: Benchmark
    batch_size: int
    pool: ThreadPoolExecutor
    ahead: int
    progress: Progress | None

    def fill(self, cell: Cell, models: list[Model]) -> None:
        """Compute one cell for some models, and write it."""
        kept = self.decoded.kept
        found: dict[str, list[tuple[NDArray[Any], NDArray[Any]]]] = {model.key: [] for model in models}
        done = 0
        for images in self.batches(cell):
            for model in models:
                found[model.key].append(predict(model, images, self.dataset))
            done += len(images)
            if self.progress is not None:
                self.progress(cell.file_name, done, len(kept))
        assert self.dataset.labels is not None
        for model in models:
            predictions, confidences = (np.concatenate(column) for column in zip(*found[model.key], strict=True))
            self.store.write(
                model.name,
                _folder_name(model),
                cell,
                samples=[str(self.dataset.ids[i]) for i in kept],
                labels=self.dataset.labels[kept],
                predictions=predictions,
                confidences=confidences,
            )

    def batches(self, cell: Cell) -> Iterator[Image]:
        """Corrupted batches in order, drawn by the pool a few batches ahead."""
        kept = self.decoded.kept

        def draw(start: int) -> Image:
            stop = min(start + self.batch_size, len(kept))
            clean = np.array(self.decoded.images[start:stop])
            if cell.is_clean:
                return clean
            ids = [self.dataset.ids[i] for i in kept[start:stop]]
            corrupted: Image = self.benchmark.apply(clean, cell.corruption, cell.level, ids)
            return corrupted

        waiting: deque[Future[Image]] = deque()
        for start in range(0, len(kept), self.batch_size):
            waiting.append(self.pool.submit(draw, start))
            if len(waiting) > self.ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _folder_name(model: Model) -> str:
    plain = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in model.name)
    return f"{plain}-{model.key}"


def _check(models: list[Model], dataset: Dataset, batch_size: int) -> None:
    if not models:
        raise ValueError("name at least one model to run")
    names = [model.name for model in models]
    if len(set(names)) != len(names):
        raise ValueError(f"models need names of their own, got {', '.join(names)}")
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1, got {batch_size}")
    if dataset.labels is None:
        raise ValueError(f"the dataset {dataset.name!r} has no labels, so nothing can be right or wrong")
