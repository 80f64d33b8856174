"""Turning a picture about its centre, many times over."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Image
from brittle.corruptions.kernels.bspline import cubic_weights
from brittle.corruptions.kernels.compiled import compiled, inlined
from brittle.corruptions.kernels.spline_coefficients import spline_coefficients

LANES = 16
"""A read takes four neighbours of four channels from each of four rows."""


ONE = 1 << 16
"""Shares are whole 65,536ths, so that sums are exact and a flat picture stays as it is."""


def mean_of_rotations(image: Image, angles: NDArray[np.float64], weights: NDArray[np.float64]) -> Image:
    """The weighted mean of copies turned by `angles` (radians), with cubic splines and black outside the frame.

    Each copy is an 8-bit picture, rounded and clipped, before it is added; the mean is truncated.
    """
    height, width, channels = image.shape
    spline = spline_coefficients(image).reshape(-1)
    shares = np.rint(weights / weights.sum() * ONE).astype(np.int32)
    shares[len(shares) // 2] += ONE - shares.sum()
    # The number of lanes is an argument, because a loop of known length would be unrolled instead of vectorised.
    mean = _mean_of_rotations(spline, height, width, np.cos(angles), np.sin(angles), shares, LANES)
    return mean if channels == 3 else np.ascontiguousarray(mean[:, :, :channels])


@inlined
def _inside(y, x, height, width):
    return 0 <= y <= height - 1 and 0 <= x <= width - 1


@compiled
def _mean_of_rotations(spline, height, width, cosines, sines, shares, lanes):
    out = np.empty((height, width, 3), np.uint8)
    total = np.empty(3 * width, np.int32)
    y_mid, x_mid, stride = (height - 1) / 2, (width - 1) / 2, 4 * (width + 3)
    starts, blend = np.empty(width, np.int64), np.empty(lanes, np.float32)
    down, right = np.zeros(width, np.float32), np.zeros(width, np.float32)
    y_weights, x_weights = np.empty((4, width), np.float32), np.empty((4, width), np.float32)
    a, b, c, d = y_weights[0], y_weights[1], y_weights[2], y_weights[3]
    e, f, g, h = x_weights[0], x_weights[1], x_weights[2], x_weights[3]
    for y in range(height):
        total[:] = 0
        for k in range(len(shares)):
            cosine, sine, share = cosines[k], sines[k], shares[k]
            y_start = cosine * (y - y_mid) + sine * x_mid + y_mid
            x_start = sine * (y - y_mid) - cosine * x_mid + x_mid
            first, end = 0, width
            while first < end and not _inside(y_start - sine * first, x_start + cosine * first, height, width):
                first += 1
            while first < end and not _inside(y_start - sine * (end - 1), x_start + cosine * (end - 1), height, width):
                end -= 1
            for x in range(first, end):
                v, u = y_start - sine * x, x_start + cosine * x
                row, column = np.int32(v), np.int32(u)
                starts[x] = row * stride + 4 * column
                down[x], right[x] = np.float32(v - row), np.float32(u - column)
            cubic_weights(down, y_weights)
            cubic_weights(right, x_weights)
            for x in range(first, end):
                _blend_rows(spline, np.uint64(starts[x]), np.uint64(stride), a[x], b[x], c[x], d[x], blend, lanes)
                p, q, r, s = e[x], f[x], g[x], h[x]
                for channel in range(3):
                    i = np.uint64(channel)
                    value = p * blend[i] + q * blend[i + np.uint64(4)]
                    value += r * blend[i + np.uint64(8)] + s * blend[i + np.uint64(12)]
                    level = np.int32(min(max(value, np.float32(0)), np.float32(255)) + np.float32(0.5))
                    total[np.uint64(3 * x) + i] += level * share
        target = out[y].reshape(-1)
        for element in range(3 * width):
            target[element] = total[element] >> 16
    return out


@inlined
def _blend_rows(spline, start, stride, a, b, c, d, blend, lanes):
    """The weighted sum of `lanes` values from each of four rows."""
    p, q, r, s = start, start + stride, start + stride + stride, start + stride + stride + stride
    for lane in range(lanes):
        i = np.uint64(lane)
        blend[i] = a * spline[p + i] + b * spline[q + i] + c * spline[r + i] + d * spline[s + i]
