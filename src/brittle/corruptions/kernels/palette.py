"""Few colours for many: a palette along the luma, and whole levels with the error passed on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Image
from brittle.corruptions.kernels.bytes import to_byte
from brittle.corruptions.kernels.compiled import compiled, inlined


def colour_by_luma(image: Image, colours: NDArray[np.int64], smoothness: float, amount: float) -> Image:
    """Blend an RGB image with the colour that its luma has on a scale of five (5×3, grey levels).

    Between two colours the way is a mix of a straight line and a smooth step. The smooth one only ever rises: a
    falling difference wraps to 256 more.
    """
    return _colour_by_luma(image, colours, smoothness, amount)


@compiled
def _colour_by_luma(image, colours, smoothness, amount):
    out = np.empty(image.shape, np.uint8)
    for y in range(image.shape[0]):
        for x in range(image.shape[1]):
            red, green, blue = image[y, x, 0], image[y, x, 1], image[y, x, 2]
            luma = (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255
            band = min(int(4 * luma), 3)
            u = 4 * luma - band
            step = min(max(u, 0.0), 1.0)
            step = step * step * (3 - 2 * step)
            for c in range(3):
                low, high = colours[band, c], colours[band + 1, c]
                straight = low + u * (high - low)
                smooth = low + step * ((high - low) & 255)
                colour = straight + smoothness * (smooth - straight)
                out[y, x, c] = to_byte(np.float64(image[y, x, c]) + amount * (colour - image[y, x, c]))
    return out


def dither_along_rows(image: Image, levels: int) -> Image:
    """Reduce each channel to `levels` values and pass the error on to the right neighbour only.

    It gets 7/16 of the error except in the first row, and then 1/16 except in the last, cut to 8 bit each time.
    """
    return _dither_along_rows(image, levels)


@inlined
def _add_sixteenths(value, sixteenths):
    """A byte plus a number of sixteenths, clipped and truncated."""
    return min(max(16 * value + sixteenths, 0), 16 * 255) >> 4


@compiled
def _dither_along_rows(image, levels):
    height, width, channels = image.shape
    table = np.empty(256, np.uint8)
    for v in range(256):
        table[v] = 255 * (levels * v // 256) // (levels - 1)
    out = np.empty(image.shape, np.uint8)
    for y in range(height):
        for c in range(channels):
            value = np.int64(image[y, 0, c])
            for x in range(width):
                level = np.int64(table[value])
                out[y, x, c] = level
                if x + 1 < width:
                    error = value - level
                    value = np.int64(image[y, x + 1, c])
                    if y > 0:
                        value = _add_sixteenths(value, 7 * error)
                    if y < height - 1:
                        value = _add_sixteenths(value, error)
    return out
