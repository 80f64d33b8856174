"""Pixels that take their neighbours' colours."""

from __future__ import annotations

import math

import numpy as np

from brittle.arrays import Image, Key
from brittle.corruptions.kernels.compiled import compiled
from brittle.corruptions.kernels.words import unit, word


def copy_from_neighbours(image: Image, key: Key, reach: float, sweeps: float) -> Image:
    """Sweep the image in place, from the bottom right to the top left, each pixel becoming a copy of a neighbour.

    Offsets are uniform on −reach … reach−1 in both directions; a real-valued reach goes on smoothly down to 0,
    where nothing moves.
    """
    out = image.copy()
    _sweep(out, key, np.float32(reach), max(1, math.ceil(reach)), math.ceil(sweeps), np.float32(sweeps))
    return out


@compiled
def _sweep(image, key, reach, margin, sweeps, share):
    height, width, channels = image.shape
    lift = np.float32(0.5) * (np.float32(1) - min(reach, np.float32(1)))
    scale = np.float32(2.0**-16)
    for sweep in range(sweeps):
        visited = min(share - np.float32(sweep), np.float32(1))
        for y in range(height - margin, margin, -1):
            for x in range(width - margin, margin, -1):
                bits = word(key, (sweep * height + y) * width + x)
                if visited < 1 and unit(bits << np.uint64(32)) >= visited:
                    continue
                u = np.float32(np.int32(bits >> np.uint64(48))) * scale
                v = np.float32(np.int32((bits >> np.uint64(32)) & np.uint64(0xFFFF))) * scale
                dx = int(np.floor(reach * (np.float32(2) * u - np.float32(1)) + lift))
                dy = int(np.floor(reach * (np.float32(2) * v - np.float32(1)) + lift))
                for c in range(channels):
                    image[y, x, c] = image[y + dy, x + dx, c]
