"""What models say about batches of images, with as much at once as the processors can do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from brittle._parallel import cores, prefetch, side_by_side, torch_threads
from brittle._types import Image
from brittle.datasets.dataset import Dataset
from brittle.models.model import Model, checked_scores, probabilities

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
    if not len(images):
        return np.empty(0, np.int32), np.empty(0, np.float32)
    shares = probabilities(checked_scores(model, images, classes.outputs, where=where))
    if classes.subset is not None:
        shares = shares[:, classes.subset]
        best: NDArray[Any] = classes.subset[shares.argmax(1)]
    else:
        best = shares.argmax(1)
    if classes.map is not None:
        best = classes.map[best]
    return best.astype(np.int32), shares.max(1).astype(np.float32)


Item = TypeVar("Item")


def infer(
    models: Sequence[Model],
    draw: Callable[[Item], Image],
    items: Sequence[Item],
    classes: Classes,
    *,
    threads: int | None = None,
    where: str | Callable[[Item], str] = "",
) -> Iterator[list[Predictions]]:
    """The predictions of every model on `draw(item)`, for each item in order; the models share what was drawn.

    Networks on the CPU are shown several batches side by side, each by a thread of its own that draws it and computes
    alone: faster than one batch computed by all threads, which wait for each other after every layer, and on a busy
    machine much faster. Other models are shown one batch after the other while threads draw the next ones.
    If a model fails, `where`, or what it says about the item, tells what it was shown.
    """

    def place(item: Item) -> str:
        return where if isinstance(where, str) else where(item)

    workers, each = side_by_side(threads)
    copies = replicas(models, min(workers, len(items)))
    if copies is None:
        with torch_threads(threads):
            for item, images in zip(items, prefetch(draw, items, threads or cores()), strict=True):
                yield [predict(model, images, classes, where=place(item)) for model in models]
        return
    free: SimpleQueue[list[Model]] = SimpleQueue()
    for copy in copies:
        free.put(copy)

    def draw_and_predict(item: Item) -> list[Predictions]:
        images, own = draw(item), free.get()
        try:
            return [predict(model, images, classes, where=place(item)) for model in own]
        finally:
            free.put(own)

    with torch_threads(each):
        yield from prefetch(draw_and_predict, items, len(copies), torch=each)


def replicas(models: Sequence[Model], count: int) -> list[list[Model]] | None:
    """The same models so many times, each for one thread; None unless all of them can be had more than once."""
    if count < 2 or not all(hasattr(model, "replica") for model in models):
        return None
    copies = [[model.replica() for model in models] for _ in range(count)]  # type: ignore[attr-defined]
    return None if any(model is None for copy in copies for model in copy) else copies


def joined(found: Sequence[Predictions]) -> Predictions:
    """The predictions of several batches as those of one."""
    return np.concatenate([p for p, _ in found]), np.concatenate([c for _, c in found])
