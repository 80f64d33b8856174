"""Reading a picture between its pixels, with black outside the frame."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Field
from brittle.corruptions.kernels.compiled import compiled, inlined


@inlined
def bilinear_or_black(image, y, x, c):
    """Channel c at a real position (row, column); each of the four neighbours outside the frame counts as 0."""
    height, width = image.shape[0], image.shape[1]
    y0, x0 = int(np.floor(y)), int(np.floor(x))
    v, u = np.float32(y - y0), np.float32(x - x0)
    top, bottom = 0 <= y0 < height, -1 <= y0 < height - 1
    left, right = 0 <= x0 < width, -1 <= x0 < width - 1
    zero = np.float32(0)
    a = np.float32(image[y0, x0, c]) if top and left else zero
    b = np.float32(image[y0, x0 + 1, c]) if top and right else zero
    p = np.float32(image[y0 + 1, x0, c]) if bottom and left else zero
    q = np.float32(image[y0 + 1, x0 + 1, c]) if bottom and right else zero
    upper = a + u * (b - a)
    return upper + v * ((p + u * (q - p)) - upper)


def remap(image: NDArray[Any], rows: Field, columns: Field) -> Field:
    """Read the image (H×W×C) at (rows, columns) for each pixel, bilinearly, with black outside."""
    return _remap(image, rows, columns)


@compiled
def _remap(image, rows, columns):
    height, width = rows.shape
    channels = image.shape[2]
    out = np.empty((height, width, channels), np.float32)
    for y in range(height):
        for x in range(width):
            for c in range(channels):
                out[y, x, c] = bilinear_or_black(image, rows[y, x], columns[y, x], c)
    return out
