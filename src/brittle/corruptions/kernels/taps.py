"""Correlation with small kernels that have few taps."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Image
from brittle.corruptions.kernels.compiled import compiled
from brittle.corruptions.kernels.rounding import to_nearest_byte


def correlate(image: Image, kernel: NDArray[np.float64]) -> Image:
    """Correlate each channel with a kernel of odd sides, rounded and clipped; only taps that are not 0 cost time.

    Borders mirror without repeating the edge.
    """
    dy, dx = np.nonzero(kernel)
    down, right = kernel.shape[0] // 2, kernel.shape[1] // 2
    height, width, channels = image.shape
    padded = cv2.copyMakeBorder(image, down, down, right, right, cv2.BORDER_REFLECT_101)
    rows = padded.reshape(height + 2 * down, -1)
    weights = kernel[dy, dx].astype(np.float32)
    return _correlate(rows, dy, dx * channels, weights, height, width * channels).reshape(image.shape)


@compiled
def _correlate(rows, dy, starts, weights, height, length):
    out = np.empty((height, length), np.uint8)
    total = np.empty(length, np.float32)
    for y in range(height):
        total[:] = np.float32(0)
        for i in range(len(weights)):
            source = rows[y + dy[i], starts[i] : starts[i] + length]
            _add_scaled(total, weights[i], source)
        target = out[y]
        for x in range(length):
            target[x] = to_nearest_byte(total[x])
    return out


@compiled
def _add_scaled(target, weight, source):
    for x in range(len(target)):
        target[x] += weight * np.float32(source[x])
