"""Waves over the whole picture: plane ones, and bent rings around a centre."""

from __future__ import annotations

import numpy as np

from brittle.arrays import Field
from brittle.corruptions.kernels.compiled import compiled
from brittle.corruptions.kernels.trigonometry import angle, cosine, sine


def plane_wave(height: int, width: int, *, across: float, down: float, phase: float) -> Field:
    """sin(across·x + down·y + phase), frequencies in radians per pixel."""
    return _plane_wave(height, width, across, down, phase)


@compiled
def _plane_wave(height, width, across, down, phase):
    sines, cosines = np.empty(width), np.empty(width)
    for x in range(width):
        sines[x], cosines[x] = sine(across * x), cosine(across * x)
    out = np.empty((height, width), np.float32)
    for y in range(height):
        row = out[y]
        s, c = sine(down * y + phase), cosine(down * y + phase)
        for x in range(width):
            row[x] = sines[x] * c + cosines[x] * s
    return out


def bent_rings(
    height: int, width: int, *, centre: tuple[float, float], spacing: float, bend: float, lobes: float
) -> Field:
    """Sawtooth rings on [−½, ½): frac((r + bend·sin(lobes·θ)) / spacing) − ½ around the centre (x, y)."""
    return _bent_rings(height, width, centre[0], centre[1], spacing, bend, lobes)


@compiled
def _bent_rings(height, width, x0, y0, spacing, bend, lobes):
    out = np.empty((height, width), np.float32)
    for y in range(height):
        row = out[y]
        dy = y - y0
        for x in range(width):
            dx = x - x0
            rings = (np.sqrt(dx * dx + dy * dy) + bend * sine(lobes * angle(dx, dy))) / spacing
            row[x] = rings - np.floor(rings) - 0.5
    return out
