"""Averaging over boxes, and repeating the averages."""

from __future__ import annotations

import numpy as np

from brittle.arrays import Image
from brittle.corruptions.kernels.compiled import compiled, inlined


def mosaic(image: Image, rows: int, columns: int) -> Image:
    """Reduce to rows×columns box means, first along x, then along y, each rounded; then repeat them to full size.

    A box holds the pixels whose centres fall into it, so neighbouring boxes may differ by one pixel in width.
    """
    return _mosaic(image, rows, columns)


@compiled
def _boxes(length, count):
    """Where each box begins, where it ends, and which box each pixel shows."""
    begin, end, shown = np.empty(count, np.uint32), np.empty(count, np.uint32), np.empty(length, np.uint32)
    scale = length / count
    for i in range(count):
        centre = (i + 0.5) * scale
        low, high = max(int(centre - 0.5 * scale + 0.5), 0), min(int(centre + 0.5 * scale + 0.5), length)
        while low < high - 1 and (low - centre + 0.5) / scale <= -0.5:  # a centre on the edge counts on the right only
            low += 1
        while high > low + 1 and (high - 1 - centre + 0.5) / scale > 0.5:
            high -= 1
        begin[i], end[i] = low, high
    for x in range(length):
        shown[x] = int((x + 0.5) * (count / length))
    return begin, end, shown


@compiled
def _mosaic(image, rows, columns):
    height, width, channels = image.shape
    top, bottom, row_of = _boxes(height, rows)
    left, right, column_of = _boxes(width, columns)
    out = np.empty(image.shape, np.uint8)
    sums = np.empty(columns * channels, np.int32)
    means = np.empty((columns, channels), np.uint8)
    shown = -1
    for y in range(height):
        box = row_of[y]
        if box == shown:
            out[y] = out[y - 1]
            continue
        shown = box
        sums[:] = 0
        for row in range(top[box], bottom[box]):
            _add_box_means(image[row], left, right, sums)
        share = np.float32(1) / np.float32(bottom[box] - top[box])
        flat = means.reshape(-1)
        for i in range(len(sums)):
            flat[i] = _round(sums[i], share)
        if channels == 3:
            for x in range(width):
                at = column_of[x]
                out[y, x, 0], out[y, x, 1], out[y, x, 2] = means[at, 0], means[at, 1], means[at, 2]
        else:
            for x in range(width):
                out[y, x, 0] = means[column_of[x], 0]
    return out


@compiled
def _add_box_means(line, left, right, sums):
    channels = line.shape[1]
    for i in range(len(left)):
        share = np.float32(1) / np.float32(right[i] - left[i])
        if channels == 3:
            r, g, b = np.int32(0), np.int32(0), np.int32(0)
            for x in range(left[i], right[i]):
                r += np.int32(line[x, 0])
                g += np.int32(line[x, 1])
                b += np.int32(line[x, 2])
            sums[3 * i] += np.int32(_round(r, share))
            sums[3 * i + 1] += np.int32(_round(g, share))
            sums[3 * i + 2] += np.int32(_round(b, share))
        else:
            total = np.int32(0)
            for x in range(left[i], right[i]):
                total += np.int32(line[x, 0])
            sums[i] += np.int32(_round(total, share))


@inlined
def _round(total, share):
    """The mean, halves rounded up; the hair on top keeps an inexact reciprocal from rounding them down."""
    return np.uint8(np.int32(np.float32(total) * share + np.float32(0.5001)))
