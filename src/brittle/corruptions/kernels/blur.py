"""Blurs: Gaussian, motion, small kernels of taps, zoom, and kernels between two sizes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from brittle._types import Field, Pixels
from brittle.corruptions.kernels.arithmetic import (
    LARGE,
    add_scaled,
    compiled,
    in_bands,
    level,
    mix,
    rounding,
    to_byte,
    truncate,
)

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
    smooth = np.empty(picture.shape, np.float32)
    height, width = picture.shape[:2]
    _smooth(picture.reshape(-1), height, width, _half_bell(sigma, radius), mirrored, smooth.reshape(-1))
    return smooth


def gaussian_bytes(image: Pixels, sigma: float) -> Pixels:
    """An image smoothed as by `gaussian`, and truncated if it is of bytes."""
    if image.dtype != np.uint8:
        return gaussian(image, sigma)
    radius = int(4.0 * sigma + 0.5)
    if radius == 0:
        return image.copy()
    if sigma > WIDE:
        return truncate(_wide(image, sigma, 4.0, False), image)
    return _smooth_bytes(image, _half_bell(sigma, radius))


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
def _smooth(picture, height, width, bell, mirrored, out):
    length = len(picture) // height
    ring, line, at = _smoothing_buffers(height, length, width, bell)
    done = 0
    for y in range(height):
        done = _smooth_across(picture, height, width, bell, mirrored, done, y, ring, line, at)
        _rows_around(y, height, length, bell, mirrored, ring, at)
        _add_pairs(ring, at, bell, length, out, y * length)


@compiled
def _smooth_bytes(image, bell):
    height, width, channels = image.shape
    out = np.empty(image.shape, np.uint8)
    picture, target, length = image.reshape(-1), out.reshape(-1), np.uint64(width * channels)
    ring, line, at = _smoothing_buffers(height, width * channels, width, bell)
    row = np.empty(width * channels, np.float32)
    done = 0
    for y in range(height):
        done = _smooth_across(picture, height, width, bell, False, done, y, ring, line, at)
        _rows_around(y, height, width * channels, bell, False, ring, at)
        _add_pairs(ring, at, bell, width * channels, row, 0)
        start = np.uint64(y) * length
        for x in range(length):
            target[start + x] = to_byte(row[x])
    return out


@compiled
def _smoothing_buffers(height, length, width, bell):
    """A ring of the rows that a column of the bell needs, a row with margins, and where neighbours begin."""
    radius = len(bell) - 1
    ring = np.empty(min(2 * radius + 1, height) * length, np.float32)
    return ring, np.empty(length + 2 * radius * (length // width), np.float32), np.empty(2 * radius + 1, np.uint64)


@compiled
def _smooth_across(picture, height, width, bell, mirrored, done, y, ring, line, at):
    """Smooth the rows from `done` on that row y needs along x, into the ring; return how many are done."""
    radius, length = len(bell) - 1, len(picture) // height
    channels, size = length // width, len(ring) // length
    margin, count = np.uint64(radius * channels), np.uint64(length)
    until = min(y + radius + 1, height)
    if done < until:
        at[0] = margin
        for j in range(1, radius + 1):
            at[2 * j - 1], at[2 * j] = (radius - j) * channels, (radius + j) * channels
    for row in range(done, until):
        start = np.uint64(row * length)
        for x in range(count):
            line[margin + x] = picture[start + x]
        for i in range(radius):
            before = row * length + _border(i - radius, width, mirrored) * channels
            after = row * length + _border(width + i, width, mirrored) * channels
            for c in range(channels):
                line[i * channels + c] = picture[before + c]
                line[(radius + width + i) * channels + c] = picture[after + c]
        _add_pairs(line, at, bell, length, ring, np.uint64(np.uint32(row) % np.uint32(size)) * count)
    return max(done, until)


@compiled
def _rows_around(y, height, length, bell, mirrored, ring, at):
    """Where in the ring row y, and the pairs of rows above and below it, begin."""
    size, length = np.uint32(len(ring) // length), np.uint64(length)
    at[0] = np.uint64(np.uint32(y) % size) * length
    inside = y >= len(bell) - 1 and y + len(bell) <= height
    for j in range(1, len(bell)):
        above, below = y - j, y + j
        if not inside:
            above, below = _border(above, height, mirrored), _border(below, height, mirrored)
        at[2 * j - 1] = np.uint64(np.uint32(above) % size) * length
        at[2 * j] = np.uint64(np.uint32(below) % size) * length


@compiled
def _add_pairs(source, at, bell, length, out, start):
    """out ← bell₀·centre + Σ bellⱼ·(one + other), with `length` elements from each of `at`, from the centre outwards.

    A few pairs at a time, so that what is summed stays in registers; offsets without a sign, because a slice costs a
    count of references, and a sign a check, each longer than a short row takes.
    """
    radius, to, count = len(bell) - 1, np.uint64(start), np.uint64(length)
    o, a, b = at[0], at[1], at[2]
    w, w1 = bell[0], bell[1]
    if radius >= 4:
        a2, b2, a3, b3, a4, b4 = at[3], at[4], at[5], at[6], at[7], at[8]
        w2, w3, w4 = bell[2], bell[3], bell[4]
        for x in range(count):
            near = (w * source[o + x] + w1 * (source[a + x] + source[b + x])) + w2 * (source[a2 + x] + source[b2 + x])
            out[to + x] = (near + w3 * (source[a3 + x] + source[b3 + x])) + w4 * (source[a4 + x] + source[b4 + x])
        j = 5
    elif radius >= 2:
        a2, b2, w2 = at[3], at[4], bell[2]
        for x in range(count):
            near = w * source[o + x] + w1 * (source[a + x] + source[b + x])
            out[to + x] = near + w2 * (source[a2 + x] + source[b2 + x])
        j = 3
    else:
        for x in range(count):
            out[to + x] = w * source[o + x] + w1 * (source[a + x] + source[b + x])
        j = 2
    while j + 3 <= radius:
        a, b, a2, b2 = at[2 * j - 1], at[2 * j], at[2 * j + 1], at[2 * j + 2]
        a3, b3, a4, b4 = at[2 * j + 3], at[2 * j + 4], at[2 * j + 5], at[2 * j + 6]
        w1, w2, w3, w4 = bell[j], bell[j + 1], bell[j + 2], bell[j + 3]
        for x in range(count):
            near = (out[to + x] + w1 * (source[a + x] + source[b + x])) + w2 * (source[a2 + x] + source[b2 + x])
            out[to + x] = (near + w3 * (source[a3 + x] + source[b3 + x])) + w4 * (source[a4 + x] + source[b4 + x])
        j += 4
    while j <= radius:
        a, b, w1 = at[2 * j - 1], at[2 * j], bell[j]
        for x in range(count):
            out[to + x] += w1 * (source[a + x] + source[b + x])
        j += 1


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


def motion_blur(image: Pixels, radius: float, sigma: float, angle: float) -> Field:
    """Blur along a direction in degrees; the result is not yet rounded.

    A trail has 2·radius + 1 taps with weights exp(−i²/2σ²); the last tap of a fractional number of taps has a
    fractional weight. Tap i lies at (⌈i·cos θ − ½⌉, ⌈i·sin θ − ½⌉). The trail points one way, so the picture
    moves a little.
    """
    weights, steps = _tail(radius, sigma)
    theta = math.radians(angle)
    across, down = math.cos(theta), math.sin(theta)
    if len(steps) <= LONG:
        return _trail(image, weights.astype(np.float32), steps, across, down)
    stride = math.isqrt(len(steps))
    near, far = (
        _trail(image, np.full(stride, 1 / stride, np.float32), steps[:stride], across, down),
        steps[::stride].copy(),
    )
    return _trail(near, np.add.reduceat(weights, far).astype(np.float32), far, across, down)


@lru_cache(maxsize=256)
def _tail(radius: float, sigma: float) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The weights of the taps, which sum to 1, and their numbers."""
    span = 2 * radius + 1
    steps = np.arange(math.ceil(span))
    weights = np.exp(-(steps**2) / (2 * max(sigma, 1e-3) ** 2)) * np.clip(span - steps, 0, 1)
    return weights / weights.sum(), steps


@compiled
def _trail(image, weights, steps, across, down):
    """The weighted sum of copies of the image, each moved by whole pixels along a direction; edges are replicated."""
    height, width, channels = image.shape
    count = len(steps)
    dx, dy, at = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.uint64)
    left = right = top = bottom = 0
    for i in range(count):
        dx[i], dy[i] = int(np.ceil(steps[i] * across - 0.5)), int(np.ceil(steps[i] * down - 0.5))
        left, right = min(left, dx[i]), max(right, dx[i])
        top, bottom = min(top, dy[i]), max(bottom, dy[i])
    padded, stride = _replicated(image, -top, bottom, -left, right), (width + right - left) * channels
    out = np.empty(image.shape, np.float32)
    target, length = out.reshape(-1), width * channels
    for y in range(height):
        for i in range(count):
            at[i] = (y + dy[i] - top) * stride + (dx[i] - left) * channels
        _add_taps(padded, at, weights, length, target, y * length)
    return out


@compiled
def _replicated(image, top, bottom, left, right):
    """The image with margins in which the edge is repeated, as one row."""
    height, width, channels = image.shape
    source, length, stride = image.reshape(-1), width * channels, (left + width + right) * channels
    out = np.empty((top + height + bottom) * stride, image.dtype)
    for row in range(top + height + bottom):
        begin, to = min(max(row - top, 0), height - 1) * length, row * stride
        start, middle = np.uint64(begin), np.uint64(to + left * channels)
        for x in range(np.uint64(length)):
            out[middle + x] = source[start + x]
        for i in range(left * channels):
            out[to + i] = source[begin + i % channels]
        for i in range(right * channels):
            out[to + left * channels + length + i] = source[begin + length - channels + i % channels]
    return out


@compiled
def _add_taps(source, at, weights, length, out, start):
    """out ← Σ weightᵢ·source, with `length` elements from each of `at`, in order, four at a time."""
    to, count, taps = np.uint64(start), np.uint64(length), len(at)
    a, w = at[0], weights[0]
    i = 1
    if taps >= 4:
        b, c, d, u, v, s = at[1], at[2], at[3], weights[1], weights[2], weights[3]
        for x in range(count):
            near = w * np.float32(source[a + x]) + u * np.float32(source[b + x])
            out[to + x] = (near + v * np.float32(source[c + x])) + s * np.float32(source[d + x])
        i = 4
    else:
        for x in range(count):
            out[to + x] = w * np.float32(source[a + x])
    while i + 3 < taps:
        a, b, c, d = at[i], at[i + 1], at[i + 2], at[i + 3]
        w, u, v, s = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        for x in range(count):
            near = (out[to + x] + w * np.float32(source[a + x])) + u * np.float32(source[b + x])
            out[to + x] = (near + v * np.float32(source[c + x])) + s * np.float32(source[d + x])
        i += 4
    while i < taps:
        a, w = at[i], weights[i]
        for x in range(count):
            out[to + x] += w * np.float32(source[a + x])
        i += 1


def correlate(image: Pixels, kernel: NDArray[np.float64]) -> Pixels:
    """Correlate each channel with a kernel of odd sides, clipped; bytes are rounded. Taps of 0 cost no time.

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
    out = np.empty((height, length), rows.dtype)
    half = rounding(out)
    total = np.empty(length, np.float32)
    for y in range(height):
        total[:] = np.float32(0)
        for i in range(len(weights)):
            source = rows[y + dy[i], starts[i] : starts[i] + length]
            add_scaled(total, weights[i], source)
        target = out[y]
        for x in range(length):
            target[x] = level(total[x]) + half
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


def mean_of_zooms(image: Pixels, largest: float, layers: int, *, clean_again: bool = True) -> Pixels:
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
    out = np.empty((height, length), image.dtype)
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
            out[y, i] = level(total[i] * share)
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


def between_sizes(image: Pixels, size: float, smooth: Callable[[Pixels, int], Pixels], *, step: int = 2) -> Pixels:
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


def by_bands(image: Pixels, size: int, smooth: Callable[[Pixels, int], Pixels]) -> Pixels:
    """smooth(image, size), large pictures by all processors: each smooths its rows and what the filter reaches beyond.

    The filter must not carry sums of floats from row to row; then the pixels do not depend on the bands.
    """
    height, width = image.shape[:2]
    if height * width < LARGE:
        return smooth(image, size)
    out, reach = np.empty_like(image), size // 2

    def draw(first: int, end: int) -> None:
        top = max(first - reach, 0)
        out[first:end] = smooth(image[top : end + reach], size).reshape(-1, *image.shape[1:])[first - top : end - top]

    in_bands(draw, height, height * width)
    return out


def _filtered(image: Pixels, size: int, smooth: Callable[[Pixels, int], Pixels]) -> Pixels:
    return image if size == 1 else np.asarray(smooth(image, size), image.dtype).reshape(image.shape)


def box(image: Pixels, size: int) -> Pixels:
    """The mean over size×size pixels, rounded if they are bytes; borders mirror without repeating the edge."""
    return np.asarray(cv2.blur(image, (size, size)), image.dtype)
