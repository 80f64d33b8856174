"""One affine map of any number of images, to the grey level what Pillow gives for each: bilinear, black outside."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from brittle.arrays import Image
from brittle.corruptions.kernels.compiled import compiled

Matrix = tuple[float, float, float, float, float, float]
"""(a, b, c, d, e, f): the output at (x, y) is read at (ax + by + c, dx + ey + f), pixels from the top left corner."""


def affine(images: Image, matrix: Matrix) -> Image:
    """Read one image H×W×C, or each of a stack N×H×W×C, through one matrix; fractions of a grey level are cut off."""
    shown = np.ascontiguousarray(images, np.uint8)
    warped: Image = _affine(shown.reshape(-1, *shown.shape[-3:]), np.array(matrix, np.float64))
    return warped.reshape(shown.shape)


def rotate(images: Image, degrees: float) -> Image:
    """Turn counter-clockwise about the centre."""
    height, width = np.shape(images)[-3:-1]
    angle = -math.radians(degrees)
    cos, sin = round(math.cos(angle), 15), round(math.sin(angle), 15)
    x, y = width / 2, height / 2
    return affine(images, (cos, sin, x - cos * x - sin * y, -sin, cos, y + sin * x - cos * y))


@compiled
def _affine(stack: Any, matrix: Any) -> Any:
    count, height, width, channels = stack.shape
    out = np.zeros(stack.shape, np.uint8)
    for y in range(height):
        for x in range(width):
            sx = matrix[0] * (x + 0.5) + matrix[1] * (y + 0.5) + matrix[2]
            sy = matrix[3] * (x + 0.5) + matrix[4] * (y + 0.5) + matrix[5]
            if not (0 <= sx < width and 0 <= sy < height):
                continue
            sx -= 0.5
            sy -= 0.5
            left, top = int(np.floor(sx)), int(np.floor(sy))
            u, v = sx - left, sy - top
            right, bottom = min(left + 1, width - 1), min(top + 1, height - 1)
            left, top = max(left, 0), max(top, 0)
            for i in range(count):
                for c in range(channels):
                    a, b = np.float64(stack[i, top, left, c]), np.float64(stack[i, top, right, c])
                    p, q = np.float64(stack[i, bottom, left, c]), np.float64(stack[i, bottom, right, c])
                    upper, lower = a + (b - a) * u, p + (q - p) * u
                    out[i, y, x, c] = np.uint8(upper + (lower - upper) * v)
    return out
