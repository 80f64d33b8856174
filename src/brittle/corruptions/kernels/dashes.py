"""Dashes with dotted wings along the rows or along the columns, as of a failing screen."""

from __future__ import annotations

import numpy as np

from brittle.arrays import Image, Key
from brittle.corruptions.kernels.compiled import compiled
from brittle.corruptions.kernels.stamps import below, canvas_length, first_from
from brittle.corruptions.kernels.words import word


def dashes(image: Image, key: Key, count: int, grey: int, pixel: float, *, vertical: bool) -> Image:
    """Draw `count` dashes of one grey on a canvas whose pixels are `pixel` image pixels wide (see stamps.py).

    A dash is 5 pixels long and 3 wide. Six of seven have wings of 5 dots on each side, every other pixel; the wing
    of a side is left out where it would not fit. The left wing begins inside the dash, so only 4 of its dots show.
    """
    out = image.copy()
    _dashes(out, key, count, np.uint8(grey), pixel, vertical)
    return out


@compiled
def _dashes(out, key, count, grey, pixel, vertical):
    height, width = canvas_length(out.shape[0], pixel), canvas_length(out.shape[1], pixel)
    across, along = (width, height) if vertical else (height, width)
    for i in range(count):
        bits = word(key, 2 * i)
        line = 1 + below(bits, max(across - 2, 1))
        centre = 2 + below(bits << np.uint64(32), max(along - 4, 1))
        winged = below(word(key, 2 * i + 1), 7) > 0
        _fill(out, line, centre - 2, centre + 3, grey, pixel, vertical)
        for dot in range(5):
            if winged and centre + 2 < along - 12:
                _fill(out, line, centre + 6 + 2 * dot, centre + 7 + 2 * dot, grey, pixel, vertical)
            if winged and centre - 2 > 7:
                _fill(out, line, centre - 10 + 2 * dot, centre - 9 + 2 * dot, grey, pixel, vertical)


@compiled
def _fill(out, line, begin, end, grey, pixel, vertical):
    """Paint [begin, end) along the line, three lines wide."""
    height, width, channels = out.shape
    if vertical:
        top, bottom = first_from(begin, pixel, height), first_from(end, pixel, height)
        left, right = first_from(line - 1, pixel, width), first_from(line + 2, pixel, width)
    else:
        top, bottom = first_from(line - 1, pixel, height), first_from(line + 2, pixel, height)
        left, right = first_from(begin, pixel, width), first_from(end, pixel, width)
    for y in range(top, bottom):
        for x in range(left, right):
            for c in range(channels):
                out[y, x, c] = grey
