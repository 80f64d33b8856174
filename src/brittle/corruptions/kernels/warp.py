"""Moving pixels: bilinear sampling with mirrored borders."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Field, Image
from brittle.corruptions.kernels.compiled import compiled, inlined


def affine(image: Image, matrix: NDArray[np.float64]) -> Field:
    """Read the image at matrix·(x, y, 1) for each pixel; borders mirror without repeating the edge."""
    return _affine(image, np.ascontiguousarray(matrix, np.float64))


def displace(image: Field, dx: Field, dy: Field) -> Field:
    """Read the image at (x + dx, y + dy) for each pixel; borders mirror and repeat the edge."""
    return _displace(image, dx, dy)


@inlined
def _mirror(i, length):
    """… 2 1 0 | 0 1 2 …: the edge pixel is repeated."""
    if 0 <= i < length:
        return i
    i %= 2 * length
    return i if i < length else 2 * length - 1 - i


@inlined
def _mirror_inside(i, length):
    """… 2 1 | 0 1 2 …: the edge pixel is not repeated."""
    if 0 <= i < length:
        return i
    if length == 1:
        return 0
    i %= 2 * length - 2
    return i if i < length else 2 * length - 2 - i


@compiled
def _affine(image, matrix):
    height, width, channels = image.shape
    out = np.empty((height, width, channels), np.float32)
    for y in range(height):
        for x in range(width):
            sx = matrix[0, 0] * x + matrix[0, 1] * y + matrix[0, 2]
            sy = matrix[1, 0] * x + matrix[1, 1] * y + matrix[1, 2]
            x0, y0 = int(np.floor(sx)), int(np.floor(sy))
            u, v = np.float32(sx - x0), np.float32(sy - y0)
            xa, xb = _mirror_inside(x0, width), _mirror_inside(x0 + 1, width)
            ya, yb = _mirror_inside(y0, height), _mirror_inside(y0 + 1, height)
            for c in range(channels):
                a, b = np.float32(image[ya, xa, c]), np.float32(image[ya, xb, c])
                p, q = np.float32(image[yb, xa, c]), np.float32(image[yb, xb, c])
                upper = a + u * (b - a)
                out[y, x, c] = upper + v * ((p + u * (q - p)) - upper)
    return out


@compiled
def _displace(image, dx, dy):
    height, width, channels = image.shape
    out = np.empty((height, width, channels), np.float32)
    for y in range(height):
        for x in range(width):
            sx, sy = x + np.float64(dx[y, x]), y + np.float64(dy[y, x])
            x0, y0 = int(np.floor(sx)), int(np.floor(sy))
            u, v = np.float32(sx - x0), np.float32(sy - y0)
            xa, xb = _mirror(x0, width), _mirror(x0 + 1, width)
            ya, yb = _mirror(y0, height), _mirror(y0 + 1, height)
            for c in range(channels):
                a, b = image[ya, xa, c], image[ya, xb, c]
                p, q = image[yb, xa, c], image[yb, xb, c]
                upper = a + u * (b - a)
                out[y, x, c] = upper + v * ((p + u * (q - p)) - upper)
    return out
