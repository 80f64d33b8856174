"""Looks of old film, with the 8-bit overflows of their published code."""

from __future__ import annotations

import numpy as np

from brittle.arrays import Image
from brittle.corruptions.kernels.compiled import compiled, inlined


@inlined
def wrapped(value):
    """Cut the fraction off and keep the last eight bits: 256 becomes 0 and −1 becomes 255."""
    return np.uint8(np.int64(value) & 255)


def bleach_bypass(image: Image, amount: float) -> Image:
    """Blend an RGB image with its own luma laid over it: multiplied in the shadows, screened in the lights."""
    return _bleach_bypass(image, amount)


@compiled
def _bleach_bypass(image, amount):
    out = np.empty(image.shape, np.uint8)
    for y in range(image.shape[0]):
        for x in range(image.shape[1]):
            red, green, blue = image[y, x, 0], image[y, x, 1], image[y, x, 2]
            luma = (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255
            light = min(max(10 * (luma - 0.45), 0.0), 1.0)
            for c in range(3):
                value = np.int64(image[y, x, c])
                multiplied = ((2 * value) & 255) * luma  # twice the value, in eight bits
                screened = 255 - 2 * (1 - luma) * (255 - value)
                overlaid = (1 - light) * multiplied + light * screened
                out[y, x, c] = wrapped(value + amount * (overlaid - value))
    return out


def technicolor(image: Image, amount: float) -> Image:
    """Blend an RGB image with one whose channels are each filtered by the mattes of the other two."""
    return _technicolor(image, amount)


@compiled
def _technicolor(image, amount):
    out = np.empty(image.shape, np.uint8)
    for y in range(image.shape[0]):
        for x in range(image.shape[1]):
            r, g, b = np.float64(image[y, x, 0]), np.float64(image[y, x, 1]), np.float64(image[y, x, 2])
            red = 1 - (r - (g + b) / 2) / 255
            green = 1 - (g - (r + b) / 2) / 255
            blue = 1 - (b - (r + g) / 2) / 255
            out[y, x, 0] = wrapped(r + amount * (r * green * blue - r))
            out[y, x, 1] = wrapped(g + amount * (g * red * blue - g))
            out[y, x, 2] = wrapped(b + amount * (b * red * green - b))
    return out
