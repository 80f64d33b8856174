"""Small shapes at random places, drawn in the pixels of a canvas that is laid over the image.

A canvas pixel is `pixel` image pixels wide. At 1 the shapes are the published ones; on a smaller image each pixel
shows the point of the canvas at its centre: a shape may fall between the pixels, but the share that is covered stays.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Image, Key
from brittle.corruptions.kernels.compiled import compiled, inlined
from brittle.corruptions.kernels.rounding import to_nearest_byte
from brittle.corruptions.kernels.words import unit, word

Runs = NDArray[np.int64]
"""A shape as runs of pixels about its centre: row, first column, first column after."""

HALF_WIDTHS = (1, 3, 4, 5, 5, 6, 6, 6, 5, 5, 4, 3, 1)
DISC: Runs = np.array([(row, -half, half + 1) for row, half in zip(range(-6, 7), HALF_WIDTHS, strict=True)])
"""13 pixels across; published as a table of half-widths."""

DIAMOND: Runs = np.array([(row, abs(row) - 7, 7 - abs(row)) for row in range(-6, 7)])
"""13 rows of even length, 14 pixels at the widest, so a little further to the left of its centre."""

MARGIN = 7
"""Centres keep this distance from the top and left edge, and from the far edges counted from the end."""


def stamp_greys(image: Image, shape: Runs, key: Key, count: int, pixel: float) -> Image:
    """Lay `count` shapes over the image, each in its own flat grey, uniform on [0, 1); later ones hide earlier ones."""
    out = image.copy()
    _stamp_greys(out, shape, key, count, pixel)
    return out


def stamp_whitening(image: Image, shape: Runs, key: Key, count: int, pixel: float) -> Image:
    """Lay `count` shapes over the image, each drawing what it covers half-way to white; where they overlap, again."""
    return _stamp_whitening(image, shape, key, count, pixel)


@inlined
def below(bits, count):
    """A whole number uniform on 0 … count−1 from the upper half of a word."""
    return np.int64(((bits >> np.uint64(32)) * np.uint64(count)) >> np.uint64(32))


@inlined
def first_from(edge, pixel, length):
    """The first of `length` pixels whose centre lies at or beyond an edge of the canvas."""
    return min(max(np.int64(np.ceil(edge * pixel - 0.5)), 0), length)


@inlined
def canvas_length(length, pixel):
    """How many canvas pixels go along a side."""
    return np.int64(np.rint(length / pixel))


@compiled
def _place(key, i, height, width, pixel):
    """The centre of shape i."""
    bits = word(key, 2 * i)
    rows = max(canvas_length(height, pixel) - 2 * MARGIN + 1, 1)
    columns = max(canvas_length(width, pixel) - 2 * MARGIN + 1, 1)
    return MARGIN + below(bits, rows), MARGIN + below(bits << np.uint64(32), columns)


@compiled
def _stamp_greys(out, runs, key, count, pixel):
    height, width, channels = out.shape
    for i in range(count):
        row, column = _place(key, i, height, width, pixel)
        grey = to_nearest_byte(np.float32(255) * unit(word(key, 2 * i + 1)))
        for run in range(len(runs)):
            left = first_from(column + runs[run, 1], pixel, width)
            right = first_from(column + runs[run, 2], pixel, width)
            top = first_from(row + runs[run, 0], pixel, height)
            for y in range(top, first_from(row + runs[run, 0] + 1, pixel, height)):
                for x in range(left, right):
                    for c in range(channels):
                        out[y, x, c] = grey


@compiled
def _stamp_whitening(image, runs, key, count, pixel):
    height, width, channels = image.shape
    layers = np.zeros((height, width), np.uint8)
    for i in range(count):
        row, column = _place(key, i, height, width, pixel)
        for run in range(len(runs)):
            left = first_from(column + runs[run, 1], pixel, width)
            right = first_from(column + runs[run, 2], pixel, width)
            top = first_from(row + runs[run, 0], pixel, height)
            for y in range(top, first_from(row + runs[run, 0] + 1, pixel, height)):
                for x in range(left, right):
                    layers[y, x] = min(layers[y, x] + 1, 9)  # after nine of them everything is white
    table = np.empty((10, 256), np.uint8)
    share = np.float32(1)
    for layer in range(10):
        for grey in range(256):
            table[layer, grey] = to_nearest_byte(np.float32(255) - share * np.float32(255 - grey))
        share *= np.float32(0.5)
    out = image.copy()
    for y in range(height):
        for x in range(width):
            if layers[y, x]:
                for c in range(channels):
                    out[y, x, c] = table[layers[y, x], image[y, x, c]]
    return out
