"""Blur of ImageNet-C."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from brittle._types import Field, Key, Pixels
from brittle.corruptions.images import Draws
from brittle.corruptions.kernels.arithmetic import compiled, rounded, truncate
from brittle.corruptions.kernels.blur import gaussian_bytes, mean_of_zooms
from brittle.corruptions.kernels.blur import motion_blur as blur
from brittle.corruptions.kernels.random_words import unit, word
from brittle.corruptions.kernels.splines import mirror
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import levels


def copy_from_neighbours(image: Pixels, key: Key, reach: float, sweeps: float) -> Pixels:
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
    pixels = image.reshape(-1)
    steps = np.empty(width, np.int32)
    for sweep in range(sweeps):
        visited = min(share - np.float32(sweep), np.float32(1))
        for y in range(height - margin, margin, -1):
            _draw_steps((key[0], key[1]), (sweep * height + y) * width, reach, visited, width, channels, steps)
            at = np.uint64((y * width + width - margin) * channels)
            for x in range(width - margin, margin, -1):
                source = at + np.uint64(np.int64(steps[np.uint64(x)]))
                pixels[at] = pixels[source]
                if channels == 3:
                    pixels[at + np.uint64(1)] = pixels[source + np.uint64(1)]
                    pixels[at + np.uint64(2)] = pixels[source + np.uint64(2)]
                at -= np.uint64(channels)


@compiled
def _draw_steps(key, start, reach, visited, width, channels, steps):
    """How many elements away each pixel of a row finds its copy; 0 for one that the last sweep does not visit."""
    lift = np.float32(0.5) * (np.float32(1) - min(reach, np.float32(1)))
    scale, first = np.float32(2.0**-16), np.uint64(start)
    across, along = np.int32(width * channels), np.int32(channels)
    for x in range(np.uint64(width)):
        bits = word(key, first + x)
        u = np.float32(np.int32(bits >> np.uint64(48))) * scale
        v = np.float32(np.int32((bits >> np.uint64(32)) & np.uint64(0xFFFF))) * scale
        dx = np.int32(np.floor(reach * (np.float32(2) * u - np.float32(1)) + lift))
        dy = np.int32(np.floor(reach * (np.float32(2) * v - np.float32(1)) + lift))
        skipped = visited < 1 and unit(bits << np.uint64(32)) >= visited
        steps[x] = np.int32(0) if skipped else dy * across + dx * along


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


def defocus(image: Pixels, radius: float, alias_sigma: float) -> Pixels:
    """Correlate each channel with the disk; borders mirror without repeating the edge.

    A disk on the pixel grid grows ring by ring. So that the blur does not, it passes from one ring to the next by
    blending the two.
    """
    ring, share = _next_ring(radius) if radius <= LARGEST_PUBLISHED else (radius, 0.0)
    sums = np.empty(0, np.int32 if image.dtype == np.uint8 else np.float64)
    blurred = _blur_by_disk(image, *disk(radius, alias_sigma), sums)
    if share > 0:
        blurred += np.float32(share) * (_blur_by_disk(image, *disk(ring, alias_sigma), sums) - blurred)
    return truncate(blurred, image)


@lru_cache(maxsize=256)
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


@compiled
def _blur_by_disk(image, half_widths, bell, weight, rest_at, rest, sums):
    """The sums over the disk, from running sums along rows; then the bell down and across; then the remainder.

    Sums are of the type of `sums`, an empty array.
    Offsets have no sign, and no row is a slice: see `_add_pairs` of kernels/blur.py.
    """
    height, width, channels = image.shape
    taps, inside = len(bell) - 1, len(half_widths) // 2
    margin = inside + taps
    for i in range(len(rest)):
        margin = max(margin, max(abs(rest_at[i, 0]), abs(rest_at[i, 1])))
    padded = _mirrored(image, margin)
    stride = (width + 2 * margin) * channels
    running = _running_sums(padded, stride, channels, sums)
    length, wide = width * channels, (width + 2 * taps) * channels
    rows = 2 * taps + 1
    ring, down = np.empty(rows * wide, sums.dtype), np.empty(wide, np.float32)
    at, begins = np.empty(rows, np.uint64), np.empty(len(rest), np.uint64)
    scaled, full = np.empty(rows, np.float32), np.empty(rows, np.float32)
    for j in range(rows):
        full[j], scaled[j] = bell[abs(j - taps)], bell[abs(j - taps)] * np.float32(weight)
    out = np.empty(image.shape, np.float32)
    target = out.reshape(-1)
    for y in range(-taps, height + taps):
        first = (y + margin - inside) * (stride + channels) + (margin - taps) * channels
        _disk_sums(running, first, stride + channels, channels, half_widths, wide, ring, ((y + rows) % rows) * wide)
        if y < taps:
            continue
        middle = y - taps
        for j in range(rows):
            at[j] = ((middle + j - taps + rows) % rows) * wide
        _weigh(ring, at, scaled, wide, down, 0)
        for j in range(rows):
            at[j] = j * channels
        _weigh(down, at, full, length, target, middle * length)
        if len(rest):
            for i in range(len(rest)):
                begins[i] = (middle + margin + rest_at[i, 0]) * stride + (margin + rest_at[i, 1]) * channels
            _add_eights(padded, begins, rest, length, target, middle * length)
    return out


@compiled
def _mirrored(image, margin):
    """The image with margins that mirror without repeating the edge, as one row."""
    height, width, channels = image.shape
    source, length, stride = image.reshape(-1), width * channels, (width + 2 * margin) * channels
    out = np.empty((height + 2 * margin) * stride, image.dtype)
    for row in range(height + 2 * margin):
        begin, to = mirror(row - margin, height) * length, row * stride
        start, middle = np.uint64(begin), np.uint64(to + margin * channels)
        for x in range(np.uint64(length)):
            out[middle + x] = source[start + x]
        for i in range(margin):
            left, right = mirror(i - margin, width) * channels, mirror(width + i, width) * channels
            for c in range(channels):
                out[to + i * channels + c] = source[begin + left + c]
                out[to + (margin + width + i) * channels + c] = source[begin + right + c]
    return out


@compiled
def _running_sums(pixels, stride, channels, sums):
    """Sums of all pixels to the left, one pixel longer than a row."""
    rows, after = len(pixels) // stride, np.uint64(channels)
    out = np.empty(rows * (stride + channels), sums.dtype)
    for y in range(rows):
        start, to = np.uint64(y * stride), np.uint64(y * (stride + channels))
        for x in range(after):
            out[to + x] = 0
        for x in range(np.uint64(stride)):
            out[to + x + after] = out[to + x] + pixels[start + x]
    return out


@compiled
def _disk_sums(running, first, stride, channels, half_widths, length, sums, start):
    """For one row of centres: the sums over the disk, each run of pixels as a difference of running sums.

    The rows above and below the centre have equal runs and are added together, two such pairs at a time.
    """
    last, to, count = len(half_widths) - 1, np.uint64(start), np.uint64(length)
    inside = last // 2
    half = half_widths[inside]
    e = np.uint64(first + inside * stride + (half + 1) * channels)
    b = np.uint64(first + inside * stride - half * channels)
    for x in range(count):
        sums[to + x] = running[e + x] - running[b + x]
    for j in range(0, inside - 1, 2):
        end, begin = (half_widths[j] + 1) * channels, -half_widths[j] * channels
        above, below = first + j * stride, first + (last - j) * stride
        e, b, f, d = np.uint64(above + end), np.uint64(above + begin), np.uint64(below + end), np.uint64(below + begin)
        end, begin = (half_widths[j + 1] + 1) * channels, -half_widths[j + 1] * channels
        above, below = above + stride, below - stride
        g, h, k, m = np.uint64(above + end), np.uint64(above + begin), np.uint64(below + end), np.uint64(below + begin)
        for x in range(count):
            outer = (running[e + x] - running[b + x]) + (running[f + x] - running[d + x])
            inner = (running[g + x] - running[h + x]) + (running[k + x] - running[m + x])
            sums[to + x] += outer + inner
    if inside % 2:
        j = inside - 1
        end, begin = (half_widths[j] + 1) * channels, -half_widths[j] * channels
        above, below = first + j * stride, first + (last - j) * stride
        e, b, f, d = np.uint64(above + end), np.uint64(above + begin), np.uint64(below + end), np.uint64(below + begin)
        for x in range(count):
            sums[to + x] += (running[e + x] - running[b + x]) + (running[f + x] - running[d + x])


@compiled
def _weigh(source, at, weights, length, out, start):
    """out ← Σ weightⱼ·source, with `length` elements from each of the 1, 3 or 5 places `at`."""
    to, count = np.uint64(start), np.uint64(length)
    if len(at) == 1:
        a, w = at[0], weights[0]
        for x in range(count):
            out[to + x] = w * np.float32(source[a + x])
        return
    a, b, c = at[0], at[1], at[2]
    u, v, w = weights[0], weights[1], weights[2]
    for x in range(count):
        near = u * np.float32(source[a + x]) + v * np.float32(source[b + x])
        out[to + x] = near + w * np.float32(source[c + x])
    if len(at) == 5:
        a, b, u, v = at[3], at[4], weights[3], weights[4]
        for x in range(count):
            out[to + x] = (out[to + x] + u * np.float32(source[a + x])) + v * np.float32(source[b + x])


@compiled
def _add_eights(source, at, weights, length, out, start):
    """out += Σ weightᵢ·source, in order, eight at a time."""
    to, count = np.uint64(start), np.uint64(length)
    eights = len(at) // 8 * 8
    for i in range(0, eights, 8):
        a, b, c, d, e, f, g, h = at[i], at[i + 1], at[i + 2], at[i + 3], at[i + 4], at[i + 5], at[i + 6], at[i + 7]
        p, q, r, s = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        t, u, v, w = weights[i + 4], weights[i + 5], weights[i + 6], weights[i + 7]
        for x in range(count):
            value = out[to + x] + p * np.float32(source[a + x])
            value = (value + q * np.float32(source[b + x])) + r * np.float32(source[c + x])
            value = (value + s * np.float32(source[d + x])) + t * np.float32(source[e + x])
            value = (value + u * np.float32(source[f + x])) + v * np.float32(source[g + x])
            out[to + x] = value + w * np.float32(source[h + x])
    for i in range(eights, len(at)):
        a, w = at[i], weights[i]
        for x in range(count):
            out[to + x] += w * np.float32(source[a + x])


@corruption(
    family="blur",
    source="imagenet-c",
    full_depth=True,
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
def defocus_blur(image: Pixels, rng: Draws, *, radius: float, alias_sigma: float) -> Pixels:  # noqa: ARG001
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
    full_depth=True,
    sigma=levels(
        *(1, 2, 3, 4, 6),
        at32=(0.4, 0.6, 0.7, 0.8, 1),
        at64=(0.5, 0.75, 1, 1.25, 1.5),
        at299=(1.5, 2.5, 3.5, 4.5, 6.5),
        clean=0,
        px=1,
    ),
)
def gaussian_blur(image: Pixels, rng: Draws, *, sigma: float) -> Pixels:  # noqa: ARG001
    """A Gaussian filter that ends at 4σ, edges replicated. One of the four extra corruptions."""
    return gaussian_bytes(image, sigma)


@corruption(
    family="blur",
    source="imagenet-c",
    full_depth=True,
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
def glass_blur(image: Pixels, rng: Draws, *, sigma: float, max_delta: float, iterations: float) -> Pixels:
    """Frosted glass: blur, let pixels change places with near neighbours, and blur again.

    Quirks kept: the published exchange overwrites one pixel before it reads it, so each pixel is a *copy* of a
    neighbour, and copies travel, because the sweep runs from the bottom right to the top left in place. Offsets
    are uniform on −δ … δ−1, which pulls the picture towards the bottom right by half a pixel a sweep. Between
    the levels δ widens the offsets continuously, and a fractional last sweep visits that share of the pixels.
    """
    blurred = gaussian_bytes(image, sigma)
    copied = copy_from_neighbours(blurred, rng.key("offsets"), max_delta, iterations)
    return gaussian_bytes(copied, sigma)


@corruption(
    family="blur",
    source="imagenet-c",
    full_depth=True,
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
def motion_blur(image: Pixels, rng: Draws, *, radius: float, sigma: float) -> Pixels:
    """A moving camera: a one-sided Gaussian trail at an angle uniform on −45° … 45°, drawn once per image.

    Quirks kept: the trail points one way, so the picture moves; taps sit on whole pixels; and, alone among the
    19, the result is rounded, because ImageMagick made it. Between the levels the last tap has a fractional
    weight.
    """
    return rounded(blur(image, radius, sigma, rng.uniform("angle", -45, 45)), image)


@corruption(
    family="blur",
    source="imagenet-c",
    full_depth=True,
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
def zoom_blur(image: Pixels, rng: Draws, *, largest_zoom: float, layers: float) -> Pixels:  # noqa: ARG001
    """A camera that moves towards the scene: the mean of the image and of ever larger enlargements of it.

    Quirks kept: the clean image counts twice, because the list of enlargements begins with 1; and the ends of
    the lists are those that floating-point rounding gave the published ranges (1.11 is in, 1.16 is out). The
    number of layers is rounded between the levels.
    """
    return mean_of_zooms(image, largest_zoom, int(layers))
