"""From class scores to a prediction and its confidence, on the dataset's own classes."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from brittle.arrays import Image
from brittle.datasets.dataset import Dataset
from brittle.models.model import Model, checked_scores, probabilities


def predict(model: Model, images: Image, dataset: Dataset) -> tuple[NDArray[Any], NDArray[Any]]:
    """The predicted class of each image, as the dataset numbers them, and its probability.

    A dataset may count only some outputs of a model (`class_subset`: the rest are masked before the best is taken), or
    map each output to a class of its own (`class_map`: an output that means none of them is always wrong).
    """
    assert dataset.labels is not None
    shares = probabilities(checked_scores(model, images, dataset.outputs))
    if dataset.class_subset is not None:
        shares = shares[:, dataset.class_subset]
        best = dataset.class_subset[shares.argmax(1)]
    else:
        best = shares.argmax(1)
    if dataset.class_map is not None:
        best = dataset.class_map[best]
    return best, shares.max(1)
