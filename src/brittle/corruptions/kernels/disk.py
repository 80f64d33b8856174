"""Out-of-focus blur with a disk, by sums over runs of pixels instead of over all of its area."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Field, Image
from brittle.corruptions.kernels.bytes import truncate
from brittle.corruptions.kernels.compiled import compiled

LARGEST_PUBLISHED = 12.0
"""Above this radius, that of 299 px images, there is no published kernel to reproduce, and rings lie close together."""


class Disk(NamedTuple):
    """A disk with a smoothed rim: rows of equal weights, a small bell to smooth their sum with, and a remainder."""

    half_widths: NDArray[np.int64]
    bell: Field
    weight: float
    rest_at: NDArray[np.int64]
    rest: Field


@lru_cache(maxsize=256)
def disk(radius: float, alias_sigma: float) -> Disk:
    """The published kernel, taken apart.

    The disk {x² + y² ≤ r²} lies on a grid that ends at ±8, or at the radius if that is larger, and is smoothed by a
    Gaussian of 3×3 taps, 5×5 for radii above 8, with the *grid* mirrored at its edge. A disk that reaches the edge
    therefore gains weight there: the kernel of radius 8 sums to 1.013, that of radius 10 to 1.011. Those few taps
    are the remainder; disks larger than any published one go without it.
    """
    inside = int(radius)
    half_widths = np.array([math.isqrt(int(radius**2 - y**2)) for y in range(-inside, inside + 1)])
    weight = 1 / float((2 * half_widths + 1).sum())
    reach, taps = (8, 1) if radius <= 8 else (inside, 2)
    bell = np.exp(-0.5 * (np.arange(taps + 1) / max(alias_sigma, 1e-3)) ** 2)
    bell /= 2 * bell.sum() - bell[0]
    if bell[1] < 1e-9:
        bell = bell[:1]
    if inside + taps <= reach - 1 or len(bell) == 1 or radius > LARGEST_PUBLISHED:
        return Disk(half_widths, bell.astype(np.float32), weight, np.empty((0, 2), np.int64), np.empty(0, np.float32))
    at, rest = _remainder(half_widths, bell, weight, reach)
    return Disk(half_widths, bell.astype(np.float32), weight, at, rest)


def _remainder(
    half_widths: NDArray[np.int64], bell: NDArray[np.float64], weight: float, reach: int
) -> tuple[NDArray[np.int64], Field]:
    """What mirroring the grid adds to, and cuts from, the freely smoothed disk."""
    taps = len(bell) - 1
    outer = reach + taps
    grid = np.zeros((2 * outer + 1, 2 * outer + 1))
    for y, half in enumerate(half_widths, start=outer - len(half_widths) // 2):
        grid[y, outer - half : outer + half + 1] = weight
    inner = slice(taps, -taps)
    full = np.concatenate([bell[:0:-1], bell])
    published = np.zeros_like(grid)
    published[inner, inner] = cv2.sepFilter2D(grid[inner, inner], -1, full, full, borderType=cv2.BORDER_REFLECT_101)
    rest = published - cv2.sepFilter2D(grid, -1, full, full, borderType=cv2.BORDER_CONSTANT)
    rows, columns = np.nonzero(np.abs(rest) > 1e-6)  # what is left out weighs less than 0.02 grey levels
    return np.stack([rows - outer, columns - outer], 1), rest[rows, columns].astype(np.float32)


def defocus(image: Image, radius: float, alias_sigma: float) -> Image:
    """Correlate each channel with the disk; borders mirror without repeating the edge.

    A disk on the pixel grid grows ring by ring. So that the blur does not, it passes from one ring to the next by
    blending the two.
    """
    ring, share = _next_ring(radius) if radius <= LARGEST_PUBLISHED else (radius, 0.0)
    blurred = _blurred(image, disk(radius, alias_sigma))
    if share > 0:
        blurred += np.float32(share) * (_blurred(image, disk(ring, alias_sigma)) - blurred)
    return truncate(blurred)


def _next_ring(radius: float) -> tuple[float, float]:
    """The radius at which the disk gains its next pixels, and how far on the way there we are.

    Published radii are whole or half, or less than half, and are drawn as they are. So the way to the next ring begins
    at the last ring or at the last half, whichever is later.
    """
    side = np.arange(int(radius) + 2)
    rings = np.unique(side[:, None] ** 2 + side[None, :] ** 2)
    square = radius**2
    after = math.sqrt(rings[rings > square].min())
    half = (math.ceil(after * 2) - 1) / 2
    start = max(math.sqrt(rings[rings <= square].max()), half)
    return after, max(0.0, (radius - start) / (after - start))


def _blurred(image: Image, kernel: Disk) -> Field:
    height, width, channels = image.shape
    margin = max(len(kernel.half_widths) // 2 + len(kernel.bell) - 1, int(np.abs(kernel.rest_at).max(initial=0)))
    padded = cv2.copyMakeBorder(image, margin, margin, margin, margin, cv2.BORDER_REFLECT_101)
    rows = padded.reshape(height + 2 * margin, -1)
    return _defocus(rows, height, width * channels, channels, margin, *kernel).reshape(image.shape)


@compiled
def _defocus(rows, height, length, channels, margin, half_widths, bell, weight, rest_at, rest):
    running = _running_sums(rows, channels)
    taps = len(bell) - 1
    inside = len(half_widths) // 2
    wide = length + 2 * taps * channels
    out = np.empty((height, length), np.float32)
    ring = np.empty((2 * taps + 1, wide), np.int32)  # disk sums of the rows that the bell still needs
    for y in range(-taps, taps):
        _disk_sums(running, y + margin - inside, margin - taps, channels, half_widths, ring[y % (2 * taps + 1)])
    down = np.empty(wide, np.float32)
    scale = np.float32(weight)
    for y in range(height):
        newest = y + taps
        _disk_sums(
            running, newest + margin - inside, margin - taps, channels, half_widths, ring[newest % (2 * taps + 1)]
        )
        down[:] = np.float32(0)
        for j in range(-taps, taps + 1):
            _add_scaled(down, bell[abs(j)] * scale, ring[(y + j) % (2 * taps + 1)])
        total = out[y]
        total[:] = np.float32(0)
        for j in range(2 * taps + 1):
            _add_scaled(total, bell[abs(j - taps)], down[j * channels : j * channels + length])
        for i in range(len(rest)):
            at = (margin + rest_at[i, 1]) * channels
            _add_scaled(total, rest[i], rows[y + margin + rest_at[i, 0], at : at + length])
    return out


@compiled
def _running_sums(rows, channels):
    """Sums of all pixels to the left, one entry longer than the row."""
    out = np.zeros((rows.shape[0], rows.shape[1] + channels), np.int32)
    for y in range(rows.shape[0]):
        for x in range(rows.shape[1]):
            out[y, x + channels] = out[y, x] + rows[y, x]
    return out


@compiled
def _disk_sums(running, top, left, channels, half_widths, sums):
    """For one row of centres: the sums over the disk, each run of pixels as a difference of running sums.

    The rows above and below the centre have equal runs and are added together.
    """
    length = len(sums)
    last = len(half_widths) - 1
    sums[:] = 0
    for j in range(last // 2 + 1):
        begin = (left - half_widths[j]) * channels
        end = (left + half_widths[j] + 1) * channels
        above_end, above_begin = running[top + j, end : end + length], running[top + j, begin : begin + length]
        below = top + last - j
        below_end, below_begin = running[below, end : end + length], running[below, begin : begin + length]
        if 2 * j == last:
            for x in range(length):
                sums[x] += above_end[x] - above_begin[x]
        else:
            for x in range(length):
                sums[x] += (above_end[x] - above_begin[x]) + (below_end[x] - below_begin[x])


@compiled
def _add_scaled(target, factor, source):
    for x in range(len(target)):
        target[x] += factor * np.float32(source[x])
