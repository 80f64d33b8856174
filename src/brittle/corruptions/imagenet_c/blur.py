"""Blur of ImageNet-C."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from brittle._types import Field, Image, Key
from brittle.corruptions.images import Draws
from brittle.corruptions.kernels.arithmetic import add_scaled, compiled, truncate
from brittle.corruptions.kernels.blur import gaussian, mean_of_zooms
from brittle.corruptions.kernels.blur import motion_blur as blur
from brittle.corruptions.kernels.random_words import unit, word
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import levels


def copy_from_neighbours(image: Image, key: Key, reach: float, sweeps: float) -> Image:
    """Sweep the image in place, from the bottom right to the top left, each pixel becoming a copy of a neighbour.

    Offsets are uniform on −reach … reach−1 in both directions; a real-valued reach goes on smoothly down to 0,
    where nothing moves.
    """
    out = image.copy()
    _sweep(out, key, np.float32(reach), max(1, math.ceil(reach)), math.ceil(sweeps), np.float32(sweeps))
    return out


@compiled
def _sweep(image, key, reach, margin, sweeps, share):
    height, width, channels = image.shape
    lift = np.float32(0.5) * (np.float32(1) - min(reach, np.float32(1)))
    scale = np.float32(2.0**-16)
    for sweep in range(sweeps):
        visited = min(share - np.float32(sweep), np.float32(1))
        for y in range(height - margin, margin, -1):
            for x in range(width - margin, margin, -1):
                bits = word(key, (sweep * height + y) * width + x)
                if visited < 1 and unit(bits << np.uint64(32)) >= visited:
                    continue
                u = np.float32(np.int32(bits >> np.uint64(48))) * scale
                v = np.float32(np.int32((bits >> np.uint64(32)) & np.uint64(0xFFFF))) * scale
                dx = int(np.floor(reach * (np.float32(2) * u - np.float32(1)) + lift))
                dy = int(np.floor(reach * (np.float32(2) * v - np.float32(1)) + lift))
                for c in range(channels):
                    image[y, x, c] = image[y + dy, x + dx, c]


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
    running = np.zeros((rows.shape[0], rows.shape[1] + channels), np.int32)
    taps = len(kernel.bell) - 1
    ring = np.empty((2 * taps + 1, (width + 2 * taps) * channels), np.int32)
    down = np.empty(ring.shape[1], np.float32)
    out = np.empty(image.shape, np.float32)
    _running_sums(rows, channels, running)
    _defocus(rows, running, channels, margin, *kernel, ring, down, out.reshape(height, -1))
    return out


@compiled
def _defocus(rows, running, channels, margin, half_widths, bell, weight, rest_at, rest, ring, down, out):
    """`ring` holds the disk sums of the rows that the bell still needs."""
    height, length = out.shape
    taps = len(bell) - 1
    inside = len(half_widths) // 2
    for y in range(-taps, taps):
        _disk_sums(running, y + margin - inside, margin - taps, channels, half_widths, ring[y % (2 * taps + 1)])
    scale = np.float32(weight)
    for y in range(height):
        newest = y + taps
        _disk_sums(
            running, newest + margin - inside, margin - taps, channels, half_widths, ring[newest % (2 * taps + 1)]
        )
        down[:] = np.float32(0)
        for j in range(-taps, taps + 1):
            add_scaled(down, bell[abs(j)] * scale, ring[(y + j) % (2 * taps + 1)])
        total = out[y]
        total[:] = np.float32(0)
        for j in range(2 * taps + 1):
            add_scaled(total, bell[abs(j - taps)], down[j * channels : j * channels + length])
        for i in range(len(rest)):
            at = (margin + rest_at[i, 1]) * channels
            add_scaled(total, rest[i], rows[y + margin + rest_at[i, 0], at : at + length])


@compiled
def _running_sums(rows, channels, out):
    """Sums of all pixels to the left, one pixel longer than the row; `out` holds zeros."""
    for y in range(rows.shape[0]):
        for x in range(rows.shape[1]):
            out[y, x + channels] = out[y, x] + rows[y, x]


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


@corruption(
    family="blur",
    source="imagenet-c",
    blends=True,
    radius=levels(
        *(3, 4, 6, 8, 10),
        at32=(0.3, 0.4, 0.5, 1, 1.5),
        at64=(0.5, 1, 1.5, 2.5, 3),
        at299=(4, 5, 7, 10, 12),
        clean=0,
        px=1,
    ),
    alias_sigma=levels(
        *(0.1, 0.5, 0.5, 0.5, 0.5),
        at32=(0.4, 0.5, 0.6, 0.2, 0.1),
        at64=(0.6, 0.1, 0.1, 0.01, 0.1),
        at299=(0.1, 0.5, 0.5, 0.5, 0.5),
        clean=0,
        px=1,
    ),
)
def defocus_blur(image: Image, rng: Draws, *, radius: float, alias_sigma: float) -> Image:  # noqa: ARG001
    """A lens out of focus: correlation with a disk whose rim is smoothed a little.

    Quirks kept: the kernels of radius 8 and 10 sum to 1.013 and 1.011 (7, 10 and 12 at 299 px likewise), so the
    picture gets brighter; a radius below one pixel leaves only the 3×3 Gaussian of the rim. Between the levels the two
    neighbouring blurs are blended; at sizes without a table the disk passes smoothly from one ring of pixels to the
    next.
    """
    return defocus(image, radius, alias_sigma)


@corruption(
    family="blur",
    source="imagenet-c",
    sigma=levels(
        *(1, 2, 3, 4, 6),
        at32=(0.4, 0.6, 0.7, 0.8, 1),
        at64=(0.5, 0.75, 1, 1.25, 1.5),
        at299=(1.5, 2.5, 3.5, 4.5, 6.5),
        clean=0,
        px=1,
    ),
)
def gaussian_blur(image: Image, rng: Draws, *, sigma: float) -> Image:  # noqa: ARG001
    """A Gaussian filter that ends at 4σ, edges replicated. One of the four extra corruptions."""
    return truncate(gaussian(image, sigma))


@corruption(
    family="blur",
    source="imagenet-c",
    monotone=False,
    sigma=levels(
        *(0.7, 0.9, 1, 1.1, 1.5),
        at32=(0.05, 0.25, 0.4, 0.25, 0.4),
        at64=(0.1, 0.5, 0.6, 0.7, 0.9),
        at299=(0.8, 1, 1.1, 1.2, 1.6),
        clean=0,
        px=1,
    ),
    max_delta=levels(
        *(1, 2, 2, 3, 4),
        at32=(1, 1, 1, 1, 1),
        at64=(1, 1, 1, 2, 2),
        at299=(1, 3, 2, 4, 5),
        clean=0,
        px=1,
    ),
    iterations=levels(
        *(2, 1, 3, 2, 2),
        at32=(1, 1, 1, 2, 2),
        at64=(1, 1, 2, 1, 2),
        at299=(3, 1, 4, 2, 2),
        clean=None,
    ),
)
def glass_blur(image: Image, rng: Draws, *, sigma: float, max_delta: float, iterations: float) -> Image:
    """Frosted glass: blur, let pixels change places with near neighbours, and blur again.

    Quirks kept: the published exchange overwrites one pixel before it reads it, so each pixel is a *copy* of a
    neighbour, and copies travel, because the sweep runs from the bottom right to the top left in place. Offsets
    are uniform on −δ … δ−1, which pulls the picture towards the bottom right by half a pixel a sweep. Between
    the levels δ widens the offsets continuously, and a fractional last sweep visits that share of the pixels.
    """
    blurred = truncate(gaussian(image, sigma))
    copied = copy_from_neighbours(blurred, rng.key("offsets"), max_delta, iterations)
    return truncate(gaussian(copied, sigma))


@corruption(
    family="blur",
    source="imagenet-c",
    radius=levels(
        *(10, 15, 15, 15, 20),
        at32=(6, 6, 6, 8, 9),
        at64=(10, 10, 10, 10, 12),
        at299=(12, 17, 17, 17, 22),
        clean=0,
        px=1,
    ),
    sigma=levels(
        *(3, 5, 8, 12, 15),
        at32=(1, 1.5, 2, 2, 2.5),
        at64=(1, 1.5, 2, 2.5, 3),
        at299=(4, 6, 9, 13, 16),
        clean=0,
        px=1,
    ),
)
def motion_blur(image: Image, rng: Draws, *, radius: float, sigma: float) -> Image:
    """A moving camera: a one-sided Gaussian trail at an angle uniform on −45° … 45°, drawn once per image.

    Quirks kept: the trail points one way, so the picture moves; taps sit on whole pixels; and, alone among the
    19, the result is rounded, because ImageMagick made it. Between the levels the last tap has a fractional
    weight.
    """
    return np.rint(blur(image, radius, sigma, rng.uniform("angle", -45, 45))).astype(np.uint8)


@corruption(
    family="blur",
    source="imagenet-c",
    largest_zoom=levels(
        *(1.11, 1.15, 1.20, 1.24, 1.30),
        at32=(1.06, 1.11, 1.15, 1.20, 1.25),
        at64=(1.06, 1.11, 1.15, 1.20, 1.25),
        at299=(1.11, 1.15, 1.20, 1.24, 1.30),
        clean=1,
    ),
    layers=levels(
        *(12, 16, 11, 13, 11),
        at32=(7, 12, 16, 21, 26),
        at64=(7, 12, 16, 21, 26),
        at299=(12, 16, 11, 13, 11),
        clean=None,
        integer=True,
    ),
)
def zoom_blur(image: Image, rng: Draws, *, largest_zoom: float, layers: float) -> Image:  # noqa: ARG001
    """A camera that moves towards the scene: the mean of the image and of ever larger enlargements of it.

    Quirks kept: the clean image counts twice, because the list of enlargements begins with 1; and the ends of
    the lists are those that floating-point rounding gave the published ranges (1.11 is in, 1.16 is out). The
    number of layers is rounded between the levels.
    """
    return mean_of_zooms(image, largest_zoom, int(layers))
