"""Hue and grey, in the whole numbers of Pillow's colour modes."""

from __future__ import annotations

import numpy as np

from brittle.arrays import Image
from brittle.corruptions.kernels.compiled import compiled
from brittle.corruptions.kernels.rounding import to_nearest_byte


def rotate_hue(image: Image, steps: int) -> Image:
    """Rotate the hue by steps/256 of the circle, on the way through HSV of 8 bits each.

    Hue and saturation are cut to whole 255ths on the way there and the colours rounded on the way back, so that a
    rotation by 0 also changes colours a little.
    """
    return _rotate_hue(image, steps % 256)


@compiled
def _rotate_hue(image, steps):
    height, width, _ = image.shape
    out = np.empty(image.shape, np.uint8)
    for y in range(height):
        source, target = image[y], out[y]
        for x in range(width):
            r, g, b = np.int32(source[x, 0]), np.int32(source[x, 1]), np.int32(source[x, 2])
            value, low = max(r, max(g, b)), min(r, min(g, b))
            if value == low:
                target[x, 0] = target[x, 1] = target[x, 2] = value
                continue
            spread = np.float32(value - low)
            saturation = np.int32(np.float64(spread / np.float32(value)) * 255.0)
            red = np.float32(value - r) / spread
            green = np.float32(value - g) / spread
            blue = np.float32(value - b) / spread
            if r == value:
                hue = np.float64(blue - green)
            elif g == value:
                hue = 2.0 + np.float64(red) - np.float64(blue)
            else:
                hue = 4.0 + np.float64(green) - np.float64(red)
            turn = np.float64(np.float32(hue)) / 6.0 + 1.0
            turn = np.float64(np.float32(turn - np.floor(turn)))
            angle = (np.int32(turn * 255.0) + steps) & 255
            sextant = angle * 6 // 255
            part = np.float64(np.float32(angle * 6.0 / 255.0 - sextant))
            strength = np.float64(np.float32(saturation / 255.0))
            p = np.int32(value * (1.0 - strength) + 0.5)
            q = np.int32(value * (1.0 - strength * part) + 0.5)
            t = np.int32(value * (1.0 - strength * (1.0 - part)) + 0.5)
            sextant %= 6
            if saturation == 0:
                p = q = t = value
            if sextant == 0:
                target[x, 0], target[x, 1], target[x, 2] = value, t, p
            elif sextant == 1:
                target[x, 0], target[x, 1], target[x, 2] = q, value, p
            elif sextant == 2:
                target[x, 0], target[x, 1], target[x, 2] = p, value, t
            elif sextant == 3:
                target[x, 0], target[x, 1], target[x, 2] = p, q, value
            elif sextant == 4:
                target[x, 0], target[x, 1], target[x, 2] = t, p, value
            else:
                target[x, 0], target[x, 1], target[x, 2] = value, p, q
    return out


def mix_with_luma(image: Image, weight: float) -> Image:
    """(1−w)·image + w·luma with the Rec. 601 luma as the whole number that Pillow's mode L has."""
    return _mix_with_luma(image, np.float32(weight))


@compiled
def _mix_with_luma(image, weight):
    height, width, _ = image.shape
    out = np.empty(image.shape, np.uint8)
    kept = np.float32(1) - weight
    for y in range(height):
        source, target = image[y], out[y]
        for x in range(width):
            r, g, b = np.int32(source[x, 0]), np.int32(source[x, 1]), np.int32(source[x, 2])
            luma = weight * np.float32((19595 * r + 38470 * g + 7471 * b + 32768) >> 16)
            target[x, 0] = to_nearest_byte(kept * np.float32(r) + luma)
            target[x, 1] = to_nearest_byte(kept * np.float32(g) + luma)
            target[x, 2] = to_nearest_byte(kept * np.float32(b) + luma)
    return out
