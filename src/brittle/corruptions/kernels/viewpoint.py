"""Seeing a picture from another angle, with the picture itself wherever the view leaves its frame."""

from __future__ import annotations

import numpy as np

from brittle.arrays import Image
from brittle.corruptions.kernels.compiled import compiled, inlined

Eight = tuple[float, float, float, float, float, float, float, float]


def perspective(image: Image, coefficients: Eight) -> Image:
    """Read at ((a·x + b·y + c)/w, (d·x + e·y + f)/w) with w = g·x + h·y + 1, as Pillow's PERSPECTIVE does."""
    return _perspective(image, *map(float, coefficients))


def quadrilateral(image: Image, corners: Eight) -> Image:
    """Stretch a quadrilateral of the image over the frame, as Pillow's QUAD does.

    Its corners are (x, y) of the top left, bottom left, bottom right and top right.
    """
    height, width = image.shape[:2]
    nw_x, nw_y, sw_x, sw_y, se_x, se_y, ne_x, ne_y = map(float, corners)
    return _bilinear_patch(
        image,
        *(nw_x, (ne_x - nw_x) / width, (sw_x - nw_x) / height, (se_x - sw_x - ne_x + nw_x) / (width * height)),
        *(nw_y, (ne_y - nw_y) / width, (sw_y - nw_y) / height, (se_y - sw_y - ne_y + nw_y) / (width * height)),
    )


@inlined
def _read(image, y, x, out, oy, ox):
    """Pillow's bilinear reading: pixel centres lie at ½, edges are replicated, the fraction is cut off.

    A position outside the frame gives the pixel's own colour.
    """
    height, width, channels = image.shape
    if not (0 <= x < width and 0 <= y < height):
        for c in range(channels):
            out[oy, ox, c] = image[oy, ox, c]
    else:
        x -= 0.5
        y -= 0.5
        x0, y0 = int(np.floor(x)), int(np.floor(y))
        u, v = x - x0, y - y0
        xa, xb = max(x0, 0), min(x0 + 1, width - 1)
        ya, yb = max(y0, 0), min(y0 + 1, height - 1)
        for c in range(channels):
            a, b = np.float64(image[ya, xa, c]), np.float64(image[ya, xb, c])
            p, q = np.float64(image[yb, xa, c]), np.float64(image[yb, xb, c])
            upper, lower = a + (b - a) * u, p + (q - p) * u
            out[oy, ox, c] = np.uint8(np.int32(upper + (lower - upper) * v))


@compiled
def _perspective(image, a, b, c, d, e, f, g, h):
    out = np.empty(image.shape, np.uint8)
    for oy in range(image.shape[0]):
        for ox in range(image.shape[1]):
            x, y = ox + 0.5, oy + 0.5
            w = g * x + h * y + 1
            _read(image, (d * x + e * y + f) / w, (a * x + b * y + c) / w, out, oy, ox)
    return out


@compiled
def _bilinear_patch(image, x0, x1, x2, x3, y0, y1, y2, y3):
    out = np.empty(image.shape, np.uint8)
    for oy in range(image.shape[0]):
        for ox in range(image.shape[1]):
            x, y = ox + 0.5, oy + 0.5
            _read(image, y0 + y1 * x + y2 * y + y3 * x * y, x0 + x1 * x + x2 * y + x3 * x * y, out, oy, ox)
    return out
