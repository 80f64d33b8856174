"""Reading a picture somewhere else: along two axes, through a projection, through a lens."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Image
from brittle.corruptions.kernels.compiled import compiled, inlined
from brittle.corruptions.kernels.rounding import to_nearest_byte

FAR = 1e9
"""Positions are cut off here, so that a horizon inside the picture does no harm."""


def read_axes(image: Image, rows: NDArray[np.float64], columns: NDArray[np.float64]) -> Image:
    """Row y reads at rows[y], column x at columns[x], bilinearly; borders mirror without repeating the edge."""
    height, width, channels = image.shape
    out = _read_axes(image.reshape(height, width * channels), channels, rows, columns)
    return out.reshape(len(rows), len(columns), channels)


def project(image: Image, matrix: NDArray[np.float64], *, replicate: bool = False) -> Image:
    """Read at matrix·(x, y, 1), a 3×3 matrix, divided by its third entry; borders mirror, or repeat the edge pixel."""
    return _project(image, np.ascontiguousarray(matrix, np.float64), replicate)


def undistort(image: Image, k1: float, k2: float, centre: tuple[float, float]) -> Image:
    """Read at centre + d·(1 + k1·r² + k2·r⁴) with d the way from the centre (y, x) and r its length in image sides."""
    return _undistort(image, k1, k2, centre[0], centre[1])


@inlined
def _inside(i, length, replicate):
    """The pixel that stands in for one outside: the nearest, or the mirror image … 2 1 | 0 1 2 …."""
    if 0 <= i < length:
        return i
    if replicate or length == 1:
        return 0 if i < 0 else length - 1
    i %= 2 * length - 2
    return i if i < length else 2 * length - 2 - i


@inlined
def _read(image, out, y, x, sy, sx, replicate):
    height, width, channels = image.shape
    sy, sx = min(max(sy, -FAR), FAR), min(max(sx, -FAR), FAR)
    y0, x0 = int(np.floor(sy)), int(np.floor(sx))
    v, u = np.float32(sy - y0), np.float32(sx - x0)
    xa, xb = _inside(x0, width, replicate), _inside(x0 + 1, width, replicate)
    ya, yb = _inside(y0, height, replicate), _inside(y0 + 1, height, replicate)
    for c in range(channels):
        a, b = np.float32(image[ya, xa, c]), np.float32(image[ya, xb, c])
        p, q = np.float32(image[yb, xa, c]), np.float32(image[yb, xb, c])
        upper = a + u * (b - a)
        value = upper + v * ((p + u * (q - p)) - upper)
        out[y, x, c] = to_nearest_byte(value)


@compiled
def _project(image, m, replicate):
    height, width, _ = image.shape
    out = np.empty(image.shape, np.uint8)
    for y in range(height):
        for x in range(width):
            w = m[2, 0] * x + m[2, 1] * y + m[2, 2]
            share = 1 / w if w != 0 else FAR
            sx = (m[0, 0] * x + m[0, 1] * y + m[0, 2]) * share
            sy = (m[1, 0] * x + m[1, 1] * y + m[1, 2]) * share
            _read(image, out, y, x, sy, sx, replicate)
    return out


@compiled
def _undistort(image, k1, k2, cy, cx):
    height, width, _ = image.shape
    out = np.empty(image.shape, np.uint8)
    for y in range(height):
        dy = y - cy
        for x in range(width):
            dx = x - cx
            square = (dx / width) ** 2 + (dy / height) ** 2
            factor = 1 + k1 * square + k2 * square * square
            _read(image, out, y, x, cy + dy * factor, cx + dx * factor, False)
    return out


@compiled
def _read_axes(image, channels, rows, columns):
    height, width = image.shape[0], image.shape[1] // channels
    out = np.empty((len(rows), len(columns) * channels), np.uint8)
    left, right = np.empty(len(columns), np.uint32), np.empty(len(columns), np.uint32)
    weight = np.empty(len(columns), np.float32)
    for x in range(len(columns)):
        sx = min(max(columns[x], -FAR), FAR)
        x0 = int(np.floor(sx))
        left[x], right[x] = _inside(x0, width, False) * channels, _inside(x0 + 1, width, False) * channels
        weight[x] = sx - x0
    line = np.empty(width * channels, np.float32)
    for y in range(len(rows)):
        sy = min(max(rows[y], -FAR), FAR)
        y0 = int(np.floor(sy))
        v = np.float32(sy - y0)
        upper, lower = image[_inside(y0, height, False)], image[_inside(y0 + 1, height, False)]
        for i in range(len(line)):
            a = np.float32(upper[i])
            line[i] = a + v * (np.float32(lower[i]) - a)
        target = out[y]
        for x in range(len(columns)):
            for c in range(channels):
                a = line[left[x] + np.uint32(c)]
                value = a + weight[x] * (line[right[x] + np.uint32(c)] - a)
                target[x * channels + c] = to_nearest_byte(value)
    return out
