"""Cubic splines through pixels."""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from brittle._types import Field, Pixels
from brittle.corruptions.kernels.arithmetic import compiled, inlined, rounding


@compiled
def cubic_weights(positions, weights):
    """The weights of the neighbours −1, 0, 1, 2 of positions on [0, 1), as four rows; each loop becomes vector code."""
    one, sixth, half = np.float32(1), np.float32(1 / 6), np.float32(0.5)
    first, second, third, last = weights[0], weights[1], weights[2], weights[3]
    for i in range(len(positions)):
        r = one - positions[i]
        first[i] = r * r * r * sixth
    for i in range(len(positions)):
        t = positions[i]
        second[i] = np.float32(2 / 3) - half * t * t * (np.float32(2) - t)
    for i in range(len(positions)):
        t = positions[i]
        last[i] = t * t * t * sixth
    for i in range(len(positions)):
        third[i] = one - first[i] - second[i] - last[i]


@inlined
def mirror(i, length):
    """… 2 1 | 0 1 2 …: the edge pixel is not repeated."""
    if length == 1:
        return 0
    i %= 2 * length - 2
    return i if i < length else 2 * length - 2 - i


def read_smoothed(image: Pixels, rows: NDArray[np.float64], columns: NDArray[np.float64]) -> Pixels:
    """Channel c at rows[c] × columns[c], rounded; pixels are taken for coefficients, which blurs by (1, 4, 1)/6."""
    height, width = image.shape[:2]
    out, plane, line = np.empty_like(image), np.empty((height, width), np.float32), np.empty(width, np.float32)
    y_taps, x_taps = np.zeros((4, height), np.int64), np.zeros((4, width), np.int64)
    y_weights, x_weights = np.empty((4, height), np.float32), np.empty((4, width), np.float32)
    share = np.empty(max(height, width), np.float32)
    _read_smoothed(image, rows, columns, plane, line, y_taps, x_taps, y_weights, x_weights, share, out)
    return out


@compiled
def _find_taps(positions, length, taps, weights, share):
    """Per position the four pixels to read and their weights; all weights are 0 outside the frame."""
    count = len(positions)
    for i in range(count):
        share[i] = positions[i] - np.floor(positions[i])
    cubic_weights(share[:count], weights)
    for i in range(count):
        below = int(np.floor(positions[i]))
        for k in range(4):
            if 0 <= positions[i] <= length - 1:
                taps[k, i] = mirror(below - 1 + k, length)
            else:
                taps[k, i] = 0
                weights[k, i] = 0


@compiled
def _read_smoothed(image, rows, columns, plane, line, y_taps, x_taps, y_weights, x_weights, share, out):
    height, width, channels = image.shape
    half = rounding(out)
    x0, x1, x2, x3 = x_taps[0], x_taps[1], x_taps[2], x_taps[3]
    u0, u1, u2, u3 = x_weights[0], x_weights[1], x_weights[2], x_weights[3]
    for c in range(channels):
        for y in range(height):
            for x in range(width):
                plane[y, x] = np.float32(image[y, x, c])
        _find_taps(rows[c], height, y_taps, y_weights, share)
        _find_taps(columns[c], width, x_taps, x_weights, share)
        for y in range(height):
            p, q = plane[y_taps[0, y]], plane[y_taps[1, y]]
            r, s = plane[y_taps[2, y]], plane[y_taps[3, y]]
            a, b, d, e = y_weights[0, y], y_weights[1, y], y_weights[2, y], y_weights[3, y]
            for x in range(width):
                line[x] = a * p[x] + b * q[x] + d * r[x] + e * s[x]
            for x in range(width):
                value = u0[x] * line[x0[x]] + u1[x] * line[x1[x]] + u2[x] * line[x2[x]] + u3[x] * line[x3[x]]
                out[y, x, c] = value + half


POLE = math.sqrt(3) - 2
"""The pole of the filter that turns samples into spline coefficients."""


def spline_coefficients(image: Pixels) -> Field:
    """The spline's coefficients, (H+3)×(W+3)×4, mirrored by 1 before and 2 after.

    Channels that the image does not have are 0.
    """
    height, width, channels = image.shape
    inner, start = np.zeros((height, width, 4), np.float32), np.empty(width * 4, np.float32)
    inner[:, :, :channels] = image
    if height > 1:
        _filter_down(inner.reshape(height, -1), start)
    if width > 1:
        _filter_rows(inner, start)
    return np.asarray(cv2.copyMakeBorder(inner, 1, 2, 1, 2, cv2.BORDER_REFLECT_101), np.float32)


@compiled
def _filter_rows(pixels, start):
    for y in range(len(pixels)):
        _filter_down(pixels[y], start)


@compiled
def _filter_down(rows, start):
    """The recursive filter along the first axis, forwards and backwards, with mirrored ends; `start` is a buffer."""
    count, length = rows.shape
    z, gain = np.float32(POLE), np.float32(6)
    first = rows[0]
    weight, back = 1.0, POLE ** (2 * count - 2)
    scale = 6 / (1 - back)
    for x in range(length):
        start[x] = np.float32(0)
    for i in range(count):
        both = weight + (back if 0 < i < count - 1 else 0.0)
        if abs(both) < 1e-12 and abs(back) < 1e-12:  # the rest cannot be seen in single precision
            break
        share, row = np.float32(both * scale), rows[i]
        for x in range(length):
            start[x] += share * row[x]
        weight *= POLE
        back /= POLE
    for x in range(length):
        first[x] = start[x]
    for i in range(1, count):
        before, row = rows[i - 1], rows[i]
        for x in range(length):
            row[x] = gain * row[x] + z * before[x]
    before, row = rows[count - 2], rows[count - 1]
    last = np.float32(POLE / (POLE * POLE - 1))
    for x in range(length):
        row[x] = last * (z * before[x] + row[x])
    for i in range(count - 2, -1, -1):
        after, row = rows[i + 1], rows[i]
        for x in range(length):
            row[x] = z * (after[x] - row[x])
