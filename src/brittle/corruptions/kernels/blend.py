"""Laying one picture over another."""

from __future__ import annotations

import numpy as np

from brittle.arrays import Field, Image
from brittle.corruptions.kernels.bytes import to_byte
from brittle.corruptions.kernels.compiled import compiled


def add_and_dim(image: Image, layer: Field, strength: float) -> Image:
    """(x + c·layer)·m/(m + c) with x and layer in [0, 1] and m the largest x; a small layer is repeated."""
    brightest = int(image.max()) / 255
    dim = brightest / (brightest + strength) if brightest else 0.0
    return _add_and_scale(image, layer, np.float32(255 * strength), np.float32(dim))


@compiled
def _add_and_scale(image, layer, gain, scale):
    height, width, channels = image.shape
    out = np.empty(image.shape, np.uint8)
    for y in range(height):
        row = layer[y % layer.shape[0]]
        for start in range(0, width, layer.shape[1]):
            for x in range(start, min(start + layer.shape[1], width)):
                cloud = gain * row[x - start]
                for c in range(channels):
                    out[y, x, c] = to_byte((np.float32(image[y, x, c]) + cloud) * scale)
    return out


def weighted_sum(image: Image, texture: Image, image_weight: float, texture_weight: float) -> Image:
    """a·image + b·texture, saturated."""
    return _weighted_sum(image, texture, np.float32(image_weight), np.float32(texture_weight))


@compiled
def _weighted_sum(image, texture, image_weight, texture_weight):
    out = np.empty(image.shape, np.uint8)
    for y in range(image.shape[0]):
        for x in range(image.shape[1]):
            for c in range(image.shape[2]):
                total = image_weight * np.float32(image[y, x, c]) + texture_weight * np.float32(texture[y, x, c])
                out[y, x, c] = to_byte(total)
    return out


def tint(image: Image, layer: Field, colour: tuple[float, ...], *, opaque: bool) -> Image:
    """Add layer·colour to the image, or let the layer hide it: x·(1−layer) + layer·colour. Colours in grey levels."""
    return _tint(image, layer, np.array(colour, np.float32), np.float32(opaque))


@compiled
def _tint(image, layer, colour, hide):
    out = np.empty(image.shape, np.uint8)
    for y in range(image.shape[0]):
        for x in range(image.shape[1]):
            cover = layer[y, x]
            kept = np.float32(1) - hide * cover
            for c in range(image.shape[2]):
                out[y, x, c] = to_byte(np.float32(image[y, x, c]) * kept + cover * colour[c])
    return out
