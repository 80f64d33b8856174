"""Round lenses over a picture, applied one after the other, each to what the ones before have left."""

from __future__ import annotations

import math

import numpy as np

from brittle.arrays import Field, Image, Key
from brittle.corruptions.kernels.compiled import compiled, inlined
from brittle.corruptions.kernels.sample import bilinear_or_black
from brittle.corruptions.kernels.words import unit, word


def pinch_and_twirl(image: Image, key: Key, cell: int, rows: int, columns: int, angle: float, amount: float) -> Field:
    """A grid of round whirls, each pinched and turned by ±angle at its centre; the sign is drawn for each."""
    return _pinch_and_twirl(image.astype(np.float32), key, cell, rows, columns, angle, amount)


@compiled
def _pinch_and_twirl(picture, key, cell, rows, columns, angle, amount):
    channels = picture.shape[2]
    radius = cell / 2
    along, across = np.ones((cell, cell)), np.zeros((cell, cell))  # how an offset is scaled and turned in a whirl
    for y in range(cell):
        for x in range(cell):
            d = math.sqrt((y - radius) ** 2 + (x - radius) ** 2) / radius
            if 0 < d <= 1:
                turn, pinch = angle * (1 - d) ** 2, math.sin(math.pi / 2 * d) ** -amount
                along[y, x], across[y, x] = math.cos(turn) * pinch, math.sin(turn) * pinch
    patch = np.empty((cell, cell, channels), np.float32)
    for column in range(columns):
        for row in range(rows):
            sign = 1.0 if word(key, column * rows + row) & np.uint64(1) else -1.0
            top, left = row * cell, column * cell
            for y in range(cell):
                for x in range(cell):
                    dy, dx = y - radius, x - radius
                    c, s = along[y, x], sign * across[y, x]
                    sy, sx = top + radius + c * dy - s * dx, left + radius + s * dy + c * dx
                    for channel in range(channels):
                        patch[y, x, channel] = bilinear_or_black(picture, sy, sx, channel)
            picture[top : top + cell, left : left + cell] = patch
    return picture


def fish_eyes(image: Image, key: Key, count: int, radius: float, eta: float) -> Field:
    """Glass hemispheres at random places: light is refracted with the index `eta`, in each axis by itself."""
    return _fish_eyes(image.astype(np.float32), key, count, radius, eta)


@inlined
def _bend(offset, z, square, eta2):
    """z·tan(φ − asin(sin φ/η)) with tan φ = offset/z, by the theorem of addition; `square` is offset² + z²."""
    q = np.sqrt(eta2 * square - offset * offset)
    below = z * q + offset * offset
    return z * offset * (q - z) / below if below > 0 else 0.0 * offset


@compiled
def _fish_eyes(picture, key, count, radius, eta):
    height, width, channels = picture.shape
    side = 2 * math.ceil(radius) + 4
    patch = np.zeros((side, side * channels), np.float32)  # the lens and one pixel more; black outside the frame
    square, eta2 = np.float32(radius * radius), np.float32(eta * eta)
    step = np.uint64(channels)
    for lens in range(count):
        y_mid = np.float64(unit(word(key, 2 * lens))) * height
        x_mid = np.float64(unit(word(key, 2 * lens + 1))) * width
        top, bottom = max(math.ceil(y_mid - radius), 0), min(int(y_mid + radius), height - 1)
        left, right = max(math.ceil(x_mid - radius), 0), min(int(x_mid + radius), width - 1)
        for y in range(top - 1, bottom + 2):
            line = patch[y - top + 1]
            for x in range(left - 1, right + 2):
                inside = 0 <= y < height and 0 <= x < width
                for c in range(channels):
                    line[(x - left + 1) * channels + c] = picture[y, x, c] if inside else np.float32(0)
        for y in range(top, bottom + 1):
            target = picture[y]
            dy = np.float32(y - y_mid)
            for x in range(left, right + 1):
                dx = np.float32(x - x_mid)
                depth = square - dy * dy - dx * dx
                if depth > 0:
                    z = np.sqrt(depth)
                    sy = np.float32(y - top + 1) - _bend(dy, z, square - dx * dx, eta2)
                    sx = np.float32(x - left + 1) - _bend(dx, z, square - dy * dy, eta2)
                    y0, x0 = int(sy), int(sx)
                    v, u = sy - np.float32(y0), sx - np.float32(x0)
                    upper, lower = patch[y0], patch[y0 + 1]
                    at = np.uint64(x0) * step
                    for c in range(channels):
                        i = at + np.uint64(c)
                        a = upper[i] + u * (upper[i + step] - upper[i])
                        b = lower[i] + u * (lower[i + step] - lower[i])
                        target[x, c] = a + v * (b - a)
    return picture
