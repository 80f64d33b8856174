"""Enlarging about the centre, the size kept."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Field, Image
from brittle.corruptions.kernels.bytes import to_byte
from brittle.corruptions.kernels.compiled import compiled


@compiled
def _axis(length, factor):
    """Where each output position reads along one axis: the lower neighbour and the weight of the upper one.

    The central window of ⌈length/factor⌉ pixels is stretched corner to corner onto round(window·factor) pixels,
    of which the central `length` are kept.
    """
    window = math.ceil(length / factor)
    stretched = int(np.rint(window * factor))
    start = (length - window) // 2
    skip = (stretched - length) // 2
    lower = np.empty(length, np.int32)
    weight = np.empty(length, np.float32)
    for i in range(length):
        position = (i + skip) * (window - 1) / (stretched - 1) if stretched > 1 else 0.0
        below = min(int(position), max(window - 2, 0))
        lower[i] = start + below
        weight[i] = position - below
    return lower, weight


def zoom(field: Field, factor: float) -> Field:
    """A one-channel field enlarged about its centre, with linear interpolation; a factor below 1 counts as 1."""
    return _zoom(field, max(float(factor), 1.0))


@compiled
def _zoom(field, factor):
    height, width = field.shape
    out = np.empty((height, width), np.float32)
    y_lower, y_weight = _axis(height, factor)
    x_lower, x_weight = _axis(width, factor)
    row = np.empty(width, np.float32)
    y_most, x_most = height - 1, width - 1
    for y in range(height):
        upper, lower = field[y_lower[y]], field[min(y_lower[y] + 1, y_most)]
        v = y_weight[y]
        for x in range(width):
            row[x] = upper[x] + v * (lower[x] - upper[x])
        for x in range(width):
            a = row[x_lower[x]]
            out[y, x] = a + x_weight[x] * (row[min(x_lower[x] + 1, x_most)] - a)
    return out


def mean_of_zooms(image: Image, largest: float, layers: int, *, clean_again: bool = True) -> Image:
    """The mean of `layers` copies of an image, enlarged by factors evenly spaced from 1 to `largest`.

    `clean_again` counts the image itself once more.
    """
    height, width, channels = image.shape
    factors = zoom_factors(largest, layers)[1:]
    rows = image.reshape(height, width * channels)
    return _mean_of_zooms(rows, channels, factors, np.float32(1 + clean_again)).reshape(image.shape)


def zoom_factors(largest: float, layers: int) -> NDArray[np.float64]:
    """`layers` factors from 1 to `largest`, equal to the last bit to the ranges that NumPy made for the published sets.

    The last bit matters: 224/1.12 is 200, and a window of 201 pixels is another one. NumPy takes the step as the
    difference of the first two values, and so do we.
    """
    step = (1 + (largest - 1) / max(layers - 1, 1)) - 1
    return np.asarray(1 + np.arange(layers) * step, np.float64)


@compiled
def _mean_of_zooms(image, channels, factors, clean):
    height, length = image.shape
    width = length // channels
    layers = len(factors)
    y_lower, y_weight = np.empty((layers, height), np.int32), np.empty((layers, height), np.float32)
    x_lower, x_weight = np.empty((layers, width), np.int32), np.empty((layers, width), np.float32)
    for z in range(layers):
        y_lower[z], y_weight[z] = _axis(height, factors[z])
        x_lower[z], x_weight[z] = _axis(width, factors[z])
    out = np.empty((height, length), np.uint8)
    row = np.zeros(length + channels, np.float32)  # one pixel more, so that every pixel has a right neighbour
    total = np.empty(length, np.float32)
    most = height - 1
    share = np.float32(1.0 / (layers + clean))
    for y in range(height):
        for i in range(length):
            total[i] = clean * np.float32(image[y, i])  # its enlargement by 1, and perhaps itself
        for z in range(layers):
            upper, lower = image[y_lower[z, y]], image[min(y_lower[z, y] + 1, most)]
            v = y_weight[z, y]
            for i in range(length):
                a = np.float32(upper[i])
                row[i] = a + v * (np.float32(lower[i]) - a)
            _add_stretched(row, x_lower[z], x_weight[z], channels, total)
        for i in range(length):
            out[y, i] = to_byte(total[i] * share)
    return out


@compiled
def _add_stretched(row, lower, weight, channels, total):
    if channels == 3:
        for x in range(len(lower)):
            at, u = lower[x] * 3, weight[x]
            total[3 * x] += row[at] + u * (row[at + 3] - row[at])
            total[3 * x + 1] += row[at + 1] + u * (row[at + 4] - row[at + 1])
            total[3 * x + 2] += row[at + 2] + u * (row[at + 5] - row[at + 2])
    else:
        for x in range(len(lower)):
            at, u = lower[x], weight[x]
            total[x] += row[at] + u * (row[at + 1] - row[at])
