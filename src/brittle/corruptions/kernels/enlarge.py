"""A field brought to another size by linear interpolation, the same to the last bit on every CPU."""

from __future__ import annotations

import numpy as np

from brittle.arrays import Field
from brittle.corruptions.kernels.compiled import compiled


def enlarge(field: Field, height: int, width: int) -> Field:
    """A one-channel field stretched over height×width, pixel centres aligned, edges replicated."""
    return _enlarge(field, height, width)


@compiled
def _positions(source, target):
    lower, weight = np.empty(target, np.int64), np.empty(target, np.float32)
    for i in range(target):
        position = min(max((i + 0.5) * source / target - 0.5, 0.0), source - 1.0)
        lower[i] = min(int(position), max(source - 2, 0))
        weight[i] = position - lower[i]
    return lower, weight


@compiled
def _enlarge(field, height, width):
    rows, columns = field.shape
    y_lower, y_weight = _positions(rows, height)
    x_lower, x_weight = _positions(columns, width)
    out = np.empty((height, width), np.float32)
    blend = np.empty(columns, np.float32)
    for y in range(height):
        upper, lower = field[y_lower[y]], field[min(y_lower[y] + 1, rows - 1)]
        v = y_weight[y]
        for x in range(columns):
            blend[x] = upper[x] + v * (lower[x] - upper[x])
        target = out[y]
        for x in range(width):
            a, b = blend[x_lower[x]], blend[min(x_lower[x] + 1, columns - 1)]
            target[x] = a + x_weight[x] * (b - a)
    return out
