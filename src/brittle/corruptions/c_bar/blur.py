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


ROWS, COLUMNS = 128, 64
"""Pixels that are drawn together: what a turned copy of so many reads stays in the processor's cache for the next."""


def mean_of_rotations(image: Image, angles: NDArray[np.float64], weights: NDArray[np.float64]) -> Image:
    """The weighted mean of copies turned by `angles` (radians), with cubic splines and black outside the frame.

    Each copy is an 8-bit picture, rounded and clipped, before it is added; the mean is truncated. Large pictures are
    drawn by all processors.
    """
    height, width, _ = image.shape
    spline = spline_coefficients(image).reshape(-1)
    shares = np.rint(weights / weights.sum() * ONE).astype(np.float32)
    shares[len(shares) // 2] += ONE - shares.sum()
    turned = angles != 0  # splines go through the pixels, so a copy that is not turned is the image itself
    unturned_share, shares = shares[~turned].sum(), shares[turned]
    cosines, sines = np.cos(angles[turned]), np.sin(angles[turned])
    mean = np.empty_like(image)

    def draw(first: int, end: int) -> None:
        _mean_of_rotations(image, spline, mean, first, end, cosines, sines, shares, unturned_share)

    in_bands(draw, height, height * width)
    return mean


@inlined
def _inside(y, x, height, width):
    return 0 <= y <= height - 1 and 0 <= x <= width - 1


@compiled
def _mean_of_rotations(image, spline, out, top, bottom, cosines, sines, shares, unturned_share):
    """Draw the rows from `top` on and above `bottom`, tile by tile; in a tile, copy by copy; in a copy, row by row.

    The loops over i always have COLUMNS steps, also where a row has fewer pixels inside the frame: of a fixed number
    the compiler makes vectors without a rest. Fours of pixels are added, so up to three more, which weigh nothing.
    """
    height, width, channels = image.shape
    y_mid, x_mid, stride = (height - 1) / 2, (width - 1) / 2, 4 * (width + 3)
    total, starts = np.empty(4 * ROWS * COLUMNS + 12, np.float32), np.empty(COLUMNS, np.int32)
    buffer = np.empty((10, COLUMNS), np.float32)  # the compiler sees that parts of one array do not overlap
    y_weights, x_weights, down, right = buffer[:4], buffer[4:8], buffer[8], buffer[9]
    for upper in range(top, bottom, ROWS):
        for left in range(0, width, COLUMNS):
            rows, columns = min(ROWS, bottom - upper), min(COLUMNS, width - left)
            for i in range(len(total)):
                total[i] = 0
            for k in range(len(shares)):
                cosine, sine, share = cosines[k], sines[k], shares[k]
                for y in range(rows):
                    y_start = cosine * (upper + y - y_mid) + sine * x_mid + y_mid
                    x_start = sine * (upper + y - y_mid) - cosine * x_mid + x_mid
                    first, end = left, left + columns
                    while first < end and not _inside(y_start - sine * first, x_start + cosine * first, height, width):
                        first += 1
                    while first < end and not _inside(
                        y_start - sine * (end - 1), x_start + cosine * (end - 1), height, width
                    ):
                        end -= 1
                    if first == end:
                        continue
                    origin = int(y_start - sine * first) * stride  # places are counted from here, so 32 bits hold them
                    before = np.float64(origin)
                    for i in range(COLUMNS):
                        along = np.float64(np.int32(first + i))  # there are vectors of 32-bit numbers to convert
                        v, u = y_start - sine * along, x_start + cosine * along
                        row, column = np.floor(v), np.floor(u)
                        starts[i] = np.int32(row * stride - before + 4 * column)
                        down[i], right[i] = np.float32(v - row), np.float32(u - column)
                    for i in range(COLUMNS):
                        a, b, c, d = cubic_weights(down[i])
                        y_weights[0, i], y_weights[1, i], y_weights[2, i], y_weights[3, i] = a, b, c, d
                    for i in range(COLUMNS):
                        a, b, c, d = cubic_weights(right[i])
                        x_weights[0, i], x_weights[1, i], x_weights[2, i], x_weights[3, i] = a, b, c, d
                    count = end - first
                    while count % 4:
                        starts[count] = 0
                        for j in range(4):
                            x_weights[j, count] = 0
                        count += 1
                    place = 4 * (COLUMNS * y + first - left)
                    for i in range(0, count, 4):
                        add_spline_levels(
                            spline, origin, starts, stride, y_weights, x_weights, i, share, total, place + 4 * i
                        )
            for y in range(rows):
                for x in range(columns):
                    for channel in range(channels):
                        level = np.float32(image[upper + y, left + x, channel])
                        mean = total[4 * (COLUMNS * y + x) + channel] + unturned_share * level
                        out[upper + y, left + x, channel] = np.int32(mean) >> 16


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
