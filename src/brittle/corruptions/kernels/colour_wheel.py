"""Turning the colour wheel, and drawing colours away from grey."""

from __future__ import annotations

import numpy as np

from brittle.arrays import Image
from brittle.corruptions.kernels.compiled import compiled


def turn_colour_wheel(image: Image, turns: float) -> Image:
    """Add to the hue of HSV in whole turns; value and saturation stay, greys too. Cut to 8 bit."""
    return _turn_colour_wheel(image, 6 * (turns % 1))


@compiled
def _turn_colour_wheel(image, sixths):
    height, width, _ = image.shape
    out = np.empty(image.shape, np.uint8)
    for y in range(height):
        for x in range(width):
            r, g, b = np.float64(image[y, x, 0]), np.float64(image[y, x, 1]), np.float64(image[y, x, 2])
            high, low = max(r, max(g, b)), min(r, min(g, b))
            chroma = high - low
            if chroma == 0:
                out[y, x] = image[y, x]
                continue
            if r == high:
                hue = (g - b) / chroma + 6
            elif g == high:
                hue = (b - r) / chroma + 8
            else:
                hue = (r - g) / chroma + 10
            hue = (hue + sixths) % 6
            sector = min(int(hue), 5)
            # Rising or falling between the two, and never one level short of a whole number by a rounding error.
            f = hue - sector if sector % 2 == 0 else sector + 1 - hue
            between = np.uint8(np.int32(low + chroma * f + 1e-9))
            top, bottom = (sector + 1) // 2 % 3, ((sector + 4) // 2) % 3
            out[y, x, 0] = out[y, x, 1] = out[y, x, 2] = between
            out[y, x, top] = np.uint8(np.int32(high))
            out[y, x, bottom] = np.uint8(np.int32(low))
    return out


def away_from_grey(image: Image, factor: float) -> Image:
    """grey + factor·(x − grey), cut and saturated to 8 bit; 0 is grey, 1 the image. The grey is Pillow's luma."""
    return _away_from_grey(image, np.float32(factor))


@compiled
def _away_from_grey(image, factor):
    height, width, _ = image.shape
    out = np.empty(image.shape, np.uint8)
    for y in range(height):
        for x in range(width):
            r, g, b = np.int64(image[y, x, 0]), np.int64(image[y, x, 1]), np.int64(image[y, x, 2])
            grey = (19595 * r + 38470 * g + 7471 * b + 0x8000) >> 16
            for c in range(3):
                value = np.float32(grey) + factor * np.float32(np.int64(image[y, x, c]) - grey)
                out[y, x, c] = np.uint8(np.int32(min(max(value, np.float32(0)), np.float32(255))))
    return out
