"""Who looks at the images: a model that shows the activations it decides by."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Image

Features = NDArray[np.float32]
"""One row of activations an image, or one row an average of them."""


class Extractor(Protocol):
    """A model with a name, a key that changes when its weights do, and features for a batch N×H×W×3 of uint8."""

    @property
    def name(self) -> str:
        """What people call it."""
        ...

    @property
    def key(self) -> str:
        """Another one when its features may be others."""
        ...

    def features(self, images: Image) -> Features:
        """The activations of the last hidden layer, one row an image."""
        ...


def check_extractor(model: Any) -> Extractor:
    """The model, or one sentence that says what it lacks."""
    if not callable(getattr(model, "features", None)):
        raise TypeError(
            f"the model {getattr(model, 'name', model)!r} ({type(model).__name__}) shows no features, so no distance "
            "can be measured with it; give a torch, timm, torchvision or transformers model, or any object with "
            "features(images), a name and a key"
        )
    for word in ("name", "key"):
        if not isinstance(getattr(model, word, None), str):
            raise TypeError(
                f"a model that shows features needs a {word}, a text, by which they are found again; "
                f"{type(model).__name__} has none"
            )
    extractor: Extractor = model
    return extractor


def features_of(model: Extractor, images: Image, batch_size: int) -> Features:
    """The features of any number of images, some at a time."""
    rows = []
    for start in range(0, len(images), batch_size):
        batch = images[start : start + batch_size]
        rows.append(np.asarray(model.features(batch), np.float32))
        if rows[-1].ndim != 2 or len(rows[-1]) != len(batch):
            raise ValueError(
                f"the model {model.name!r} gave features of shape {rows[-1].shape} for {len(batch)} images; it must "
                "give one row for each"
            )
    found = np.concatenate(rows)
    if not np.isfinite(found).all():
        raise ValueError(f"the model {model.name!r} gave features that are not numbers; look at its weights")
    return found
