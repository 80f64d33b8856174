"""From class scores to a prediction and its confidence, on the dataset's own classes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Image
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
