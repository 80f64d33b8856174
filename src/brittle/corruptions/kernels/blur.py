"""Blurs: Gaussian, motion, small kernels of taps, zoom, and kernels between two sizes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from brittle._types import Field, Image
from brittle.corruptions.kernels.arithmetic import add_scaled, compiled, mix, to_byte, to_nearest_byte

WIDE = 12.0
"""From this σ on (never reached at published sizes) smoothing is done on a reduced copy."""


def gaussian(picture: NDArray[Any], sigma: float, *, cut: float = 4.0, mirrored: bool = False) -> Field:
    """Smooth each channel with a Gaussian whose kernel ends at `cut`·σ; edges are replicated, or else mirrored.

    Takes uint8 or float32, with or without a channel axis.
    """
    radius = int(cut * sigma + 0.5)
    if radius == 0:
        return picture.astype(np.float32)
    if sigma > WIDE:
        return _wide(picture, sigma, cut, mirrored)
    height, width = picture.shape[:2]
    rows = picture.reshape(height, -1)
    channels = rows.shape[1] // width
    line, across = np.empty((width + 2 * radius) * channels, np.float32), np.empty(rows.shape, np.float32)
    smooth = np.empty(picture.shape, np.float32)
    _separable(rows, channels, _half_bell(sigma, radius), mirrored, line, across, smooth.reshape(height, -1))
    return smooth


@lru_cache(maxsize=256)
def _half_bell(sigma: float, radius: int) -> Field:
    """Weights of the centre and of each neighbour on one side; the whole bell sums to 1."""
    bell = np.exp(-0.5 * (np.arange(radius + 1) / sigma) ** 2)
    return (bell / (2 * bell.sum() - bell[0])).astype(np.float32)


@compiled
def _border(i, length, mirrored):
    """Which pixel stands in for one outside: the nearest, or its mirror image (the edge repeated)."""
    if 0 <= i < length:
        return i
    if mirrored:
        i %= 2 * length
        return i if i < length else 2 * length - 1 - i
    return 0 if i < 0 else length - 1


@compiled
def _separable(rows, channels, bell, mirrored, padded, across, out):
    height, length = rows.shape
    radius = len(bell) - 1
    width = length // channels
    for y in range(height):
        middle = padded[radius * channels : radius * channels + length]
        for x in range(length):
            middle[x] = rows[y, x]
        for i in range(radius):
            before, after = _border(i - radius, width, mirrored), _border(width + i, width, mirrored)
            for c in range(channels):
                padded[i * channels + c] = rows[y, before * channels + c]
                padded[(radius + width + i) * channels + c] = rows[y, after * channels + c]
        centre = radius * channels
        target = across[y]
        source = padded[centre : centre + length]
        for x in range(length):
            target[x] = bell[0] * source[x]
        for j in range(1, radius + 1):
            left = padded[centre - j * channels : centre - j * channels + length]
            right = padded[centre + j * channels : centre + j * channels + length]
            _add_pair(target, bell[j], left, right)
    for y in range(height):
        target, source = out[y], across[y]
        for x in range(length):
            target[x] = bell[0] * source[x]
        for j in range(1, radius + 1):
            _add_pair(
                target, bell[j], across[_border(y - j, height, mirrored)], across[_border(y + j, height, mirrored)]
            )


@compiled
def _add_pair(target, weight, one, other):
    for x in range(len(target)):
        target[x] += weight * (one[x] + other[x])


def _wide(picture: NDArray[Any], sigma: float, cut: float, mirrored: bool) -> Field:
    """A field this smooth has no fine detail left: average blocks, smooth those, and interpolate.

    Averaging over blocks of f pixels and interpolating between them add variances (f²−1)/12 and f²/6, which the
    smoothing in between leaves out. The frame is widened first, so that borders are as good as the middle: all within
    half a grey level.
    """
    factor = max(2, int(sigma / 4))
    height, width = picture.shape[:2]
    margin = math.ceil(cut * sigma / factor) * factor
    rows, columns = (-(-side // factor) * factor + 2 * margin for side in (height, width))
    border = cv2.BORDER_REFLECT if mirrored else cv2.BORDER_REPLICATE
    framed = cv2.copyMakeBorder(picture, margin, rows - height - margin, margin, columns - width - margin, border)
    small = (columns // factor, rows // factor)
    reduced = np.asarray(cv2.resize(framed, small, interpolation=cv2.INTER_AREA), np.float32)
    remaining = math.sqrt(max(sigma**2 - (factor**2 - 1) / 12 - factor**2 / 6, 0.01)) / factor
    smooth = gaussian(reduced.reshape(small[1], small[0], -1), remaining, cut=cut)
    large = np.asarray(cv2.resize(smooth, (columns, rows), interpolation=cv2.INTER_LINEAR), np.float32)
    return np.ascontiguousarray(large[margin : margin + height, margin : margin + width]).reshape(picture.shape)


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


def correlate(image: Image, kernel: NDArray[np.float64]) -> Image:
    """Correlate each channel with a kernel of odd sides, rounded and clipped; only taps that are not 0 cost time.

    Borders mirror without repeating the edge.
    """
    dy, dx = np.nonzero(kernel)
    down, right = kernel.shape[0] // 2, kernel.shape[1] // 2
    height, width, channels = image.shape
    padded = cv2.copyMakeBorder(image, down, down, right, right, cv2.BORDER_REFLECT_101)
    rows = padded.reshape(height + 2 * down, -1)
    weights = kernel[dy, dx].astype(np.float32)
    return _correlate(rows, dy, dx * channels, weights, height, width * channels).reshape(image.shape)


@compiled
def _correlate(rows, dy, starts, weights, height, length):
    out = np.empty((height, length), np.uint8)
    total = np.empty(length, np.float32)
    for y in range(height):
        total[:] = np.float32(0)
        for i in range(len(weights)):
            source = rows[y + dy[i], starts[i] : starts[i] + length]
            add_scaled(total, weights[i], source)
        target = out[y]
        for x in range(length):
            target[x] = to_nearest_byte(total[x])
    return out


@compiled
def _axis(length, factor, lower, weight):
    """Find where each output position reads along one axis: the lower neighbour and the weight of the upper one.

    The central window of ⌈length/factor⌉ pixels is stretched corner to corner onto round(window·factor) pixels,
    of which the central `length` are kept.
    """
    window = math.ceil(length / factor)
    stretched = int(np.rint(window * factor))
    start = (length - window) // 2
    skip = (stretched - length) // 2
    for i in range(length):
        position = (i + skip) * (window - 1) / (stretched - 1) if stretched > 1 else 0.0
        below = min(int(position), max(window - 2, 0))
        lower[i] = start + below
        weight[i] = position - below


def zoom(field: Field, factor: float) -> Field:
    """A one-channel field enlarged about its centre, with linear interpolation; a factor below 1 counts as 1."""
    return _zoom(field, max(float(factor), 1.0))


@compiled
def _zoom(field, factor):
    height, width = field.shape
    out = np.empty((height, width), np.float32)
    y_lower, y_weight = np.empty(height, np.int32), np.empty(height, np.float32)
    x_lower, x_weight = np.empty(width, np.int32), np.empty(width, np.float32)
    _axis(height, factor, y_lower, y_weight)
    _axis(width, factor, x_lower, x_weight)
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
        _axis(height, factors[z], y_lower[z], y_weight[z])
        _axis(width, factors[z], x_lower[z], x_weight[z])
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


CLOSE = 1e-6


def between_sizes(image: Image, size: float, smooth: Callable[[Image, int], Image], *, step: int = 2) -> Image:
    """smooth(image, size) for the sizes 1, 1 + step, 1 + 2·step …; in between, the mixture of the two neighbours.

    A filter of size 1 does nothing and is not called.
    """
    steps = max(size - 1, 0.0) / step
    below = int(steps + CLOSE)
    share = steps - below
    smaller = _filtered(image, 1 + step * below, smooth)
    if share < CLOSE:
        return smaller.copy() if smaller is image else smaller
    larger = _filtered(image, 1 + step * (below + 1), smooth)
    return mix(smaller, larger, share)


def _filtered(image: Image, size: int, smooth: Callable[[Image, int], Image]) -> Image:
    return image if size == 1 else np.asarray(smooth(image, size), np.uint8).reshape(image.shape)


def box(image: Image, size: int) -> Image:
    """The mean over size×size pixels, rounded; borders mirror without repeating the edge."""
    return np.asarray(cv2.blur(image, (size, size)), np.uint8)
