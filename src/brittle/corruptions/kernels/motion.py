"""Motion blur: a one-sided Gaussian trail of whole-pixel steps, as ImageMagick draws it."""

from __future__ import annotations

import math
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Field, Image
from brittle.corruptions.kernels.compiled import compiled

LONG = 96
"""A trail of more taps than this (never reached at published sizes) is drawn in two strides."""


def motion_blur(image: Image, radius: float, sigma: float, angle: float) -> Field:
    """Blur along a direction in degrees; the result is not yet rounded.

    A trail has 2·radius + 1 taps with weights exp(−i²/2σ²); the last tap of a fractional number of taps has a
    fractional weight. Tap i lies at (⌈i·cos θ − ½⌉, ⌈i·sin θ − ½⌉). The trail points one way, so the picture
    moves a little.
    """
    span = 2 * radius + 1
    count = math.ceil(span)
    steps = np.arange(count)
    weights = np.exp(-(steps**2) / (2 * max(sigma, 1e-3) ** 2)) * np.clip(span - steps, 0, 1)
    weights /= weights.sum()
    if count <= LONG:
        return _trail(image, weights, steps, angle)
    stride = math.isqrt(count)
    near = np.arange(stride)
    far = np.arange(0, count, stride)
    grouped = np.add.reduceat(weights, far)
    return _trail(_trail(image, np.full(stride, 1 / stride), near, angle), grouped, far, angle)


def _trail(image: NDArray[Any], weights: NDArray[np.float64], steps: NDArray[Any], angle: float) -> Field:
    theta = math.radians(angle)
    dx = np.ceil(steps * math.cos(theta) - 0.5).astype(np.int64)
    dy = np.ceil(steps * math.sin(theta) - 0.5).astype(np.int64)
    top, bottom = max(0, -int(dy.min())), max(0, int(dy.max()))
    left, right = max(0, -int(dx.min())), max(0, int(dx.max()))
    padded = cv2.copyMakeBorder(image, top, bottom, left, right, cv2.BORDER_REPLICATE)
    height, width, channels = image.shape
    rows = padded.reshape(padded.shape[0], -1)
    starts = (dx + left) * channels
    return _accumulate(rows, dy + top, starts, weights.astype(np.float32), height, width * channels).reshape(
        image.shape
    )


@compiled
def _accumulate(rows, dy, starts, weights, height, length):
    out = np.zeros((height, length), np.float32)
    for y in range(height):
        target = out[y]
        for i in range(len(weights)):
            source = rows[y + dy[i], starts[i] : starts[i] + length]
            weight = weights[i]
            for x in range(length):
                target[x] += weight * np.float32(source[x])
    return out
