"""Changes to value, saturation and contrast, without the way through HSV."""

from __future__ import annotations

import numpy as np

from brittle.arrays import Image
from brittle.corruptions.kernels.compiled import compiled


def shift_value(image: Image, shift: float) -> Image:
    """Add to V of HSV: each pixel is scaled so that its largest channel grows by `shift`; black becomes grey."""
    return _shift_value(image, shift)


@compiled
def _shift_value(image, shift):
    height, width, channels = image.shape
    out = np.empty(image.shape, np.uint8)
    target = np.empty(256)
    ratio = np.empty(256)
    for v in range(256):
        target[v] = min(max(v / 255.0 + shift, 0.0), 1.0) * 255.0
        ratio[v] = target[v] / v if v else 0.0
    for y in range(height):
        for x in range(width):
            v = image[y, x, 0]
            for c in range(1, channels):
                v = max(v, image[y, x, c])
            for c in range(channels):
                value = image[y, x, c]
                grown = target[v] if value == v else value * ratio[v]
                out[y, x, c] = np.uint8(np.int32(grown))
    return out


def change_saturation(image: Image, factor: float, shift: float) -> Image:
    """S ← clip(S·factor + shift) of HSV. A neutral grey counts as red, so a shift colours it."""
    return _change_saturation(image, factor, shift)


@compiled
def _change_saturation(image, factor, shift):
    height, width, _ = image.shape
    out = np.empty(image.shape, np.uint8)
    for y in range(height):
        for x in range(width):
            r, g, b = np.float64(image[y, x, 0]), np.float64(image[y, x, 1]), np.float64(image[y, x, 2])
            v, low = max(r, max(g, b)), min(r, min(g, b))
            spread = v - low
            saturation = spread / v if v > 0 else 0.0
            changed = min(max(saturation * factor + shift, 0.0), 1.0)
            if spread > 0:
                gain = changed / saturation
                r, g, b = v - (v - r) * gain, v - (v - g) * gain, v - (v - b) * gain
            else:
                g = b = v * (1 - changed)
            out[y, x, 0] = np.uint8(np.int32(max(r, 0.0)))
            out[y, x, 1] = np.uint8(np.int32(max(g, 0.0)))
            out[y, x, 2] = np.uint8(np.int32(max(b, 0.0)))
    return out


def draw_towards_mean(image: Image, factor: float) -> Image:
    """(x − μ)·factor + μ with μ the mean of the channel."""
    return _draw_towards_mean(image, factor)


@compiled
def _draw_towards_mean(image, factor):
    height, width, channels = image.shape
    sums = np.zeros(channels, np.int64)
    for y in range(height):
        for x in range(width):
            for c in range(channels):
                sums[c] += image[y, x, c]
    table = np.empty((channels, 256), np.uint8)
    for c in range(channels):
        mean = sums[c] / (height * width)
        for grey in range(256):
            table[c, grey] = np.uint8(np.int32(min(max((grey - mean) * factor + mean, 0.0), 255.0)))
    out = np.empty(image.shape, np.uint8)
    for y in range(height):
        for x in range(width):
            for c in range(channels):
                out[y, x, c] = table[c, image[y, x, c]]
    return out
