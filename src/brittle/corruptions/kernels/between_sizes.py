"""Filters whose kernel is a whole number of pixels, at every size in between."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np

from brittle.arrays import Image
from brittle.corruptions.kernels.rounding import mix

CLOSE = 1e-6


def between_sizes(image: Image, size: float, smooth: Callable[[Image, int], Image], *, step: int = 2) -> Image:
    """smooth(image, size) for the sizes 1, 1 + step, 1 + 2·step …; in between, the mixture of the two neighbours.

    A filter of size 1 does nothing and is not called.
    """
    steps = max(size - 1, 0.0) / step
    below = int(steps + CLOSE)
    share = steps - below
    smaller = _filtered(image, 1 + step * below, smooth)
    if share < CLOSE:
        return smaller.copy() if smaller is image else smaller
    larger = _filtered(image, 1 + step * (below + 1), smooth)
    return mix(smaller, larger, share)


def _filtered(image: Image, size: int, smooth: Callable[[Image, int], Image]) -> Image:
    return image if size == 1 else np.asarray(smooth(image, size), np.uint8).reshape(image.shape)


def box(image: Image, size: int) -> Image:
    """The mean over size×size pixels, rounded; borders mirror without repeating the edge."""
    return np.asarray(cv2.blur(image, (size, size)), np.uint8)
