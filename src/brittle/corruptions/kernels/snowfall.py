"""The two ends of snow: which points of a field are flakes, and how flakes lie over a picture."""

from __future__ import annotations

import numpy as np

from brittle.arrays import Field, Image
from brittle.corruptions.kernels.bytes import to_byte
from brittle.corruptions.kernels.compiled import compiled


def flakes(field: Field, threshold: float) -> Image:
    """What lies above the threshold, in grey levels."""
    return _flakes(field, np.float32(threshold))


@compiled
def _flakes(field, threshold):
    out = np.empty(field.shape, np.uint8)
    for y in range(field.shape[0]):
        for x in range(field.shape[1]):
            value = field[y, x]
            out[y, x] = to_byte(np.float32(255) * value) if value >= threshold else np.uint8(0)
    return out


def whiten_and_add(image: Image, layer: Field, mix: float) -> Image:
    """Blend (1−mix) of a whitened copy into the image, then add the layer and the layer turned by 180°."""
    return _whiten_and_add(image, layer, np.float32(mix))


@compiled
def _whiten_and_add(image, layer, mix):
    height, width, channels = image.shape
    out = np.empty(image.shape, np.uint8)
    for y in range(height):
        for x in range(width):
            fallen = layer[y, x] + layer[height - 1 - y, width - 1 - x]
            if channels == 3:
                r, g, b = np.float32(image[y, x, 0]), np.float32(image[y, x, 1]), np.float32(image[y, x, 2])
                grey = np.float32(0.299) * r + np.float32(0.587) * g + np.float32(0.114) * b
            else:
                grey = np.float32(image[y, x, 0])
            white = np.float32(1.5) * grey + np.float32(127.5)
            for c in range(channels):
                value = np.float32(image[y, x, c])
                out[y, x, c] = to_byte(mix * value + (np.float32(1) - mix) * max(value, white) + fallen)
    return out
