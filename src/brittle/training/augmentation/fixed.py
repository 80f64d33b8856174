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

ROUNDING = 1e-3
"""How far floats of somebody's own code may lie outside [0, 1]."""

BLACK, LIT = 1, 16
"""A picture whose largest grey level is at most the first is black; one that reaches the second is not."""


class Scheme(Protocol):
    """An augmentation: from one image H×W×3 and its draws to an image of the same shape.

    It gives uint8, or float in [0, 1] as everywhere; those that come with brittle give floats on 0..255.

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
        changed = augmented(scheme, images, draws)
        check_shape(scheme, images.shape, np.shape(changed))
        return changed
    several = []
    for image in images:
        several.append(np.asarray(augmented(scheme, image, draws)))
        check_shape(scheme, image.shape, several[-1].shape)
    return np.stack(several)


def augmented(scheme: Callable[[Image, Draws], NDArray[Any]], image: Image, draws: Draws) -> NDArray[Any]:
    """What a scheme makes of an image or a stack, as uint8 or float on 0..255."""
    changed = scheme(image, draws)
    return changed if _is_bundled(scheme) else grey_levels_of(changed, image, repr(scheme))


def _is_bundled(scheme: object) -> bool:
    """Whether a scheme comes with brittle, whose own schemes are known to give 0..255."""
    return str(getattr(scheme, "__module__", "")).startswith("brittle.")


def grey_levels_of(given: Any, image: Image, name: str) -> NDArray[Any]:
    """What somebody's augmentation made of an image, or of a stack: checked, and on 0..255.

    Floats are in [0, 1]. Other values are refused by the augmentation's name, and so is a black picture made from one
    that was not: it is most often one that was divided by 255 and then taken for grey levels.
    """
    array: NDArray[Any] = np.asarray(given)
    if array.dtype.kind not in "fiu" or not array.size:
        raise TypeError(f"{name} gives {array.dtype} of shape {array.shape}; it must give an image as uint8 or float")
    low, high = float(array.min()), float(array.max())
    real = array.dtype.kind == "f"
    if not (low >= -ROUNDING and high <= 1 + ROUNDING if real else low >= 0 and high <= 255):
        hint = "; divide by 255, or round and give uint8" if real and low >= -1 and 1 < high < 300 else ""
        given_values = "values that are not numbers" if np.isnan(low) else f"values from {low:g} to {high:g}"
        allowed = "floats in [0, 1]" if real else "whole numbers from 0 to 255"
        raise ValueError(f"{name} gives {given_values}; it must give {allowed}{hint}")
    levels = np.clip(array, 0, 1) * array.dtype.type(255) if real else array.astype(np.uint8)
    if levels.shape == image.shape:
        over = (-3, -2, -1)
        black = (levels.max(axis=over) <= BLACK) & (image.max(axis=over) >= LIT)
        if black.any():
            raise ValueError(
                f"{name} gives a black picture where the image was not black (values from {low:g} to {high:g}); whole "
                "numbers are read as 0 to 255 and floats as [0, 1]"
            )
    return levels


def check_shape(scheme: object, before: tuple[int, ...], after: tuple[int, ...]) -> None:
    """Raise if a transform changed the shape of an image."""
    if before != after:
        raise ValueError(
            f"{scheme!r} makes an image of shape {after} from one of shape {before}; an augmentation must keep the "
            "size, so let it crop or resize back to it"
        )
