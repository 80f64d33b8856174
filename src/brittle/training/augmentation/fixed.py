"""A scheme's i-th sample as one fixed transform of many images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Image
from brittle.corruptions.draws import Draws, check_seed

ADDRESS = "augmentation"
"""What names the draws of a fixed transform: Draws(seed, ADDRESS, index)."""

Transform = Callable[[Image], NDArray[Any]]
"""From a stack of images N×H×W×3 to a stack of the same shape, uint8 or float on 0..255."""


class Scheme(Protocol):
    """An augmentation: from one image H×W×3 and its draws to an image of the same shape, uint8 or float on 0..255.

    Equal draws give the same transform of any image. A scheme with an attribute `takes_stacks` that is true does the
    same to all images of a stack N×H×W×3, and is much faster then. Its repr names every setting, because what is kept
    on disk is found again by it.
    """

    def __call__(self, image: Image, draws: Draws, /) -> NDArray[Any]:
        """The augmented image."""
        ...


def fixed(scheme: Scheme, seed: int, index: int) -> Transform:
    """The transform number `index` of a scheme: every random number drawn, the same for all images it is given."""
    draws = Draws(check_seed(seed), ADDRESS, index)

    def transform(images: Image) -> NDArray[Any]:
        if images.ndim != 4:
            raise ValueError(f"a fixed transform takes a stack of images N×H×W×3, got shape {images.shape}")
        return on_stack(scheme, images, draws)

    return transform


def on_stack(scheme: Scheme, images: Image, draws: Draws) -> NDArray[Any]:
    """One sample of a scheme on each image of a stack."""
    if getattr(scheme, "takes_stacks", False):
        changed = scheme(images, draws)
        check_shape(scheme, images.shape, np.shape(changed))
        return changed
    several = []
    for image in images:
        several.append(np.asarray(scheme(image, draws)))
        check_shape(scheme, image.shape, several[-1].shape)
    return np.stack(several)


def check_shape(scheme: object, before: tuple[int, ...], after: tuple[int, ...]) -> None:
    """Raise if a transform changed the shape of an image."""
    if before != after:
        raise ValueError(
            f"{scheme!r} makes an image of shape {after} from one of shape {before}; an augmentation must keep the "
            "size, so let it crop or resize back to it"
        )
