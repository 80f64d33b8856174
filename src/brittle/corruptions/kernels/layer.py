"""Adding a layer of noise to a picture, and fading a picture to white."""

from __future__ import annotations

import numpy as np

from brittle.arrays import Field, Image
from brittle.corruptions.kernels.bytes import to_byte
from brittle.corruptions.kernels.compiled import compiled


def add_layer(image: Image, layer: Field, gain: float, *, keep: float = 1.0) -> Image:
    """keep·image + gain·layer. The layer is one plane H×W for all channels, or one plane for each: C×H×W."""
    planes = layer if layer.ndim == 3 else layer[np.newaxis]
    return _add_layer(image, planes, np.float32(gain), np.float32(keep))


@compiled
def _add_layer(image, planes, gain, keep):
    height, width, channels = image.shape
    out = np.empty(image.shape, np.uint8)
    own = planes.shape[0] > 1
    for y in range(height):
        source, target = image[y], out[y]
        for c in range(channels):
            row = planes[c if own else 0, y]
            for x in range(width):
                target[x, c] = to_byte(keep * np.float32(source[x, c]) + gain * row[x])
    return out


def fade_to_white(image: Image, kept: Field) -> Image:
    """255 − kept·(255 − image): the image where `kept` is 1, white where it is 0."""
    return _fade_to_white(image, kept)


@compiled
def _fade_to_white(image, kept):
    out = np.empty(image.shape, np.uint8)
    white = np.float32(255)
    for y in range(image.shape[0]):
        source, target, row = image[y], out[y], kept[y]
        for x in range(image.shape[1]):
            share = row[x]
            for c in range(image.shape[2]):
                target[x, c] = to_byte(white - share * (white - np.float32(source[x, c])))
    return out
