"""Gaussian smoothing at any scale, the same to the last bit on every CPU."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Field
from brittle.corruptions.kernels.compiled import compiled

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
    smooth = _separable(rows, rows.shape[1] // width, _half_bell(sigma, radius), mirrored)
    return smooth.reshape(picture.shape)


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
def _separable(rows, channels, bell, mirrored):
    height, length = rows.shape
    radius = len(bell) - 1
    width = length // channels
    across = np.empty((height, length), np.float32)
    padded = np.empty((width + 2 * radius) * channels, np.float32)
    for y in range(height):
        padded[radius * channels : radius * channels + length] = rows[y]
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
    out = np.empty((height, length), np.float32)
    for y in range(height):
        target, source = out[y], across[y]
        for x in range(length):
            target[x] = bell[0] * source[x]
        for j in range(1, radius + 1):
            _add_pair(
                target, bell[j], across[_border(y - j, height, mirrored)], across[_border(y + j, height, mirrored)]
            )
    return out


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
