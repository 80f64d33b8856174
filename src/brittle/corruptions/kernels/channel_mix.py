"""Colours as linear mixtures of the three channels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Image
from brittle.corruptions.kernels.compiled import compiled
from brittle.corruptions.kernels.rounding import to_nearest_byte


def mix_channels(image: Image, matrix: NDArray[np.float64]) -> Image:
    """matrix·(r, g, b) for each pixel, rounded and clipped."""
    return _mix_channels(image, np.ascontiguousarray(matrix, np.float32))


@compiled
def _mix_channels(image, matrix):
    height, width, _ = image.shape
    out = np.empty(image.shape, np.uint8)
    for y in range(height):
        for x in range(width):
            r, g, b = np.float32(image[y, x, 0]), np.float32(image[y, x, 1]), np.float32(image[y, x, 2])
            for c in range(3):
                mixed = matrix[c, 0] * r + matrix[c, 1] * g + matrix[c, 2] * b
                out[y, x, c] = to_nearest_byte(mixed)
    return out
