"""Pixels read from near places by a formula, bilinearly, with black outside the frame, cut to 8 bit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Image
from brittle.corruptions.kernels.bytes import to_byte
from brittle.corruptions.kernels.compiled import compiled, inlined
from brittle.corruptions.kernels.sample import bilinear_or_black
from brittle.corruptions.kernels.trigonometry import sine


@inlined
def _hash(angle):
    """A number on [−1, 1) that looks random: the far digits of a sine."""
    far = 43758.5453 * sine(angle)
    return 2 * (far - np.floor(far)) - 1


def scatter(image: Image, seed: float, radius: float) -> Image:
    """Read each pixel up to `radius` away, by a hash of its row and column; the frame is not left."""
    return _scatter(image, seed, radius)


@compiled
def _scatter(image, seed, radius):
    height, width, channels = image.shape
    out = np.empty(image.shape, np.uint8)
    places = np.arange(max(height, width)) * seed
    sines, cosines = 12.9898 * np.sin(places), 78.233 * np.cos(places)
    rows, columns = np.empty(width), np.empty(width)
    for y in range(height):
        for x in range(width):
            rows[x] = y + radius * _hash(sines[y] + cosines[x])
            columns[x] = x + radius * _hash(sines[x] + cosines[y])
        for x in range(width):
            sy, sx = min(max(rows[x], 0.0), height - 1.0), min(max(columns[x], 0.0), width - 1.0)
            for c in range(channels):
                out[y, x, c] = to_byte(bilinear_or_black(image, sy, sx, c))
    return out


def ring_waves(
    image: Image, centre: tuple[float, float], wavelength: float, phase: float, amplitude: float, reach: int
) -> Image:
    """Push pixels to and fro along the radius by amplitude·wavelength, as far as `reach` from the centre."""
    return _ring_waves(image, centre[0], centre[1], wavelength, phase, amplitude, reach)


@compiled
def _ring_waves(image, y_mid, x_mid, wavelength, phase, amplitude, reach):
    height, width, channels = image.shape
    out = image.copy()
    distances, pushes = np.empty(width), np.empty(width)
    turns, height_px = 2 * np.pi / wavelength, amplitude * wavelength
    for y in range(height):
        dy = y - y_mid
        for x in range(width):
            dx = x - x_mid
            distances[x] = np.sqrt(dy * dy + dx * dx)
            pushes[x] = height_px * sine(turns * distances[x] - phase) / distances[x]
        for x in range(width):
            if 0 < distances[x] <= reach:
                sy, sx = y + pushes[x] * dy, x + pushes[x] * (x - x_mid)
                for c in range(channels):
                    out[y, x, c] = to_byte(bilinear_or_black(image, sy, sx, c))
    return out


def read_grid(image: Image, rows: NDArray[np.float64], columns: NDArray[np.float64]) -> Image:
    """Read each pixel (y, x) at (rows[y], columns[x])."""
    return _read_grid(image, rows, columns)


@compiled
def _read_grid(image, rows, columns):
    height, width, channels = image.shape
    out = np.empty(image.shape, np.uint8)
    for y in range(height):
        for x in range(width):
            for c in range(channels):
                out[y, x, c] = to_byte(bilinear_or_black(image, rows[y], columns[x], c))
    return out
