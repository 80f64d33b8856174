"""The mean over a square, again and again, with black outside the frame."""

from __future__ import annotations

import numpy as np

from brittle.arrays import Field, Image
from brittle.corruptions.kernels.compiled import compiled


def mean_filter(image: Image, width: float, passes: int) -> Field:
    """Average over a width×width square `passes` times, in grey levels.

    What a pass spreads beyond the frame is lost, and the next pass finds black there again. The width is a real
    number of at least 1: the outermost pixels of the square then count in part.
    """
    height, columns, channels = image.shape
    half = (width - 1) / 2
    reach = int(half)
    edge, share = np.float32(half - reach), np.float32(1 / width**passes)
    rows = image.reshape(height, columns * channels)
    return _mean_filter(rows, channels, reach, edge, share, passes).reshape(image.shape)


@compiled
def _mean_filter(rows, channels, reach, edge, share, passes):
    height, length = rows.shape
    above = reach + 1
    margin = above * channels
    one = np.zeros((height + 2 * above, length), np.float32)
    other = np.zeros((height + 2 * above, length), np.float32)
    line = np.zeros(length + 2 * margin, np.float32)
    total = np.empty(length, np.float32)
    for y in range(height):
        middle = line[margin : margin + length]
        source = rows[y]
        for x in range(length):
            middle[x] = np.float32(source[x])
        for _ in range(passes):
            total[:] = middle
            for k in range(1, reach + 1):
                _add(total, line[margin - k * channels :], line[margin + k * channels :])
            if edge > 0:
                _add_part(total, edge, line, line[2 * margin :])
            middle[:] = total
        target = one[y + above]
        for x in range(length):
            target[x] = middle[x] * share
    for _ in range(passes):
        for y in range(above, above + height):
            target = other[y]
            target[:] = one[y]
            for k in range(1, reach + 1):
                _add(target, one[y - k], one[y + k])
            if edge > 0:
                _add_part(target, edge, one[y - above], one[y + above])
        one, other = other, one
    out = np.empty((height, length), np.float32)
    for y in range(height):
        source, target = one[y + above], out[y]
        for x in range(length):
            target[x] = source[x] * share
    return out


@compiled
def _add(target, before, after):
    for i in range(len(target)):
        target[i] += before[i] + after[i]


@compiled
def _add_part(target, part, before, after):
    for i in range(len(target)):
        target[i] += part * (before[i] + after[i])
