"""A turned checkerboard of which some squares hide the picture."""

from __future__ import annotations

import numpy as np

from brittle.arrays import Image, Key
from brittle.corruptions.kernels.compiled import compiled
from brittle.corruptions.kernels.words import unit, word


def hide_squares(image: Image, key: Key, angle: float, cell: float, share: float, grey: int) -> Image:
    """Paint a share of the black squares of a board grey; which ones is drawn square by square.

    A square's flag is that of its coordinates cut towards 0, so the squares on both sides of 0 share theirs.
    """
    cells = int(4 * max(image.shape[:2]) // cell)
    return _hide_squares(image, key, np.cos(angle) / cell, np.sin(angle) / cell, cells, np.float32(share), grey)


@compiled
def _hide_squares(image, key, cosine, sine, cells, share, grey):
    height, width, channels = image.shape
    out = image.copy()
    for y in range(height):
        for x in range(width):
            u, v = y * cosine + x * sine, x * cosine - y * sine
            if (int(np.floor(u)) - int(np.floor(v))) % 2 == 0:
                square = int(u) % cells * cells + int(v) % cells
                if unit(word(key, square)) < share:
                    for c in range(channels):
                        out[y, x, c] = grey
    return out
