"""Turbulence: five octaves of gradient noise (Perlin 1985), each folded at 0."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Field, Key
from brittle.corruptions.kernels.compiled import compiled
from brittle.corruptions.kernels.words import word

PERIOD = 256
OCTAVES = 5


def turbulence(key: Key, height: int, width: int, spacing: float) -> Field:
    """Σ |noise(2ᵏ p)|/2ᵏ with `spacing` pixels between the lattice points of the first octave."""
    return _turbulence(height, width, spacing, *lattice(key))


def lattice(key: Key) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """256 gradients, and the shuffled order of 0 … 255 in which lattice points take them.

    As published: gradients are normalised points of a 512×512 grid (so not uniform in angle), and each place is
    exchanged with any other, which does not make all orders equally likely.
    """
    return _lattice(key)


@compiled
def _lattice(key):
    gradients = np.zeros((PERIOD, 2))
    for i in range(PERIOD):
        bits = word(key, i)
        a = np.float64(np.int64(bits & np.uint64(511)) - 256)
        b = np.float64(np.int64((bits >> np.uint64(9)) & np.uint64(511)) - 256)
        length = np.sqrt(a * a + b * b)
        if length > 0:
            gradients[i, 0], gradients[i, 1] = a / length, b / length
    order = np.arange(PERIOD)
    for i in range(PERIOD - 1, -1, -1):
        other = np.int64(word(key, PERIOD + i) & np.uint64(255))
        order[i], order[other] = order[other], order[i]
    return gradients, order


@compiled
def _turbulence(height, width, spacing, gradients, order):
    out = np.zeros((height, width), np.float32)
    for octave in range(OCTAVES):
        zoom = 2.0**octave / spacing
        share = np.float32(1.5 / 2.0**octave)
        cells = int((width - 1) * zoom) + 2
        slopes, heights = np.empty(cells, np.float32), np.empty(cells, np.float32)
        column, way, fade = np.empty(width, np.int32), np.empty(width, np.float32), np.empty(width, np.float32)
        for x in range(width):
            column[x] = int(x * zoom)
            u = x * zoom - column[x]
            way[x], fade[x] = u, _smooth(u)
        for y in range(height):
            above = int(y * zoom)
            v = y * zoom - above
            _mix_rows(slopes, heights, above, v, gradients, order)
            row = out[y]
            for x in range(width):
                i, u = column[x], way[x]
                left = slopes[i] * u + heights[i]
                right = slopes[i + 1] * (u - np.float32(1)) + heights[i + 1]
                row[x] += share * abs(left + fade[x] * (right - left))
    return out


@compiled
def _smooth(t):
    return t * t * (3 - 2 * t)


@compiled
def _mix_rows(slopes, heights, above, v, gradients, order):
    """Noise on one line of pixels is made of straight lines, one for each column of the lattice: their slopes, heights.

    That is the mixture of the gradients above and below the line, as far as the line is between the two.
    """
    mix = _smooth(v)
    for i in range(len(slopes)):
        start = order[i % PERIOD]
        upper = gradients[order[(start + above) % PERIOD]]
        lower = gradients[order[(start + above + 1) % PERIOD]]
        slopes[i] = upper[0] + mix * (lower[0] - upper[0])
        heights[i] = v * upper[1] + mix * ((v - 1) * lower[1] - v * upper[1])
