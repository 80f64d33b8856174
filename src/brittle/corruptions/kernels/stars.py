"""Stars: many rays of different lengths round a centre, fading with the distance."""

from __future__ import annotations

import numpy as np

from brittle.arrays import Field
from brittle.corruptions.kernels.compiled import compiled
from brittle.corruptions.kernels.trigonometry import PI, angle


def star(height: int, width: int, *, centre: tuple[float, float], lengths: Field, exponent: float = 1.0) -> Field:
    """How much of the star is seen at each pixel, on [0, 1].

    (1 − (f − ½)²)·(L²/D²)^exponent at a distance D from the centre (y, x), where L runs evenly from the length of
    one ray to that of the next and f is the way between the two. There are at least two rays.
    """
    return _star(height, width, centre[0], centre[1], np.concatenate([lengths, lengths[:2]]), exponent)


@compiled
def _star(height, width, y0, x0, lengths, exponent):
    count = len(lengths) - 2  # the first two rays stand at the end again
    out = np.empty((height, width), np.float32)
    wheel, ratio = np.empty(width), np.empty(width)
    for y in range(height):
        dy = y - y0
        for x in range(width):
            dx = x - x0
            wheel[x] = max((angle(dx, dy) + PI) * (count / (2 * PI)), 0.0)
            ratio[x] = dy * dy + dx * dx + 1e-4
        for x in range(width):
            ray = int(wheel[x])
            wheel[x] -= ray
            length = lengths[ray] + wheel[x] * (lengths[ray + 1] - lengths[ray])
            ratio[x] = length * length / ratio[x]
        if exponent != 1.0:
            for x in range(width):
                ratio[x] = ratio[x] ** exponent
        row = out[y]
        for x in range(width):
            row[x] = min((1 - (wheel[x] - 0.5) * (wheel[x] - 0.5)) * ratio[x], 1.0)
    return out
