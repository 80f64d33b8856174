"""The way from real numbers to bytes where the published code never leaves them: clip, then round to nearest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Image
from brittle.corruptions.kernels.compiled import compiled, inlined


@inlined
def to_nearest_byte(value):
    """Clip to 0…255 and round to nearest, halves up."""
    return np.uint8(np.int32(min(max(value, np.float32(0)), np.float32(255)) + np.float32(0.5)))


def nearest_bytes(values: NDArray[np.floating[Any]]) -> Image:
    """Clip an array of grey levels and round it to nearest, halves up."""
    return np.asarray(np.floor(np.clip(values, 0, 255) + 0.5), np.uint8)


def mix(image: Image, other: NDArray[Any], weight: float) -> Image:
    """(1−w)·image + w·other, rounded; `other` is uint8 or float32 of the same shape, in grey levels."""
    return _mix(image, other, np.float32(weight))


@compiled
def _mix(image, other, weight):
    out = np.empty(image.shape, np.uint8)
    a, b, target = image.reshape(-1), other.reshape(-1), out.reshape(-1)
    kept = np.float32(1) - weight
    for i in range(target.size):
        target[i] = to_nearest_byte(kept * np.float32(a[i]) + weight * np.float32(b[i]))
    return out
