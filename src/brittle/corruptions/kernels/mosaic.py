"""Averaging over boxes, and repeating the averages."""

from __future__ import annotations

import numpy as np

from brittle.arrays import Image
from brittle.corruptions.kernels.compiled import compiled


def mosaic(image: Image, rows: int, columns: int) -> Image:
    """Reduce to rows×columns box means, first along x, then along y, each rounded; then repeat them to full size.

    A box holds the pixels whose centres fall into it, so neighbouring boxes may differ by one pixel in width.
    """
    height, width, channels = image.shape
    out: Image = _mosaic(
        image, _edges(height, rows), _edges(width, columns), _nearest(height, rows), _nearest(width, columns) * channels
    )
    return out


@compiled
def _edges(length, boxes):  # type: ignore[no-untyped-def]
    """Where each box begins and ends."""
    edges = np.empty((boxes, 2), np.int64)
    scale = length / boxes
    for i in range(boxes):
        centre = (i + 0.5) * scale
        edges[i, 0] = max(int(centre - 0.5 * scale + 0.5), 0)
        edges[i, 1] = min(int(centre + 0.5 * scale + 0.5), length)
    return edges


@compiled
def _nearest(length, boxes):  # type: ignore[no-untyped-def]
    """Which box each pixel shows."""
    out = np.empty(length, np.int64)
    for i in range(length):
        out[i] = int((i + 0.5) * (boxes / length))
    return out


@compiled
def _mosaic(image, y_edges, x_edges, y_box, x_box):  # type: ignore[no-untyped-def]
    height, width, channels = image.shape
    columns = len(x_edges)
    out = np.empty(image.shape, np.uint8)
    sums = np.empty(columns * channels, np.int32)
    means = np.empty(columns * channels, np.uint8)
    shown = -1
    for y in range(height):
        box = y_box[y]
        if box == shown:
            out[y] = out[y - 1]
            continue
        shown = box
        top, bottom = y_edges[box, 0], y_edges[box, 1]
        sums[:] = 0
        for row in range(top, bottom):
            for i in range(columns):
                left, right = x_edges[i, 0], x_edges[i, 1]
                for c in range(channels):
                    total = np.int32(0)
                    for x in range(left, right):
                        total += np.int32(image[row, x, c])
                    sums[i * channels + c] += _rounded_mean(total, np.int32(right - left))
        for i in range(columns * channels):
            means[i] = np.uint8(_rounded_mean(sums[i], np.int32(bottom - top)))
        for x in range(width):
            for c in range(channels):
                out[y, x, c] = means[x_box[x] + c]
    return out


@compiled
def _rounded_mean(total, count):  # type: ignore[no-untyped-def]
    return (2 * total + count) // (2 * count)
