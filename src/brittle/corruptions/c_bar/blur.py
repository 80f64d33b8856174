"""Blur of C-bar."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from brittle._types import Image, Pixels
from brittle.corruptions.images import Draws
from brittle.corruptions.kernels.arithmetic import compiled, in_bands, inlined
from brittle.corruptions.kernels.resampling import scatter as read_nearby
from brittle.corruptions.kernels.splines import add_spline_levels, cubic_weights, read_smoothed, spline_coefficients
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly

ONE = 1 << 16
"""Shares are whole 65,536ths: sums of levels times shares stay below 2²⁴, so single precision holds them exactly."""


STRIP = 128
"""Columns that are drawn together: what 21 turned rows of so many pixels read stays in the processor's cache."""


def mean_of_rotations(image: Image, angles: NDArray[np.float64], weights: NDArray[np.float64]) -> Image:
    """The weighted mean of copies turned by `angles` (radians), with cubic splines and black outside the frame.

    Each copy is an 8-bit picture, rounded and clipped, before it is added; the mean is truncated. Large pictures are
    drawn by all processors.
    """
    height, width, channels = image.shape
    spline = spline_coefficients(image).reshape(-1)
    shares = np.rint(weights / weights.sum() * ONE).astype(np.float32)
    shares[len(shares) // 2] += ONE - shares.sum()
    mean = np.empty((height, width, 3), np.uint8)
    cosines, sines = np.cos(angles), np.sin(angles)

    def draw(first: int, end: int) -> None:
        _mean_of_rotations(spline, mean, first, end, cosines, sines, shares)

    in_bands(draw, height, height * width)
    return mean if channels == 3 else np.ascontiguousarray(mean[:, :, :channels])


@inlined
def _inside(y, x, height, width):
    return 0 <= y <= height - 1 and 0 <= x <= width - 1


@compiled
def _mean_of_rotations(spline, out, top, bottom, cosines, sines, shares):
    """Draw the rows from `top` on and above `bottom`, strip by strip."""
    height, width, _ = out.shape
    y_mid, x_mid, stride = (height - 1) / 2, (width - 1) / 2, 4 * (width + 3)
    total, starts = np.empty(4 * STRIP, np.float32), np.empty(STRIP, np.int32)
    down, right = np.empty(STRIP, np.float32), np.empty(STRIP, np.float32)
    y_weights, x_weights = np.empty((4, STRIP), np.float32), np.empty((4, STRIP), np.float32)
    a, b, c, d = y_weights[0], y_weights[1], y_weights[2], y_weights[3]
    e, f, g, h = x_weights[0], x_weights[1], x_weights[2], x_weights[3]
    row_length = np.int32(stride)
    for left in range(0, width, STRIP):
        columns = min(STRIP, width - left)
        for y in range(top, bottom):
            total[: 4 * columns] = 0
            for k in range(len(shares)):
                cosine, sine = cosines[k], sines[k]
                y_start = cosine * (y - y_mid) + sine * x_mid + y_mid
                x_start = sine * (y - y_mid) - cosine * x_mid + x_mid
                first, end = left, left + columns
                while first < end and not _inside(y_start - sine * first, x_start + cosine * first, height, width):
                    first += 1
                while first < end and not _inside(
                    y_start - sine * (end - 1), x_start + cosine * (end - 1), height, width
                ):
                    end -= 1
                count = end - first
                if count <= 0:
                    continue
                base = np.int32(y_start - sine * first)  # places are counted from its row, so 32 bits hold them
                for i in range(count):
                    along = np.float64(np.int32(first + i))  # there are vectors of 32-bit numbers to convert
                    v, u = y_start - sine * along, x_start + cosine * along
                    row, column = np.int32(v), np.int32(u)
                    starts[i] = (row - base) * row_length + np.int32(4) * column
                    down[i], right[i] = np.float32(v - row), np.float32(u - column)
                cubic_weights(down, count, a, b, c, d)
                cubic_weights(right, count, e, f, g, h)
                origin, place = base * stride, 4 * (first - left)
                for i in range(count):
                    start = origin + starts[i]
                    add_spline_levels(spline, start, stride, y_weights, x_weights, i, shares[k], total, place + 4 * i)
            for x in range(columns):
                for channel in range(3):
                    out[y, left + x, channel] = np.int32(total[4 * x + channel]) >> 16


@corruption(
    family="blur",
    source="c-bar",
    full_depth=True,
    channels="rgb",
    fades=False,
    moves_pixels=True,
    shift_px=evenly(22.4, clean=0, steps=10, px=1),
)
def chromatic_abberation(image: Pixels, rng: Draws, *, shift_px: float) -> Pixels:
    """Red, green and blue are shifted apart, each in a direction of its own.

    Quirks kept: the spelling; the cubic B-spline is used without its prefilter, so every channel is also blurred
    by (1, 4, 1)/6 along both axes however small the shift; where a channel has left the frame it is 0. Because of
    these two the effect jumps in at once above severity 0. Channels are rounded to 8 bit, as SciPy does
    with 8-bit pictures.
    """
    height, width = image.shape[:2]
    angles = [rng.uniform(f"angle {channel}", 0, 2 * math.pi) for channel in "rgb"]
    rows = np.stack([np.arange(height) - shift_px * math.cos(angle) for angle in angles])
    columns = np.stack([np.arange(width) - shift_px * math.sin(angle) for angle in angles])
    return read_smoothed(image, rows, columns)


TURNS = np.linspace(-1, 1, 21)
WEIGHTS = np.exp(-2 * TURNS**2)


@corruption(family="blur", source="c-bar", fades=False, max_angle_deg=evenly(15, clean=0, steps=10))
def circular_motion_blur(image: Image, rng: Draws, *, max_angle_deg: float) -> Image:  # noqa: ARG001
    """The picture spins about its centre while it is taken: the mean of 21 turned copies.

    Quirk kept: turned copies are black outside the frame, so corners and edges darken, the outermost pixels
    already at the smallest angle, which makes the effect jump in. Copies are rounded to 8 bit, as SciPy
    does with 8-bit pictures; their mean is truncated. Nothing is drawn.
    """
    return mean_of_rotations(image, np.radians(TURNS * max_angle_deg), WEIGHTS)


@corruption(family="blur", source="c-bar", full_depth=True, radius_px=evenly(22.4, clean=0, steps=10, px=1))
def scatter(image: Pixels, rng: Draws, *, radius_px: float) -> Pixels:
    """Each pixel is read from a random place near it, as through rough glass.

    Quirk kept: what is random is only the seed of a hash of row and column, so the scatter has a faint
    texture, coarser for a small seed. Places beyond the frame are moved to its edge.
    """
    return read_nearby(image, rng.uniform("seed", 0, 10), radius_px)


ORDERS = tuple(permutations(range(3)))


@corruption(
    family="blur",
    source="c-bar",
    full_depth=True,
    channels="rgb",
    fades=False,
    moves_pixels=True,
    mid_zoom=evenly(1.25, clean=1, steps=10),
    max_zoom=evenly(1.5, clean=1, steps=10),
)
def transverse_chromatic_abberation(image: Pixels, rng: Draws, *, mid_zoom: float, max_zoom: float) -> Pixels:
    """Red, green and blue are enlarged differently, so colours fringe more and more towards the edges.

    One channel keeps its size; which one is drawn. Quirks kept: the spelling; the cubic B-spline is used without
    its prefilter, so every channel is also blurred by (1, 4, 1)/6 along both axes, which makes the effect jump
    in at once above severity 0. Sizes are whole, so the enlargement moves in steps. Channels are
    rounded to 8 bit, as SciPy does with 8-bit pictures.
    """
    zooms = (1.0, mid_zoom, max_zoom)
    order = ORDERS[rng.integer("order", len(ORDERS))]
    rows = np.stack([_central_window(image.shape[0], zooms[k]) for k in order])
    columns = np.stack([_central_window(image.shape[1], zooms[k]) for k in order])
    return read_smoothed(image, rows, columns)


def _central_window(length: int, zoom: float) -> NDArray[np.float64]:
    """Where the central part of an axis stretched corner to corner onto round(length·zoom) pixels is read."""
    stretched = round(length * zoom)
    start = (stretched - length) // 2
    return np.asarray((start + np.arange(length)) * ((length - 1) / max(stretched - 1, 1)), np.float64)
