"""Means over square blocks, each shown at the size of its block."""

from __future__ import annotations

import numpy as np

from brittle.arrays import Image
from brittle.corruptions.kernels.compiled import compiled
from brittle.corruptions.kernels.rounding import to_nearest_byte


def pool_and_repeat(image: Image, size: int) -> Image:
    """Mean-pool size×size blocks from the top left and enlarge by repetition.

    Pixels that fill no whole block are dropped; the result is centred in the frame and mirrored at its rim (without
    repeating the edge), so the picture moves by half of what was dropped. A block is never larger than the image.
    """
    return _pool_and_repeat(image, min(size, image.shape[0]), min(size, image.shape[1]))


@compiled
def _shown(length, size):
    """Which block each position shows."""
    covered = length // size * size
    lead = (length - covered) // 2
    out = np.empty(length, np.int64)
    for i in range(length):
        at = abs(i - lead)
        if at >= covered:
            at = 2 * covered - 2 - at
        out[i] = at // size
    return out


@compiled
def _pool_and_repeat(image, tall, wide):
    height, width, channels = image.shape
    row_of, column_of = _shown(height, tall), _shown(width, wide)
    columns = width // wide
    share = np.float32(1.0 / (tall * wide))
    out = np.empty(image.shape, np.uint8)
    sums = np.empty(width * channels, np.int32)
    means = np.empty((columns, channels), np.uint8)
    drawn = -1
    for y in range(height):
        block = row_of[y]
        if block == drawn:
            out[y] = out[y - 1]
            continue
        drawn = block
        sums[:] = 0
        for row in range(block * tall, (block + 1) * tall):
            _add(sums, image[row].reshape(-1))
        for i in range(columns):
            for c in range(channels):
                total = np.int32(0)
                for x in range(i * wide, (i + 1) * wide):
                    total += sums[x * channels + c]
                means[i, c] = to_nearest_byte(np.float32(total) * share)
        target = out[y]
        for x in range(width):
            for c in range(channels):
                target[x, c] = means[column_of[x], c]
    return out


@compiled
def _add(sums, line):
    for i in range(len(sums)):
        sums[i] += np.int32(line[i])
