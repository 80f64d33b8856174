"""Moving whole pixels, with black where none comes from."""

from __future__ import annotations

import math

import numpy as np

from brittle.arrays import Image
from brittle.corruptions.kernels.compiled import compiled

Matrix = tuple[float, float, float, float]


def affine_nearest(image: Image, matrix: Matrix) -> Image:
    """Each pixel shows the one that contains matrix·(its centre), about the centre of the image; black outside.

    The matrix (a, b, c, d) leads from the output to the input: x' = a·x + b·y, y' = c·x + d·y. Positions are
    counted in steps of 2⁻¹⁶ pixels, as Pillow counts them.
    """
    height, width = image.shape[:2]
    a, b, c, d = matrix
    left = (1 - a) * width / 2 - b * height / 2 + (a + b) / 2
    top = (1 - d) * height / 2 - c * width / 2 + (c + d) / 2
    return _affine_nearest(image, *map(_fixed, (a, b, left, c, d, top)))


def _fixed(value: float) -> int:
    return math.floor(value * 65536 + 0.5)


@compiled
def _affine_nearest(image, a, b, left, c, d, top):
    height, width, channels = image.shape
    out = np.zeros(image.shape, np.uint8)
    for y in range(height):
        target = out[y]
        at_x, at_y = left + b * y, top + d * y
        for x in range(width):
            column, row = at_x >> 16, at_y >> 16
            if 0 <= column < width and 0 <= row < height:
                if channels == 3:
                    target[x, 0] = image[row, column, 0]
                    target[x, 1] = image[row, column, 1]
                    target[x, 2] = image[row, column, 2]
                else:
                    target[x, 0] = image[row, column, 0]
            at_x += a
            at_y += c
    return out


def shift(image: Image, dy: int, dx: int) -> Image:
    """Move the picture by whole pixels, down and to the right; black comes in."""
    out = np.zeros_like(image)
    height, width = image.shape[:2]
    if abs(dy) < height and abs(dx) < width:
        out[max(dy, 0) : height + dy, max(dx, 0) : width + dx] = image[
            max(-dy, 0) : height - dy, max(-dx, 0) : width - dx
        ]
    return out
