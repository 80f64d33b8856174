"""A cell is a unit of work: one corruption at one level over one dataset, drawn batch by batch and predicted."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from brittle._io import file_name
from brittle._types import Image
from brittle.benchmarks import Benchmark, Entry, Level, ends, level_name
from brittle.datasets.dataset import Dataset
from brittle.models.model import Model, checked_scores, probabilities

CLEAN = "clean"


@dataclass(frozen=True)
class Cell:
    """A corruption and its level; without a corruption it is the clean data.

    The key names all that changes its pixels: seed, table, storage and options, and the code of a corruption that does
    not come with brittle. Equal cells of different recipes are
    computed once.
    """

    corruption: str = CLEAN
    level: Level = 0.0
    key: str = ""

    @property
    def is_clean(self) -> bool:
        """Whether the images are shown as they are."""
        return self.corruption == CLEAN

    @property
    def file_name(self) -> str:
        """A name for the file of this cell, such as imagenet-c.fog@3.5-1f2e3d4c."""
        if self.is_clean:
            return CLEAN
        level = level_name(self.level)
        return f"{file_name(self.corruption)}@{level if len(level) <= 50 else file_name(level)}-{self.key}"

    @property
    def title(self) -> str:
        """What people read: fog 3.5."""
        return CLEAN if self.is_clean else f"{self.corruption.rpartition('/')[2]} {level_name(self.level)}"

    def of(self, data: str) -> str:
        """What its images are called in a sentence: fog 3.5 of 'photos'."""
        return f"{'the clean images' if self.is_clean else self.title} of {data!r}"

    @property
    def severity(self) -> float:
        """Where the cell stands on the severity axis; the middle of a range that is drawn from."""
        return sum(ends(self.level)) / 2


def plan(benchmark: Benchmark | None) -> list[Cell]:
    """The clean data first, then every (corruption, level) of the recipe, if there is one."""
    if benchmark is None:
        return [Cell()]
    drawn = ((entry, level) for entry in benchmark.entries for level in entry.levels)
    return [Cell(), *(Cell(entry.id, level, cell_key(benchmark, entry, level)) for entry, level in drawn)]


def cell_key(benchmark: Benchmark, entry: Entry, level: Level) -> str:
    """What the recipe says about one cell, and the code of a corruption of somebody's own."""
    recipe = replace(benchmark, version=1, entries=(replace(entry, levels=(level,)),)).hash
    code = entry.corruption.code
    return (sha256(f"{recipe} {code}".encode()).hexdigest() if code else recipe)[:8]


Predictions = tuple[NDArray[np.int32], NDArray[np.float32]]
"""The predicted class of each image, and its probability."""


@dataclass(frozen=True, eq=False)
class Classes:
    """How a dataset reads a model's outputs.

    A dataset may count only some of them (`subset`: the rest are masked before the best is taken), or map each output
    to a class of its own (`map`: an output that means none of them is always wrong).
    """

    outputs: int | None = None
    subset: NDArray[np.int64] | None = None
    map: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, dataset: Dataset) -> Classes:
        """Those of a dataset."""
        return cls(dataset.outputs, dataset.class_subset, dataset.class_map)


def predict(model: Model, images: Image, classes: Classes, *, where: str = "") -> Predictions:
    """The predictions of one batch, as the dataset numbers its classes; `where` says what is shown if it fails."""
    shares = probabilities(checked_scores(model, images, classes.outputs, where=where))
    if classes.subset is not None:
        shares = shares[:, classes.subset]
        best: NDArray[Any] = classes.subset[shares.argmax(1)]
    else:
        best = shares.argmax(1)
    if classes.map is not None:
        best = classes.map[best]
    return best.astype(np.int32), shares.max(1).astype(np.float32)


def predict_all(
    models: Sequence[Model], batches: Iterable[Image], classes: Classes, *, where: str = ""
) -> list[Predictions]:
    """The predictions of every model on the same batches, each batch shown to all of them before the next is made."""
    seen: list[list[Predictions]] = [[] for _ in models]
    for images in batches:
        for model, found in zip(models, seen, strict=True):
            found.append(predict(model, images, classes, where=where))
    return [(np.concatenate([p for p, _ in found]), np.concatenate([c for _, c in found])) for found in seen]


PREFETCHED = 2
"""Batches that each thread may be ahead of the models: enough never to wait, few enough to need little memory."""

Out = TypeVar("Out")


@dataclass(frozen=True, eq=False)
class Drawn:
    """Clean images, and the recipe that corrupts them when they are asked for."""

    images: Image
    ids: Sequence[str | int]
    benchmark: Benchmark | None

    def __len__(self) -> int:
        return len(self.images)

    def batches(self, cell: Cell, batch_size: int, threads: int) -> Iterator[Image]:
        """Corrupted batches in order; what they hold depends on neither the batch size nor the threads."""

        def draw(start: int) -> Image:
            stop = min(start + batch_size, len(self))
            clean = np.array(self.images[start:stop])
            if cell.is_clean or self.benchmark is None:
                return clean
            corrupted: Image = self.benchmark.apply(clean, cell.corruption, cell.level, self.ids[start:stop])
            return corrupted

        return prefetch(draw, range(0, len(self), batch_size), threads)


def prefetch(work: Callable[[int], Out], items: Sequence[int], threads: int) -> Iterator[Out]:
    """work(item) for each item in order, done by threads a few items ahead of whoever consumes them."""
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[Out]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > threads * PREFETCHED:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
