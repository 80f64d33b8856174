"""Distance to the nearest of randomly placed points, one in each cell of a grid (Worley's cellular noise)."""

from __future__ import annotations

import numpy as np

from brittle.arrays import Field
from brittle.corruptions.kernels.compiled import compiled
from brittle.corruptions.kernels.trigonometry import sine


def distance_to_points(height: int, width: int, *, size: float, spread: float) -> Field:
    """The distance in cells, at most 1, with cells of `size` pixels.

    Points are placed by a sine hash whose strength is `spread`: near 0 they form a regular grid.
    """
    return _distance_to_points(height, width, size, spread)


@compiled
def _distance_to_points(height, width, size, spread):
    out = np.empty((height, width), np.float32)
    cells = int((width - 1) / size + 1) + 2
    points = np.empty((3, 2, cells))  # of three rows of cells: the one that is being drawn and its neighbours
    drawn = -1
    for y in range(height):
        v = y / size + 1
        at = int(v)
        if at != drawn:
            for k in range(3):
                _place(points[k], at + k - 1, spread)
            drawn = at
        row = out[y]
        for x in range(width):
            u = x / size + 1
            column = int(u)
            nearest = 1.0
            for k in range(3):
                across, down = points[k, 0], points[k, 1]
                for j in range(3):
                    dx = j - 1 + across[column - 1 + j] - (u - column)
                    dy = k - 1 + down[column - 1 + j] - (v - at)
                    nearest = min(nearest, dx * dx + dy * dy)
            row[x] = np.sqrt(nearest)
    return out


@compiled
def _place(points, row, spread):
    for column in range(points.shape[1]):
        a = 13.85 * column + 47.77 * row
        b = 99.41 * column + 88.48 * row
        across, down = sine(a) * np.sqrt(a) * spread, sine(b) * np.sqrt(b) * spread
        points[0, column] = across - np.floor(across)
        points[1, column] = down - np.floor(down)
