"""OpenCV's 8-bit colour spaces, quantised as they are."""

from __future__ import annotations

import cv2
import numpy as np

from brittle.arrays import Image
from brittle.corruptions.kernels.bytes import to_byte
from brittle.corruptions.kernels.compiled import compiled


def convert(image: Image, code: int) -> Image:
    """From one colour space to another, such as cv2.COLOR_RGB2HSV: hue 0 … 179, the others 0 … 255."""
    return np.asarray(cv2.cvtColor(image, code), np.uint8)


def hsv_to_rgb(image: Image) -> Image:
    """From OpenCV's 8-bit HSV back to RGB, truncated as OpenCV does it, but the same on every CPU."""
    return _hsv_to_rgb(image)


@compiled
def _hsv_to_rgb(image):
    height, width, _ = image.shape
    out = np.empty(image.shape, np.uint8)
    for y in range(height):
        for x in range(width):
            hue = np.float32(image[y, x, 0]) * np.float32(6.0 / 180.0)
            fall = np.float32(image[y, x, 1]) / np.float32(255)
            value = np.float32(image[y, x, 2]) + np.float32(1e-3)  # whole values are not cut to the one below
            sector = int(hue)
            part = hue - np.float32(sector)
            low = value * (np.float32(1) - fall)
            falling = value * (np.float32(1) - fall * part)
            rising = value * (np.float32(1) - fall * (np.float32(1) - part))
            sector %= 6
            if sector == 0:
                r, g, b = value, rising, low
            elif sector == 1:
                r, g, b = falling, value, low
            elif sector == 2:
                r, g, b = low, value, rising
            elif sector == 3:
                r, g, b = low, falling, value
            elif sector == 4:
                r, g, b = rising, low, value
            else:
                r, g, b = value, low, falling
            out[y, x, 0], out[y, x, 1], out[y, x, 2] = to_byte(r), to_byte(g), to_byte(b)
    return out
