"""White noise, smoothed: the displacement fields of elastic deformation."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from brittle.arrays import Field, Key
from brittle.corruptions.kernels.compiled import compiled
from brittle.corruptions.kernels.gaussian import gaussian
from brittle.corruptions.kernels.words import uniforms

FEW_TAPS = 8.0
"""Up to this σ the kernel is short and plain convolution is the quickest."""


def smooth_noise(key: Key, height: int, width: int, sigma: float) -> Field:
    """Noise uniform on [−1, 1), smoothed by a Gaussian that ends at 3σ, with mirrored borders."""
    noise = uniforms(key, height, width)
    if sigma <= FEW_TAPS:
        return gaussian(noise, sigma, cut=3.0, mirrored=True)
    return _through_modes(noise, *_modes(height, sigma), *_modes(width, sigma))


@lru_cache(maxsize=32)
def _modes(length: int, sigma: float) -> tuple[Field, Field]:
    """The cosines that survive smoothing, and how much of each does.

    With mirrored borders a symmetric kernel scales each cosine of the DCT-II by its transfer function. A wide
    Gaussian keeps only the slowest few, at any width of the kernel: 99.99 % of the smoothed field's energy is
    kept.
    """
    radius = int(3 * sigma + 0.5)
    taps = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    taps /= taps.sum()
    limit = min(length, math.ceil(8 * length / (math.pi * sigma)) + 2)
    frequencies = np.arange(limit) * math.pi / length
    transfer = np.cos(np.outer(frequencies, np.arange(-radius, radius + 1))) @ taps
    rest = np.cumsum(transfer[::-1] ** 2)[::-1]
    kept = max(1, int(np.count_nonzero(rest > 1e-4 * rest[0])))
    cosines = np.cos(np.outer(frequencies[:kept], np.arange(length) + 0.5)) * math.sqrt(2 / length)
    cosines[0] /= math.sqrt(2)
    return cosines.astype(np.float32), transfer[:kept].astype(np.float32)


@compiled
def _through_modes(noise, rows, row_gain, columns, column_gain):
    """Project onto the cosines, scale, and come back."""
    height, width = noise.shape
    projected = np.zeros((len(rows), width), np.float32)
    for y in range(height):
        for k in range(len(rows)):
            _add_scaled(projected[k], rows[k, y], noise[y])
    mixed = np.zeros((len(rows), width), np.float32)
    for k in range(len(rows)):
        for m in range(len(columns)):
            total = 0.0
            for x in range(width):
                total += projected[k, x] * columns[m, x]
            _add_scaled(mixed[k], np.float32(total) * row_gain[k] * column_gain[m], columns[m])
    out = np.zeros((height, width), np.float32)
    for y in range(height):
        for k in range(len(rows)):
            _add_scaled(out[y], rows[k, y], mixed[k])
    return out


@compiled
def _add_scaled(target, factor, source):
    for i in range(len(target)):
        target[i] += factor * source[i]
