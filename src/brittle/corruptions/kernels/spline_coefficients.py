"""The cubic B-spline that passes through all pixels of a picture."""

from __future__ import annotations

import math

import numpy as np

from brittle.arrays import Field, Image
from brittle.corruptions.kernels.bspline import mirror
from brittle.corruptions.kernels.compiled import compiled

POLE = math.sqrt(3) - 2
"""The pole of the filter that turns samples into spline coefficients."""


def spline_coefficients(image: Image) -> Field:
    """The spline's coefficients, (H+3)×(W+3)×4, mirrored by 1 before and 2 after.

    Channels that the image does not have are 0.
    """
    return _spline_coefficients(image)


@compiled
def _spline_coefficients(image):
    height, width, channels = image.shape
    inner = np.zeros((height, width * 4), np.float32)
    for y in range(height):
        row = inner[y]
        for x in range(width):
            for c in range(channels):
                row[4 * x + c] = np.float32(image[y, x, c])
    if height > 1:
        _filter_down(inner)
    if width > 1:
        for y in range(height):
            _filter_down(inner[y].reshape(width, 4))
    out = np.empty((height + 3, width + 3, 4), np.float32)
    for y in range(height + 3):
        row = inner[mirror(y - 1, height)].reshape(width, 4)
        for x in range(width + 3):
            source = mirror(x - 1, width)
            for c in range(4):
                out[y, x, c] = row[source, c]
    return out


@compiled
def _filter_down(rows):
    """The recursive filter along the first axis, forwards and backwards, with mirrored ends."""
    count, length = rows.shape
    z, gain = np.float32(POLE), np.float32(6)
    first = rows[0]
    weight, back = 1.0, POLE ** (2 * count - 2)
    scale = 6 / (1 - back)
    start = np.zeros(length, np.float32)
    for i in range(count):
        both = weight + (back if 0 < i < count - 1 else 0.0)
        if abs(both) < 1e-12 and abs(back) < 1e-12:  # the rest cannot be seen in single precision
            break
        share, row = np.float32(both * scale), rows[i]
        for x in range(length):
            start[x] += share * row[x]
        weight *= POLE
        back /= POLE
    for x in range(length):
        first[x] = start[x]
    for i in range(1, count):
        before, row = rows[i - 1], rows[i]
        for x in range(length):
            row[x] = gain * row[x] + z * before[x]
    before, row = rows[count - 2], rows[count - 1]
    last = np.float32(POLE / (POLE * POLE - 1))
    for x in range(length):
        row[x] = last * (z * before[x] + row[x])
    for i in range(count - 2, -1, -1):
        after, row = rows[i + 1], rows[i]
        for x in range(length):
            row[x] = z * (after[x] - row[x])
