"""Swirling colours: a picture of sines whose coordinates are bent by sines, again and again."""

from __future__ import annotations

import numpy as np

from brittle.arrays import Field
from brittle.corruptions.kernels.compiled import compiled
from brittle.corruptions.kernels.trigonometry import cosine, sine


def swirls(height: int, width: int, planes: int, *, time: float, steps: int, decay: float, size: float) -> Field:
    """The first `planes` of three fields on [−1, 1], P×H×W.

    Every one of the steps bends the coordinates with waves 1.93 times as fine and `decay` times as weak as the
    one before; `size` is the length of a unit in pixels.
    """
    return _swirls(height, width, planes, time, steps, decay, size)


@compiled
def _swirls(height, width, planes, time, steps, decay, size):
    out = np.empty((planes, height, width), np.float32)
    us, vs = np.empty(width), np.empty(width)
    wobble = sine(time)
    for y in range(height):
        for x in range(width):
            us[x], vs[x] = x / size, y / size
        fine, slow, weak = 1.0, 1.0, 1.0
        for _ in range(steps):
            shift = time / slow
            for x in range(width):
                u, v = us[x], vs[x]
                p, q = cosine(fine * v + shift) / weak, sine(fine * u + shift) / weak
                us[x] = u + (p - 0.3 * q)
                vs[x] = v + (q + 0.3 * p)
            fine *= 1.93
            slow *= 1.15
            weak *= decay
        _shade(us, -time, out[0, y])
        if planes == 3:
            _shade(0.5 * (us + vs + wobble), 0.0, out[1, y])
            _shade(vs, time, out[2, y])
    return out


@compiled
def _shade(position, shift, row):
    for x in range(len(row)):
        row[x] = sine(position[x] + shift)
