"""Plasma: a fractal field by midpoint displacement (diamond–square) on a torus."""

from __future__ import annotations

import numpy as np

from brittle.arrays import Field, Key
from brittle.corruptions.kernels.compiled import compiled
from brittle.corruptions.kernels.words import unit, word


def plasma(key: Key, side: int, decay: float) -> Field:
    """A side×side field on [0, 1], side a power of two. A smaller decay makes it rougher.

    The displacement is the nominal amplitude times a uniform variate of that same half-width, so it starts at
    100² and falls by decay² per octave, as in the published code.
    """
    return _plasma(key, side, decay)


@compiled
def _plasma(key, side, decay):
    field = np.zeros((side, side), np.float32)
    mask = side - 1
    step = side
    amplitude = 100.0
    while step >= 2:
        half = step // 2
        sway = np.float32(2 * amplitude * amplitude)
        for y in range(0, side, step):
            for x in range(0, side, step):
                below, right = (y + step) & mask, (x + step) & mask
                corners = (field[y, x] + field[below, x]) + (field[y, right] + field[below, right])
                at = (y + half) * side + x + half
                field[y + half, x + half] = corners * np.float32(0.25) + _shift(key, at, sway)
        for y in range(0, side, step):
            for x in range(0, side, step):
                up, left = (y - half) & mask, (x - half) & mask
                below, right = (y + step) & mask, (x + step) & mask
                centre = field[y + half, x + half]
                over = field[up, x + half] + centre + field[y, x] + field[y, right]
                field[y, x + half] = over * np.float32(0.25) + _shift(key, y * side + x + half, sway)
                beside = field[y + half, left] + centre + field[y, x] + field[below, x]
                field[y + half, x] = beside * np.float32(0.25) + _shift(key, (y + half) * side + x, sway)
        step = half
        amplitude /= decay
    low, high = field.min(), field.max()
    span = high - low if high > low else np.float32(1)
    for y in range(side):
        row = field[y]
        for x in range(side):
            row[x] = (row[x] - low) / span
    return field


@compiled
def _shift(key, at, sway):
    return (unit(word(key, at)) - np.float32(0.5)) * sway
