"""A model takes a batch of images and gives class scores; what it does to the images before is its own affair."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Image
from brittle.models.model_error import telling

Scores = NDArray[np.float32]
"""N×classes; the largest is the prediction."""


@runtime_checkable
class Model(Protocol):
    """Anything with a name, a key that changes when its weights do, and scores for a batch N×H×W×3 of uint8."""

    @property
    def name(self) -> str:
        """What results call it."""
        ...

    @property
    def key(self) -> str:
        """Another one when its weights, or anything else that its scores depend on, are others."""
        ...

    def scores(self, images: Image) -> Scores:
        """Class scores of a batch, as probabilities or logits."""
        ...


def checked_scores(model: Model, images: Image, classes: int | None = None, *, where: str = "") -> Scores:
    """The scores of a batch, or one sentence that says what is wrong with them; `where` says what is shown."""
    with telling(model.name, f"on {where or f'{len(images)} images'}"):
        scores = np.asarray(model.scores(np.array(images)), np.float32)  # its own copy, which it may write to
    if scores.ndim != 2 or len(scores) != len(images):
        raise ValueError(
            f"the model {model.name!r} gave scores of shape {scores.shape} for {len(images)} images; "
            "it must give one row of class scores for each"
        )
    if classes is not None and scores.shape[1] != classes:
        raise ValueError(
            f"the model {model.name!r} gives {scores.shape[1]} scores an image, but the data has labels of {classes} "
            "classes; is it a model for other data?"
        )
    if not np.isfinite(scores).all():
        raise ValueError(f"the model {model.name!r} gave scores that are not numbers; look at its weights or its dtype")
    return scores


def probabilities(scores: Scores) -> Scores:
    """Scores as probabilities: as they are if every row already is one, else their softmax."""
    if (scores >= 0).all() and np.allclose(scores.sum(1), 1, atol=1e-3):
        return scores
    raised = np.exp(scores - scores.max(1, keepdims=True))
    return np.asarray(raised / raised.sum(1, keepdims=True), np.float32)
