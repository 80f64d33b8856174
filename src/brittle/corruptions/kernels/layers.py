"""Layers over a picture: how they are blended, and how a coarse one is enlarged."""

from __future__ import annotations

import numpy as np

from brittle._types import Field, Pixels
from brittle.corruptions.kernels.arithmetic import compiled, level


def weighted_sum(image: Pixels, texture: Pixels, image_weight: float, texture_weight: float) -> Pixels:
    """a·image + b·texture, saturated."""
    return _weighted_sum(image, texture, np.float32(image_weight), np.float32(texture_weight))


@compiled
def _weighted_sum(image, texture, image_weight, texture_weight):
    out = np.empty(image.shape, image.dtype)
    source, other, target = image.reshape(-1), texture.reshape(-1), out.reshape(-1)
    for i in range(np.uint64(target.size)):
        target[i] = level(image_weight * np.float32(source[i]) + texture_weight * np.float32(other[i]))
    return out


def tint(image: Pixels, layer: Field, colour: tuple[float, ...], *, opaque: bool) -> Pixels:
    """Add layer·colour to the image, or let the layer hide it: x·(1−layer) + layer·colour. Colours in grey levels."""
    return _tint(image, layer, np.array(colour, np.float32), np.float32(opaque))


@compiled
def _tint(image, layer, colour, hide):
    out = np.empty(image.shape, image.dtype)
    for y in range(image.shape[0]):
        for x in range(image.shape[1]):
            cover = layer[y, x]
            kept = np.float32(1) - hide * cover
            for c in range(image.shape[2]):
                out[y, x, c] = level(np.float32(image[y, x, c]) * kept + cover * colour[c])
    return out


def add_layer(image: Pixels, layer: Field, gain: float, *, keep: float = 1.0) -> Pixels:
    """keep·image + gain·layer. The layer is one plane H×W for all channels, or one plane for each: C×H×W."""
    planes = layer if layer.ndim == 3 else layer[np.newaxis]
    return _add_layer(image, planes, np.float32(gain), np.float32(keep))


@compiled
def _add_layer(image, planes, gain, keep):
    height, width, channels = image.shape
    out = np.empty(image.shape, image.dtype)
    per_channel = planes.shape[0] > 1
    for y in range(height):
        source, target = image[y], out[y]
        for c in range(channels):
            row = planes[c if per_channel else 0, y]
            for x in range(width):
                target[x, c] = level(keep * np.float32(source[x, c]) + gain * row[x])
    return out


def fade_to_white(image: Pixels, kept: Field) -> Pixels:
    """255 − kept·(255 − image): the image where `kept` is 1, white where it is 0."""
    return _fade_to_white(image, kept)


@compiled
def _fade_to_white(image, kept):
    out = np.empty(image.shape, image.dtype)
    white = np.float32(255)
    for y in range(image.shape[0]):
        source, target, row = image[y], out[y], kept[y]
        for x in range(image.shape[1]):
            share = row[x]
            for c in range(image.shape[2]):
                target[x, c] = level(white - share * (white - np.float32(source[x, c])))
    return out


def enlarge(field: Field, height: int, width: int) -> Field:
    """A one-channel field stretched over height×width, pixel centres aligned, edges replicated."""
    return _enlarge(field, height, width)


@compiled
def _positions(source, target):
    lower, weight = np.empty(target, np.int64), np.empty(target, np.float32)
    for i in range(target):
        position = min(max((i + 0.5) * source / target - 0.5, 0.0), source - 1.0)
        lower[i] = min(int(position), max(source - 2, 0))
        weight[i] = position - lower[i]
    return lower, weight


@compiled
def _enlarge(field, height, width):
    rows, columns = field.shape
    y_lower, y_weight = _positions(rows, height)
    x_lower, x_weight = _positions(columns, width)
    out = np.empty((height, width), np.float32)
    blend = np.empty(columns, np.float32)
    for y in range(height):
        upper, lower = field[y_lower[y]], field[min(y_lower[y] + 1, rows - 1)]
        v = y_weight[y]
        for x in range(columns):
            blend[x] = upper[x] + v * (lower[x] - upper[x])
        target = out[y]
        for x in range(width):
            a, b = blend[x_lower[x]], blend[min(x_lower[x] + 1, columns - 1)]
            target[x] = a + x_weight[x] * (b - a)
    return out
