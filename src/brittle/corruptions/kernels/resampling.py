"""Where a pixel comes from: nearest and bilinear look-up, projections, displacement fields."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pil

from brittle._types import Field, Pixels
from brittle.corruptions.kernels.arithmetic import compiled, inlined, level, rounding, sine

Matrix = tuple[float, float, float, float]


def affine_nearest(image: Pixels, matrix: Matrix) -> Pixels:
    """Each pixel shows the one that contains matrix·(its centre), about the centre of the image; black outside.

    The matrix (a, b, c, d) leads from the output to the input: x' = a·x + b·y, y' = c·x + d·y. Positions are
    counted in steps of 2⁻¹⁶ pixels, as Pillow counts them.
    """
    height, width = image.shape[:2]
    a, b, c, d = matrix
    left = (1 - a) * width / 2 - b * height / 2 + (a + b) / 2
    top = (1 - d) * height / 2 - c * width / 2 + (c + d) / 2
    return _affine_nearest(image, *map(_fixed, (a, b, left, c, d, top)))


def _fixed(value: float) -> int:
    return math.floor(value * 65536 + 0.5)


@compiled
def _affine_nearest(image, a, b, left, c, d, top):
    height, width, channels = image.shape
    out = np.zeros(image.shape, image.dtype)
    for y in range(height):
        target = out[y]
        at_x, at_y = left + b * y, top + d * y
        for x in range(width):
            column, row = at_x >> 16, at_y >> 16
            if 0 <= column < width and 0 <= row < height:
                if channels == 3:
                    target[x, 0] = image[row, column, 0]
                    target[x, 1] = image[row, column, 1]
                    target[x, 2] = image[row, column, 2]
                else:
                    target[x, 0] = image[row, column, 0]
            at_x += a
            at_y += c
    return out


def shift(image: Pixels, dy: int, dx: int) -> Pixels:
    """Move the picture by whole pixels, down and to the right; black comes in."""
    out = np.zeros_like(image)
    height, width = image.shape[:2]
    if abs(dy) < height and abs(dx) < width:
        out[max(dy, 0) : height + dy, max(dx, 0) : width + dx] = image[
            max(-dy, 0) : height - dy, max(-dx, 0) : width - dx
        ]
    return out


def resized(image: Pixels, *sizes: tuple[int, int]) -> Pixels:
    """Resized to each size (height, width) in turn by Pillow, bilinearly, over all pixels where it shrinks."""
    if image.shape[2] != 1 and image.dtype != np.uint8:  # Pillow has no pictures of several channels of fractions
        return np.concatenate([resized(channel, *sizes) for channel in np.split(image, image.shape[2], axis=2)], 2)
    picture = Pil.fromarray(image if image.shape[2] == 3 else image[:, :, 0])
    for height, width in sizes:
        picture = picture.resize((width, height), Pil.Resampling.BILINEAR)
    return np.array(picture).reshape(*sizes[-1], image.shape[2])


@inlined
def bilinear_or_black(image, y, x, c):
    """Channel c at a real position (row, column); each of the four neighbours outside the frame counts as 0."""
    height, width = image.shape[0], image.shape[1]
    y0, x0 = int(np.floor(y)), int(np.floor(x))
    v, u = np.float32(y - y0), np.float32(x - x0)
    top, bottom = 0 <= y0 < height, -1 <= y0 < height - 1
    left, right = 0 <= x0 < width, -1 <= x0 < width - 1
    zero = np.float32(0)
    a = np.float32(image[y0, x0, c]) if top and left else zero
    b = np.float32(image[y0, x0 + 1, c]) if top and right else zero
    p = np.float32(image[y0 + 1, x0, c]) if bottom and left else zero
    q = np.float32(image[y0 + 1, x0 + 1, c]) if bottom and right else zero
    upper = a + u * (b - a)
    return upper + v * ((p + u * (q - p)) - upper)


def remap(image: NDArray[Any], rows: Field, columns: Field) -> Field:
    """Read the image (H×W×C) at (rows, columns) for each pixel, bilinearly, with black outside."""
    return _remap(image, rows, columns)


@compiled
def _remap(image, rows, columns):
    height, width = rows.shape
    channels = image.shape[2]
    out = np.empty((height, width, channels), np.float32)
    for y in range(height):
        for x in range(width):
            for c in range(channels):
                out[y, x, c] = bilinear_or_black(image, rows[y, x], columns[y, x], c)
    return out


FAR = 1e9
"""Positions are cut off here, so that a horizon inside the picture does no harm."""


def read_axes(image: Pixels, rows: NDArray[np.float64], columns: NDArray[np.float64]) -> Pixels:
    """Row y reads at rows[y], column x at columns[x], bilinearly; borders mirror without repeating the edge."""
    height, width, channels = image.shape
    out = _read_axes(image.reshape(height, width * channels), channels, rows, columns)
    return out.reshape(len(rows), len(columns), channels)


def project(image: Pixels, matrix: NDArray[np.float64], *, replicate: bool = False) -> Pixels:
    """Read at matrix·(x, y, 1), a 3×3 matrix, divided by its third entry; borders mirror, or repeat the edge pixel."""
    return _project(image, np.ascontiguousarray(matrix, np.float64), replicate)


def undistort(image: Pixels, k1: float, k2: float, centre: tuple[float, float]) -> Pixels:
    """Read at centre + d·(1 + k1·r² + k2·r⁴) with d the way from the centre (y, x) and r its length in image sides."""
    return _undistort(image, k1, k2, centre[0], centre[1])


@inlined
def _inside(i, length, replicate):
    """The pixel that stands in for one outside: the nearest, or the mirror image … 2 1 | 0 1 2 …."""
    if 0 <= i < length:
        return i
    if replicate or length == 1:
        return 0 if i < 0 else length - 1
    i %= 2 * length - 2
    return i if i < length else 2 * length - 2 - i


@inlined
def _read(image, out, y, x, sy, sx, replicate, half):
    height, width, channels = image.shape
    sy, sx = min(max(sy, -FAR), FAR), min(max(sx, -FAR), FAR)
    y0, x0 = int(np.floor(sy)), int(np.floor(sx))
    v, u = np.float32(sy - y0), np.float32(sx - x0)
    xa, xb = _inside(x0, width, replicate), _inside(x0 + 1, width, replicate)
    ya, yb = _inside(y0, height, replicate), _inside(y0 + 1, height, replicate)
    for c in range(channels):
        a, b = np.float32(image[ya, xa, c]), np.float32(image[ya, xb, c])
        p, q = np.float32(image[yb, xa, c]), np.float32(image[yb, xb, c])
        upper = a + u * (b - a)
        value = upper + v * ((p + u * (q - p)) - upper)
        out[y, x, c] = level(value) + half


@compiled
def _project(image, m, replicate):
    height, width, _ = image.shape
    out = np.empty(image.shape, image.dtype)
    half = rounding(out)
    for y in range(height):
        for x in range(width):
            w = m[2, 0] * x + m[2, 1] * y + m[2, 2]
            share = 1 / w if w != 0 else FAR
            sx = (m[0, 0] * x + m[0, 1] * y + m[0, 2]) * share
            sy = (m[1, 0] * x + m[1, 1] * y + m[1, 2]) * share
            _read(image, out, y, x, sy, sx, replicate, half)
    return out


@compiled
def _undistort(image, k1, k2, cy, cx):
    height, width, _ = image.shape
    out = np.empty(image.shape, image.dtype)
    half = rounding(out)
    for y in range(height):
        dy = y - cy
        for x in range(width):
            dx = x - cx
            square = (dx / width) ** 2 + (dy / height) ** 2
            factor = 1 + k1 * square + k2 * square * square
            _read(image, out, y, x, cy + dy * factor, cx + dx * factor, False, half)
    return out


@compiled
def _read_axes(image, channels, rows, columns):
    height, width = image.shape[0], image.shape[1] // channels
    out = np.empty((len(rows), len(columns) * channels), image.dtype)
    half = rounding(out)
    left, right = np.empty(len(columns), np.uint32), np.empty(len(columns), np.uint32)
    weight = np.empty(len(columns), np.float32)
    for x in range(len(columns)):
        sx = min(max(columns[x], -FAR), FAR)
        x0 = int(np.floor(sx))
        left[x], right[x] = _inside(x0, width, False) * channels, _inside(x0 + 1, width, False) * channels
        weight[x] = sx - x0
    line = np.empty(width * channels, np.float32)
    for y in range(len(rows)):
        sy = min(max(rows[y], -FAR), FAR)
        y0 = int(np.floor(sy))
        v = np.float32(sy - y0)
        upper, lower = image[_inside(y0, height, False)], image[_inside(y0 + 1, height, False)]
        for i in range(len(line)):
            a = np.float32(upper[i])
            line[i] = a + v * (np.float32(lower[i]) - a)
        target = out[y]
        for x in range(len(columns)):
            for c in range(channels):
                a = line[left[x] + np.uint32(c)]
                value = a + weight[x] * (line[right[x] + np.uint32(c)] - a)
                target[x * channels + c] = level(value) + half
    return out


def jittered_square(height: int, width: int, moves: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """The inverse, 3×3, of the affine map that moves three corners of a centred square by (x, y) each.

    The square reaches a third of the shorter side from the middle, in whole pixels, as elastic transforms have it.
    """
    corners = _corners(height, width)
    forward = cv2.getAffineTransform(corners, corners + np.array(moves, np.float32))
    inverse = np.zeros((3, 3))
    inverse[:2] = cv2.invertAffineTransform(forward)
    inverse[2, 2] = 1
    return inverse


@lru_cache(maxsize=256)
def _corners(height: int, width: int) -> Field:
    centre = np.array([width // 2, height // 2], np.float32)
    reach = max(min(height, width) // 3, 1)
    return np.asarray(centre + np.array([[reach, reach], [reach, -reach], [-reach, -reach]], np.float32))


@inlined
def _hash(angle):
    """A number on [−1, 1) that looks random: the far digits of a sine."""
    far = 43758.5453 * sine(angle)
    return 2 * (far - np.floor(far)) - 1


def scatter(image: Pixels, seed: float, radius: float) -> Pixels:
    """Read each pixel up to `radius` away, by a hash of its row and column; the frame is not left."""
    return _scatter(image, seed, radius)


@compiled
def _scatter(image, seed, radius):
    height, width, channels = image.shape
    out = np.empty(image.shape, image.dtype)
    longest = max(height, width)
    sines, cosines = np.empty(longest), np.empty(longest)
    for i in range(longest):
        sines[i], cosines[i] = 12.9898 * np.sin(i * seed), 78.233 * np.cos(i * seed)
    rows, columns = np.empty(width), np.empty(width)
    for y in range(height):
        for x in range(width):
            rows[x] = y + radius * _hash(sines[y] + cosines[x])
            columns[x] = x + radius * _hash(sines[x] + cosines[y])
        for x in range(width):
            sy, sx = min(max(rows[x], 0.0), height - 1.0), min(max(columns[x], 0.0), width - 1.0)
            for c in range(channels):
                out[y, x, c] = level(bilinear_or_black(image, sy, sx, c))
    return out


def ring_waves(
    image: Pixels, centre: tuple[float, float], wavelength: float, phase: float, amplitude: float, reach: int
) -> Pixels:
    """Push pixels to and fro along the radius by amplitude·wavelength, as far as `reach` from the centre."""
    return _ring_waves(image, centre[0], centre[1], wavelength, phase, amplitude, reach)


@compiled
def _ring_waves(image, y_mid, x_mid, wavelength, phase, amplitude, reach):
    height, width, channels = image.shape
    out = image.copy()
    distances, pushes = np.empty(width), np.empty(width)
    turns, height_px = 2 * np.pi / wavelength, amplitude * wavelength
    for y in range(height):
        dy = y - y_mid
        for x in range(width):
            dx = x - x_mid
            distances[x] = np.sqrt(dy * dy + dx * dx)
            pushes[x] = height_px * sine(turns * distances[x] - phase) / distances[x]
        for x in range(width):
            if 0 < distances[x] <= reach:
                sy, sx = y + pushes[x] * dy, x + pushes[x] * (x - x_mid)
                for c in range(channels):
                    out[y, x, c] = level(bilinear_or_black(image, sy, sx, c))
    return out


def read_grid(image: Pixels, rows: NDArray[np.float64], columns: NDArray[np.float64]) -> Pixels:
    """Read each pixel (y, x) at (rows[y], columns[x])."""
    return _read_grid(image, rows, columns)


@compiled
def _read_grid(image, rows, columns):
    height, width, channels = image.shape
    out = np.empty(image.shape, image.dtype)
    for y in range(height):
        for x in range(width):
            for c in range(channels):
                out[y, x, c] = level(bilinear_or_black(image, rows[y], columns[x], c))
    return out
