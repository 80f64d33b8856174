"""Discs of haze or light: how many lie over each pixel, and what so many layers of white make of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Image
from brittle.corruptions.kernels.compiled import compiled


def count_discs(
    height: int, width: int, rows: NDArray[np.float64], columns: NDArray[np.float64], radii: NDArray[np.float64]
) -> NDArray[np.uint16]:
    """In how many of the discs each pixel lies."""
    return _count_discs(height, width, rows, columns, radii)


@compiled
def _count_discs(height, width, rows, columns, radii):
    out = np.zeros((height, width), np.uint16)
    for i in range(len(rows)):
        cy, cx, square = rows[i], columns[i], radii[i] * radii[i]
        for y in range(max(int(np.ceil(cy - radii[i])), 0), min(int(np.floor(cy + radii[i])), height - 1) + 1):
            half = np.sqrt(max(square - (y - cy) ** 2, 0.0))
            start, end = max(int(np.ceil(cx - half)), 0), min(int(np.floor(cx + half)), width - 1) + 1
            if start < end:
                run = out[y, start:end]
                for x in range(len(run)):
                    run[x] += np.uint16(1)
    return out


def layers_of_white(image: Image, counts: NDArray[np.uint16], weights: NDArray[np.float64]) -> Image:
    """Blend white into each pixel as often as `counts` says, rounded to 8 bit every time.

    A pixel with n layers gets the last n of the weights, in their order.
    """
    return _layers_of_white(image, counts, weights)


@compiled
def _layers_of_white(image, counts, weights):
    height, width, channels = image.shape
    table = np.empty((len(weights) + 1, 256), np.uint8)
    for grey in range(256):
        for n in range(len(weights) + 1):
            value = float(grey)
            for i in range(len(weights) - n, len(weights)):
                value = np.rint(value * (1 - weights[i]) + 255 * weights[i])
            table[n, grey] = np.uint8(np.int32(value))
    out = np.empty(image.shape, np.uint8)
    for y in range(height):
        for x in range(width):
            for c in range(channels):
                out[y, x, c] = table[counts[y, x], image[y, x, c]]
    return out
